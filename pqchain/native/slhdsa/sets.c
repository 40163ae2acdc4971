/* The parameter sets of FIPS 205, table 2, and those of the draft SP 800-230 of 2026-04-13. */
#include "slhdsa.h"

/* ceil(k a / 8) + ceil((h - h') / 8) + ceil(h' / 8), FIPS 205, section 9.1 */
#define DIGEST(d, hp, a, k) (((k) * (a) + 7) / 8 + (((d) - 1) * (hp) + 7) / 8 + ((hp) + 7) / 8)

#define SET(title, kind, level, bytes, d, hp, a, k, lg, len) \
    {.name = title, .hash = kind, .nist_level = level, .n = bytes, .layers = d, .height = hp, \
     .fors_height = a, .fors_trees = k, .log_w = lg, .chains = len, \
     .digest_bytes = DIGEST(d, hp, a, k), \
     .signature_bytes = (1 + (k) * ((a) + 1) + (d) * ((hp) + (len))) * (bytes)}

#define SETS(family, kind) \
    SET("SLH-DSA-" family "-128s", kind, 1, 16, 7, 9, 12, 14, 4, 35), \
    SET("SLH-DSA-" family "-128f", kind, 1, 16, 22, 3, 6, 33, 4, 35), \
    SET("SLH-DSA-" family "-192s", kind, 3, 24, 7, 9, 14, 17, 4, 51), \
    SET("SLH-DSA-" family "-192f", kind, 3, 24, 22, 3, 8, 33, 4, 51), \
    SET("SLH-DSA-" family "-256s", kind, 5, 32, 8, 8, 14, 22, 4, 67), \
    SET("SLH-DSA-" family "-256f", kind, 5, 32, 17, 4, 9, 35, 4, 67), \
    SET("SLH-DSA-" family "-128-24", kind, 1, 16, 1, 22, 24, 6, 2, 68), \
    SET("SLH-DSA-" family "-192-24", kind, 3, 24, 1, 21, 25, 9, 3, 67), \
    SET("SLH-DSA-" family "-256-24", kind, 5, 32, 1, 21, 25, 12, 2, 133)

const slh_set slh_sets[SLH_SETS] = {SETS("SHA2", SLH_SHA2), SETS("SHAKE", SLH_SHAKE)};
