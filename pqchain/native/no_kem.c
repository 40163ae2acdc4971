/* KEM functions of libraries without KEMs. */
#include "pq_native.h"

PQ_API int pq_encapsulate(const pq_scheme *scheme, uint8_t *ciphertext, uint8_t *shared_secret,
                          const uint8_t *public_key) {
    (void)scheme, (void)ciphertext, (void)shared_secret, (void)public_key;
    return PQ_NO_SUCH_OPERATION;
}

PQ_API int pq_decapsulate(const pq_scheme *scheme, uint8_t *shared_secret,
                          const uint8_t *ciphertext, const uint8_t *secret_key) {
    (void)scheme, (void)shared_secret, (void)ciphertext, (void)secret_key;
    return PQ_NO_SUCH_OPERATION;
}
