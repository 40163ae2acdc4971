/* known_keys.h, implemented with pqchain's Hawk. */
#include "../known_keys.h"
#include "hawk.h"

PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme) {
    (void)scheme;
    return sizeof(pq_hawk_key);
}

PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count) {
    pq_hawk_key *keys = decoded;
    for (size_t i = 0; i < count; i++) {
        if (!pq_hawk_decode_key(scheme, &keys[i], public_keys + i * scheme->public_key_bytes)) {
            return PQ_REJECTED;
        }
    }
    return PQ_OK;
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    return signature_bytes == scheme->signature_bytes &&
                   pq_hawk_verify_decoded(scheme, message, message_bytes, signature, decoded)
               ? PQ_OK
               : PQ_REJECTED;
}
