/* Rainbow-I-Classic, third round: GF(16), v1 = 36, o1 = o2 = 32, SHA-256, a salt of 16 bytes.
 *
 * Written from the specification of 2020-10; formats and the order in which random bytes are drawn
 * are those of the submission's code, so keys and signatures are the same bytes. Broken since 2022
 * (ePrint 2022/214): for comparisons only.
 *
 * A vector over the field holds two elements per byte, the first in the low half. A quadratic
 * polynomial map is a list of such vectors, one per pair of variables and one element per
 * equation: the matrices of all equations at once, upper triangles row by row.
 */
#ifndef PQCHAIN_RAINBOW_H
#define PQCHAIN_RAINBOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Declassify values that depend on secrets, for the checker of secret-dependent code
 * (tests/crypto/constant_time.c); no effect otherwise. */
#ifndef DECLASSIFY
#define DECLASSIFY(memory, bytes) ((void)0)
#endif

enum {
    V1 = 36, /* vinegar variables of the first layer */
    O1 = 32, /* oil variables and equations of the first layer */
    O2 = 32, /* oil variables and equations of the second layer */
    N = V1 + O1 + O2,
    HASH_BYTES = 32,
    SALT_BYTES = 16,
    SEED_BYTES = 32,
    SIGNATURE_BYTES = N / 2 + SALT_BYTES,
    LAYER_BYTES = 16, /* one vector over the equations of one layer */
    BOTH_BYTES = 32   /* one vector over all equations, the first layer in front */
};

#define TRIANGLE(n) ((n) * ((n) + 1) / 2)

/* Index of the pair i <= j of n variables in a list. */
static inline size_t pair_index(size_t i, size_t j, size_t n) {
    return i * (2 * n - i + 1) / 2 + (j - i);
}

typedef struct {
    uint8_t pair[TRIANGLE(N)][BOTH_BYTES];
} rainbow_public_key;

/* S and T are the identity but for these blocks, kept by columns; F is the central map. */
typedef struct {
    uint8_t seed[SEED_BYTES];
    uint8_t s1[O2][O1 / 2];
    uint8_t t1[O1][V1 / 2];
    uint8_t t4[O2][V1 / 2]; /* t1 t3 + t2, what the inverse of T needs */
    uint8_t t3[O2][O1 / 2];
    uint8_t l1_f1[TRIANGLE(V1)][LAYER_BYTES]; /* first layer: vinegar by vinegar */
    uint8_t l1_f2[V1][O1][LAYER_BYTES];       /* vinegar by oil */
    uint8_t l2_f1[TRIANGLE(V1)][LAYER_BYTES]; /* second layer, the same */
    uint8_t l2_f2[V1][O1][LAYER_BYTES];
    uint8_t l2_f3[V1][O2][LAYER_BYTES];
    uint8_t l2_f5[TRIANGLE(O1)][LAYER_BYTES];
    uint8_t l2_f6[O1][O2][LAYER_BYTES];
} rainbow_secret_key;

_Static_assert(sizeof(rainbow_public_key) == 161600, "length of the public key");
_Static_assert(sizeof(rainbow_secret_key) == 103648, "length of the secret key");
_Static_assert(SIGNATURE_BYTES == 66, "length of a signature");

/* Returns 1, or 0 if no attempt succeeded, which does not happen with valid keys. Deterministic. */
int rainbow_sign(uint8_t signature[SIGNATURE_BYTES], const uint8_t *message, size_t message_bytes,
                 const rainbow_secret_key *secret_key);

/* 1 if the signature is valid, else 0. */
int rainbow_verify(const uint8_t *message, size_t message_bytes,
                   const uint8_t signature[SIGNATURE_BYTES], const rainbow_public_key *public_key);

/* SHA-256 of two concatenated strings. */
void rainbow_sha256(uint8_t digest[HASH_BYTES], const uint8_t *first, size_t first_bytes,
                    const uint8_t *second, size_t second_bytes);

/* AES-256-CTR-DRBG of SP 800-90A without derivation function. Each request advances the state. */
typedef struct {
    uint8_t key[32];
    uint8_t counter[16];
} rainbow_drbg;

/* Seeded with 32 bytes, followed by the first 16 bytes of their hash. */
void rainbow_drbg_seed(rainbow_drbg *drbg, const uint8_t seed[SEED_BYTES]);
void rainbow_drbg_draw(rainbow_drbg *drbg, uint8_t *out, size_t bytes);

/* Set to zero; the compiler may not remove this. */
static inline void wipe(void *memory, size_t bytes) {
    memset(memory, 0, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
