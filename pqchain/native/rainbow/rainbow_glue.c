/* pq_native.h, implemented with pqchain's Rainbow. Key pairs come from liboqs 0.7.1, whose static
 * library is linked in: key generation is portable code. */
#include "rainbow.h"

#include <oqs/oqs.h>

/* There is one parameter set, so a handle needs no content. */
struct pq_scheme {
    const char *name;
};

static const struct pq_scheme schemes[] = {{"Rainbow-I-Classic"}};

#define SOURCE "pqchain's Rainbow"
#include "glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    (void)scheme;
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = 1,
                          .public_key_bytes = sizeof(rainbow_public_key),
                          .secret_key_bytes = sizeof(rainbow_secret_key),
                          .signature_max_bytes = SIGNATURE_BYTES};
}

typedef struct {
    uint8_t *public_key, *secret_key;
    OQS_STATUS status;
} keypair_call;

static void make_keypair(void *argument) {
    keypair_call *call = argument;
    call->status = OQS_SIG_rainbow_I_classic_keypair(call->public_key, call->secret_key);
}

/* On a separate stack, because liboqs needs 192 KiB; the cost is negligible against 100 ms. */
PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    keypair_call call = {public_key, secret_key, OQS_ERROR};
    (void)scheme;
    const int code = pq_run_on_large_stack(make_keypair, &call);
    return code != PQ_OK ? code : call.status == OQS_SUCCESS ? PQ_OK : PQ_FAILED;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    *signature_bytes = SIGNATURE_BYTES;
    return rainbow_sign(signature, message, message_bytes, (const void *)secret_key) ? PQ_OK
                                                                                      : PQ_FAILED;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)scheme, (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    return signature_bytes == SIGNATURE_BYTES &&
                   rainbow_verify(message, message_bytes, signature, (const void *)public_key)
               ? PQ_OK
               : PQ_REJECTED;
}
