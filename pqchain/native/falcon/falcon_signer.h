/* Signing with given randomness through either interface, and functions for tests and the model. */
#ifndef FALCON_SIGNER_API_H
#define FALCON_SIGNER_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FALCON_API __attribute__((visibility("default")))

enum { FALCON_WHOLE = 0, FALCON_SPLIT = 1 };

/* Forms of a signature: as long as it gets, padded to a fixed length, with both halves. */
enum { FALCON_COMPRESSED = 0, FALCON_PADDED = 1, FALCON_RECOVERABLE = 2 };

enum { FALCON_BAD_KEY = -1, FALCON_TOO_LONG = -2, FALCON_NO_MEMORY = -3, FALCON_NO_KEY = -4 };

/* Bytes of a request to falcon_sign: the basis, the hashed message, the seed of the generator. */
FALCON_API int64_t falcon_request_bytes(int64_t logn);

/* Fill a request except the seed of the generator. 0 or FALCON_BAD_KEY. */
FALCON_API int64_t falcon_make_request(uint8_t *request, const uint8_t *secret_key,
                                       const uint8_t *nonce, const uint8_t *message,
                                       int64_t message_bytes, int64_t logn);

/* Fill in the seed of the generator for the attempt with that number, from 0. */
FALCON_API int64_t falcon_seed_request(uint8_t *request, const uint8_t *seed, int64_t attempt,
                                       int64_t logn);

/* The computation of the board: one attempt. Returns its status; registers: status, version. */
FALCON_API int64_t falcon_run_request(const uint8_t *request, int16_t *response,
                                      uint32_t *registers, int64_t logn);

/* Encode a signature. Returns its length, or FALCON_TOO_LONG. With padded != 0 it fills capacity. */
FALCON_API int64_t falcon_encode_signature(uint8_t *signature, int64_t capacity,
                                           const uint8_t *nonce, const int16_t *s2, int64_t padded,
                                           int64_t logn);

/* Sign a message. Returns the length of the signature or a negative code; facts, if not null, becomes
 * the attempts, and the commands given to the engine (0 with FALCON_WHOLE). */
FALCON_API int64_t falcon_sign_seeded(uint8_t *signature, int64_t capacity,
                                      const uint8_t *secret_key, const uint8_t *nonce,
                                      const uint8_t *seed, const uint8_t *message,
                                      int64_t message_bytes, int64_t form, int64_t seam,
                                      int64_t logn, uint64_t *facts);

/* The public key that belongs to a secret key. 0 or FALCON_BAD_KEY. */
FALCON_API int64_t falcon_public_key(uint8_t *public_key, const uint8_t *secret_key, int64_t logn);

/* The public key for which a signature with both halves is valid. 0 or FALCON_NO_KEY. */
FALCON_API int64_t falcon_recover_key(uint8_t *key_hash, const uint8_t *signature,
                                      int64_t signature_bytes, const uint8_t *message,
                                      int64_t message_bytes, int64_t logn);

/* Overwrite a buffer of the caller with zeros. */
FALCON_API int64_t falcon_wipe_buffer(uint8_t *buffer, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
