/* Hawk-512 and Hawk-1024, written from the specification (Hawk 1.0, the version of the submission's
 * known-answer vectors; section and algorithm numbers below are those of its document).
 *
 * What is constant time: signing touches the secrets f, g, F, G and the samples with the same
 * instructions and addresses whatever their values: no secret branch, no secret index, no division.
 * What is not: the number of restarts of signing (each draws new randomness, so it is independent of
 * the key), the coding of the signature (which becomes public), and key generation, whose big-number
 * arithmetic takes time that depends on the key. Verification has no secrets. A compiler may break
 * these properties. Nothing is wiped from memory: this is a research tool, and the scheme is
 * withdrawn.
 *
 * Everything is integer arithmetic: the same input gives the same output on every machine and in
 * both variants, portable and AVX2, which differ only in the six kernels declared at the end.
 */
#ifndef HAWK_H
#define HAWK_H

/* Declassify values that depend on secrets, for the checker of secret-dependent code
 * (tests/crypto/constant_time.c); no effect otherwise. */
#ifndef DECLASSIFY
#define DECLASSIFY(memory, bytes) ((void)0)
#endif

#include <stddef.h>
#include <stdint.h>

enum {
    PQ_HAWK_N_MAX = 1024,
    PQ_HAWK_PRIMES = 2,
    PQ_HAWK_ROWS_MAX = PQ_HAWK_N_MAX * 5 / 8 /* rows of four words that the sampler uses */
};

/* One parameter set (table 2 of the specification), which is a handle of pq_native.h. */
typedef struct pq_scheme {
    const char *name;
    unsigned log_n;
    size_t n;
    unsigned nist_level;
    size_t public_key_bytes, secret_key_bytes, signature_bytes;
    size_t salt_bytes, seed_bytes, public_hash_bytes;
    unsigned low_00, high_00, low_01, high_01, high_11, low_s1, high_s1;
    uint32_t key_norm;     /* ||(f, g)||^2 must be above this: floor(2 n sigma_krsec^2) */
    uint32_t verify_norm;  /* ||w||^2 in the norm of Q may be at most this: 8 n sigma_verify^2 */
    uint32_t inverse_beta; /* 1 / beta_0: the constant term of 1/q00 must be below beta_0 */
} pq_hawk_set;

extern const pq_hawk_set pq_hawk_sets[2];

typedef void (*pq_hawk_random_fn)(uint8_t *buffer, size_t bytes);

/* They return 1 for success (or a valid signature), else 0: key generation has no memory, or the key
 * for signing is invalid. */
int pq_hawk_keypair(const pq_hawk_set *set, uint8_t *public_key, uint8_t *secret_key,
                 pq_hawk_random_fn random_bytes);
int pq_hawk_sign(const pq_hawk_set *set, uint8_t *signature, const uint8_t *message,
              size_t message_bytes, const uint8_t *secret_key, pq_hawk_random_fn random_bytes);
int pq_hawk_verify(const pq_hawk_set *set, const uint8_t *message, size_t message_bytes,
                const uint8_t *signature, const uint8_t *public_key);

/* Verification in two parts, for verifiers that keep keys. */
typedef struct {
    int32_t q00[PQ_HAWK_N_MAX], q01[PQ_HAWK_N_MAX];
    uint8_t hash[64];
} pq_hawk_key;

int pq_hawk_decode_key(const pq_hawk_set *set, pq_hawk_key *key, const uint8_t *public_key);
int pq_hawk_verify_decoded(const pq_hawk_set *set, const uint8_t *message, size_t message_bytes,
                        const uint8_t *signature, const pq_hawk_key *key);

/* Coding (algorithms 4 to 11). Decoders accept only the form that the encoder writes. */
int pq_hawk_encode_public(const pq_hawk_set *set, uint8_t *public_key, const int32_t *q00,
                       const int32_t *q01);
int pq_hawk_decode_public(const pq_hawk_set *set, const uint8_t *public_key, int32_t *q00,
                          int32_t *q01);
int pq_hawk_encode_signature(const pq_hawk_set *set, uint8_t *signature, const uint8_t *salt,
                          const int32_t *s1);
int pq_hawk_decode_signature(const pq_hawk_set *set, const uint8_t *signature, int32_t *s1);

/* f and g from the seed of a key (algorithm 12). */
void pq_hawk_regenerate(const pq_hawk_set *set, int8_t *f, int8_t *g, const uint8_t *seed);

/* The bits of the polynomial's coefficients modulo 2, coefficient 0 lowest. */
void pq_hawk_parity(const pq_hawk_set *set, uint64_t *bits, const int8_t *values);
void pq_hawk_load_bits(const pq_hawk_set *set, uint64_t *bits, const uint8_t *bytes);
void pq_hawk_store_bits(const pq_hawk_set *set, uint8_t *bytes, const uint64_t *bits);

/* (F, G) with f G - g F = 1, reduced; 0 if there is none or it is too large (NTRUSolve). */
typedef struct pq_hawk_workspace pq_hawk_workspace;
size_t pq_hawk_workspace_bytes(void);
int pq_hawk_ntru_solve(const pq_hawk_set *set, int8_t *F, int8_t *G, const int8_t *f,
                       const int8_t *g, pq_hawk_workspace *work);

/* The six kernels, each once in ref/ and once in avx2/. */

/* SHAKE256 of seed with the bytes 0, 1, 2, 3 behind it, words interleaved: words[4 i + j] is word i
 * of stream j. Writes 4 * rows words; there is room for 17 rows more than asked for. */
void pq_hawk_shake256_x4(uint64_t *words, size_t rows, const uint8_t *seed, size_t seed_bytes);

/* sum ^= a b in F2[X]/(X^n + 1); b may be public or secret. */
void pq_hawk_binary_multiply_add(const pq_hawk_set *set, uint64_t *sum, const uint64_t *a,
                              const uint64_t *b);

/* Sample x (2n values) by the tables, centred by the parities t (2n bits), from the words of
 * pq_hawk_shake256_x4 (algorithm 14); return the squared norm. */
uint32_t pq_hawk_sample(const pq_hawk_set *set, int8_t *x, const uint64_t *parities,
                     const uint64_t *words);

/* w = f b - g a in Z[X]/(X^n + 1), every |w_i| below 9217. */
void pq_hawk_cross_product(const pq_hawk_set *set, int32_t *w, const int8_t *f, const int8_t *b,
                        const int8_t *g, const int8_t *a);

/* w0 nearest to q01 w1 / q00 with the parities of h0 (algorithm 18); 0 if that cannot be a
 * signature under an honest key. */
int pq_hawk_rebuild(const pq_hawk_set *set, int32_t *w0, const int32_t *q00, const int32_t *q01,
                 const int32_t *w1, const uint64_t *h0);

/* n times the norm of (w0, w1) under Q modulo prime number `prime` (algorithm 19); 0 if q00 is not
 * invertible there, else 1. */
int pq_hawk_norm(const pq_hawk_set *set, uint32_t *norm, const int32_t *q00, const int32_t *q01,
              const int32_t *w0, const int32_t *w1, unsigned prime);

#endif
