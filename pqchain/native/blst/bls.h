/* Operations of BLS12-381 in addition to pq_native.h: aggregates of one message.
 *
 * draft-irtf-cfrg-bls-signature-05, minimal public keys, proof of possession:
 * BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_. Points are compressed as everywhere (48 and 96
 * bytes), secret keys are 32 bytes, most significant first. Functions return PQ_OK, PQ_REJECTED for
 * an invalid input or a point outside of its group, or PQ_NO_MEMORY; counts are at least 1.
 */
#ifndef PQCHAIN_BLS_H
#define PQCHAIN_BLS_H

#include "../pq_native.h"

enum { BLS_PUBLIC_KEY_BYTES = 48, BLS_SECRET_KEY_BYTES = 32, BLS_SIGNATURE_BYTES = 96 };

/* A checked public key in the form used for addition; valid in this process only. */
enum { BLS_CHECKED_KEY_BYTES = 96 };

/* Add signatures. Each is checked to be in the group. */
PQ_API int64_t bls_aggregate(uint8_t *aggregate, const uint8_t *signatures, int64_t count);

/* Decompress public keys and check them (KeyValidate), once for each key as clients do. */
PQ_API int64_t bls_check_keys(uint8_t *checked, const uint8_t *public_keys, int64_t count);

/* FastAggregateVerify: all signed one message. Possession of the keys must have been proven. */
PQ_API int64_t bls_verify_one_message(const uint8_t *message, int64_t message_bytes,
                                      const uint8_t *aggregate, const uint8_t *checked,
                                      int64_t count);

#endif
