/* pq_native.h, implemented with pqchain's Hawk. */
#include "hawk.h"

#define SOURCE "Hawk 1.0"
#define schemes pq_hawk_sets
#include "../glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = scheme->nist_level,
                          .public_key_bytes = scheme->public_key_bytes,
                          .secret_key_bytes = scheme->secret_key_bytes,
                          .signature_max_bytes = scheme->signature_bytes};
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    return pq_hawk_keypair(scheme, public_key, secret_key, pq_randombytes) ? PQ_OK : PQ_NO_MEMORY;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION; /* Hawk has no context strings */
    }
    *signature_bytes = scheme->signature_bytes;
    return pq_hawk_sign(scheme, signature, message, message_bytes, secret_key, pq_randombytes)
               ? PQ_OK
               : PQ_FAILED;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    return signature_bytes == scheme->signature_bytes &&
                   pq_hawk_verify(scheme, message, message_bytes, signature, public_key)
               ? PQ_OK
               : PQ_REJECTED;
}
