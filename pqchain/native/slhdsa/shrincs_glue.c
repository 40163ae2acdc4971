/* The functions of SHRINCS for pqchain.crypto.native_signers, beside pq_native.h. */
#include "../pq_native.h"
#include "shrincs.h"

PQ_API int64_t shrincs_make_keypair(uint8_t *public_key, uint8_t *secret_key, const uint8_t *seed,
                                    const uint8_t *structure);
PQ_API int64_t shrincs_length(const uint8_t *structure, int64_t counter);
PQ_API int64_t shrincs_sign(uint8_t *signature, const uint8_t *message, int64_t message_bytes,
                            const uint8_t *context, int64_t context_bytes,
                            const uint8_t *secret_key, int64_t counter, const uint8_t *randomness);
PQ_API int64_t shrincs_check(const uint8_t *message, int64_t message_bytes,
                             const uint8_t *signature, int64_t signature_bytes,
                             const uint8_t *context, int64_t context_bytes,
                             const uint8_t *public_key);

PQ_API int64_t shrincs_make_keypair(uint8_t *public_key, uint8_t *secret_key, const uint8_t *seed,
                                    const uint8_t *structure) {
    return shrincs_keypair(public_key, secret_key, seed, structure) ? PQ_OK : PQ_OUT_OF_RANGE;
}

/* Length of the signature of this counter; 0 if the tree has no such leaf. */
PQ_API int64_t shrincs_length(const uint8_t *structure, int64_t counter) {
    return counter < 0 ? 0 : (int64_t)shrincs_stateful_bytes(structure, (uint64_t)counter);
}

/* A negative counter signs without state. */
PQ_API int64_t shrincs_sign(uint8_t *signature, const uint8_t *message, int64_t message_bytes,
                            const uint8_t *context, int64_t context_bytes,
                            const uint8_t *secret_key, int64_t counter, const uint8_t *randomness) {
    const slh_message text = {NULL, 0, message, (size_t)message_bytes};
    const int done = counter < 0
                         ? shrincs_sign_stateless(signature, &text, context, (size_t)context_bytes,
                                                  secret_key, randomness)
                         : shrincs_sign_stateful(signature, &text, context, (size_t)context_bytes,
                                                 secret_key, (uint64_t)counter);
    return done ? PQ_OK : PQ_OUT_OF_RANGE;
}

PQ_API int64_t shrincs_check(const uint8_t *message, int64_t message_bytes,
                             const uint8_t *signature, int64_t signature_bytes,
                             const uint8_t *context, int64_t context_bytes,
                             const uint8_t *public_key) {
    const slh_message text = {NULL, 0, message, (size_t)message_bytes};
    return shrincs_verify(&text, signature, (size_t)signature_bytes, context, (size_t)context_bytes,
                          public_key)
               ? PQ_OK
               : PQ_REJECTED;
}
