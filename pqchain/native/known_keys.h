/* Public keys that a verifier keeps decoded, such as those of known validators. Libraries whose code
 * takes encoded keys only do not have these functions; a library may have them for some schemes. */
#ifndef KNOWN_KEYS_H
#define KNOWN_KEYS_H

#include "pq_native.h"

/* Bytes of a decoded key; 0 if the scheme has no other form than the encoded key. */
PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme);

/* Decode and check `count` keys, one after the other in both buffers; `decoded` is aligned as by
 * malloc(). Returns PQ_OK, or PQ_REJECTED for an invalid key. The result is for this process only. */
PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count);

/* As pq_verify() without a context, which is this after pq_decode_keys(). */
PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded);

#endif
