/* Secret keys of ML-DSA and Dilithium that no key generation produces. */
#ifndef ML_DSA_KEY_H
#define ML_DSA_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Position of s1 and s2 in secret keys, and the bound of their coefficients; eta 0: another scheme. */
typedef struct {
    size_t begin, bytes;
    int eta;
} ml_dsa_small;

/* ML-DSA and Dilithium pack eta minus the coefficient into 3 bits (eta 2) or 4 (eta 4). Some
 * numbers occur in no valid key, but libraries sign with them nevertheless. FIPS 204 (algorithm 25,
 * skDecode) leaves the check of the range to the caller. */
static inline ml_dsa_small ml_dsa_find_small(const char *name, size_t secret_key_bytes) {
    static const struct {
        const char *name;
        size_t k, l;
        int eta;
    } sets[] = {{"ML-DSA-44", 4, 4, 2},  {"ML-DSA-65", 6, 5, 4},  {"ML-DSA-87", 8, 7, 2},
                {"Dilithium2", 4, 4, 2}, {"Dilithium3", 6, 5, 4}, {"Dilithium5", 8, 7, 2}};
    enum { T0_BYTES = 416 /* per polynomial of t0, after s1 and s2 */ };
    ml_dsa_small small = {0, 0, 0};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        /* "Dilithium2-AES" too: only the hashing differs. */
        if (strncmp(name, sets[i].name, strlen(sets[i].name)) == 0) {
            small.eta = sets[i].eta;
            small.bytes = (sets[i].k + sets[i].l) * (small.eta == 2 ? 96 : 128);
            small.begin = secret_key_bytes - sets[i].k * T0_BYTES - small.bytes;
        }
    }
    return small;
}

static inline int ml_dsa_small_in_range(const ml_dsa_small *where, const uint8_t *secret_key) {
    const uint8_t *small = secret_key + where->begin;
    uint32_t wrong = 0;
    if (where->eta == 2) { /* 8 numbers in 3 bytes; 5, 6 and 7 are invalid: bit 2 and another */
        for (size_t i = 0; i < where->bytes; i += 3) {
            const uint32_t bits = small[i] | (uint32_t)small[i + 1] << 8 | (uint32_t)small[i + 2] << 16;
            wrong |= bits & (bits << 1 | bits << 2) & 0x924924;
        }
    } else if (where->eta == 4) { /* 2 numbers in a byte; 9 to 15 are invalid: bit 3 and another */
        for (size_t i = 0; i < where->bytes; i++) {
            const uint32_t bits = small[i];
            wrong |= bits & (bits << 1 | bits << 2 | bits << 3) & 0x88;
        }
    }
    return wrong == 0;
}

#endif
