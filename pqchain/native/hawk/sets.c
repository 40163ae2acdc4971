/* The two parameter sets. */
#include "hawk.h"

const pq_hawk_set pq_hawk_sets[2] = {
    {.name = "Hawk-512", .log_n = 9, .n = 512, .nist_level = 1,
     .public_key_bytes = 1024, .secret_key_bytes = 184, .signature_bytes = 555,
     .salt_bytes = 24, .seed_bytes = 24, .public_hash_bytes = 32,
     .low_00 = 5, .high_00 = 9, .low_01 = 9, .high_01 = 12, .high_11 = 15,
     .low_s1 = 5, .high_s1 = 9,
     .key_norm = 2079, .verify_norm = 8317, .inverse_beta = 1000},
    {.name = "Hawk-1024", .log_n = 10, .n = 1024, .nist_level = 5,
     .public_key_bytes = 2440, .secret_key_bytes = 360, .signature_bytes = 1221,
     .salt_bytes = 40, .seed_bytes = 40, .public_hash_bytes = 64,
     .low_00 = 6, .high_00 = 10, .low_01 = 10, .high_01 = 14, .high_11 = 17,
     .low_s1 = 6, .high_s1 = 10,
     .key_norm = 7980, .verify_norm = 20218, .inverse_beta = 3000}};
