/* The two parameter sets, and the seed's way to f and g. */
#include "hawk.h"

#include <string.h>

const hawk_set hawk_sets[2] = {
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

void hawk_regenerate(const hawk_set *set, int8_t *f, int8_t *g, const uint8_t *seed) {
    uint64_t words[4 * (HAWK_N_MAX / 8 + 17)];
    const size_t n = set->n;
    const unsigned bits = (unsigned)(n / 64); /* of each centred binomial value: 8 or 16 */
    const uint64_t mask = bits == 8 ? 0x0101010101010101u : 0x0001000100010001u;
    const size_t per_word = 64 / bits;
    hawk_shake256_x4(words, 2 * n * bits / 256, seed, set->seed_bytes);
    for (size_t i = 0; i < 2 * n; i += per_word) {
        uint64_t sums = 0;
        for (unsigned j = 0; j < bits; j++) {
            sums += words[i / per_word] >> j & mask;
        }
        for (size_t j = 0; j < per_word; j++, sums >>= bits) {
            const int8_t value = (int8_t)((int)(sums & 31) - (int)bits / 2);
            if (i + j < n) {
                f[i + j] = value;
            } else {
                g[i + j - n] = value;
            }
        }
    }
}

void hawk_parity(const hawk_set *set, uint64_t *bits, const int8_t *values) {
    for (size_t i = 0; i < set->n / 64; i++) {
        uint64_t word = 0;
        for (size_t j = 0; j < 64; j++) {
            word |= (uint64_t)(values[64 * i + j] & 1) << j;
        }
        bits[i] = word;
    }
}

void hawk_load_bits(const hawk_set *set, uint64_t *bits, const uint8_t *bytes) {
    for (size_t i = 0; i < set->n / 64; i++) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8; j++) {
            word |= (uint64_t)bytes[8 * i + j] << (8 * j);
        }
        bits[i] = word;
    }
}

void hawk_store_bits(const hawk_set *set, uint8_t *bytes, const uint64_t *bits) {
    for (size_t i = 0; i < set->n / 8; i++) {
        bytes[i] = (uint8_t)(bits[i / 8] >> (8 * (i % 8)));
    }
}
