/* The parts of Falcon (round 3, specification 1.2) that stay in software: Keccak, the number-
 * theoretic transform, encodings and verification. `logn` is 9 or 10 everywhere, n is 2^logn.
 *
 * Sizes in bytes: public key 1 + 14 n / 8; secret key 1 + 2 n bits / 8 + n, with 6 bits for f and g
 * of degree 512 and 5 of degree 1024; signature 1 + 40 + what compression gives.
 */
#ifndef FALCON_HOST_H
#define FALCON_HOST_H

#include "../shake.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FALCON_Q 12289
#define FALCON_NONCE_BYTES 40
#define FALCON_SEED_BYTES 48
#define FALCON_GENERATOR_SEED_BYTES 56
#define FALCON_MAX_N 1024

#ifdef __cplusplus
extern "C" {
#endif

/* Overwrite with zeros; the compiler may not remove this. */
static inline void falcon_wipe(void *memory, size_t bytes) {
    memset(memory, 0, bytes);
    __asm__ __volatile__("" : : "r"(memory) : "memory");
}

/* The message as a polynomial modulo q. */
void falcon_hash_to_point(uint16_t *point, const uint8_t *nonce, const uint8_t *message,
                          size_t message_bytes, unsigned logn);

/* key: f, g, F, n coefficients each. 0, or -1 if the encoding is wrong. */
int falcon_decode_secret_key(int8_t *key, const uint8_t *secret_key, unsigned logn);
int falcon_decode_public_key(uint16_t *h, const uint8_t *public_key, unsigned logn);
void falcon_encode_public_key(uint8_t *public_key, const uint16_t *h, unsigned logn);

/* G = g F / f modulo q. 0, or -1 if the key is damaged: f has no inverse, G is not short, or
 * f G - g F is not q. */
int falcon_complete_key(int8_t *capital_g, const int8_t *key, unsigned logn);

/* h = g / f modulo q, the public key. 0, or -1 if f has no inverse. */
int falcon_derive_public(uint16_t *h, const int8_t *key, unsigned logn);

/* Bytes written, or 0 if `capacity` is too small or a coefficient is too large. */
size_t falcon_compress(uint8_t *out, size_t capacity, const int16_t *s2, unsigned logn);

/* Bytes read, or 0 if the encoding is wrong. */
size_t falcon_decompress(int16_t *s2, const uint8_t *in, size_t bytes, unsigned logn);

/* s1 = point - s2 h modulo q, centred around 0. */
void falcon_first_half(int16_t *s1, const uint16_t *point, const int16_t *s2, const uint16_t *h,
                       unsigned logn);

/* True if s1 and s2 are short together. */
int falcon_is_short(const int16_t *s1, const int16_t *s2, unsigned logn);

/* Transform h in place into the form that falcon_is_valid() takes. */
void falcon_transform_key(uint16_t *h, unsigned logn);

/* True if s1 = point - s2 h and s2 are short together; `key` is the transform of h. */
int falcon_is_valid(const uint16_t *point, const int16_t *s2, const uint16_t *key, unsigned logn);

/* True if s2 has an inverse modulo q and x^n + 1. */
int falcon_is_invertible(const int16_t *s2, unsigned logn);

/* h = (point - s1) / s2 modulo q. 0, or -1 if s2 has no inverse. */
int falcon_divide_halves(uint16_t *h, const uint16_t *point, const int16_t *s1, const int16_t *s2,
                         unsigned logn);

/* The public key with key recovery, from that of plain Falcon: 32 or 64 bytes. */
void falcon_hash_public_key(uint8_t *hash, const uint8_t *public_key, unsigned logn);

/* Bytes written, or 0 if a half is too long or s2 has no inverse: sign again. */
size_t falcon_encode_recoverable(uint8_t *signature, const uint8_t *nonce, const int16_t *s1,
                                 const int16_t *s2, unsigned logn);

size_t falcon_secret_key_bytes(unsigned logn);

#ifdef __cplusplus
}
#endif

#endif
