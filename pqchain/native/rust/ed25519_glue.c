/* pq_native.h and known_keys.h, implemented with ed25519-dalek. */
#include "../known_keys.h"
#include "crates.h"

/* There is one scheme, so a handle needs no content. */
struct pq_scheme {
    const char *name;
};

static const struct pq_scheme schemes[] = {{"Ed25519"}};

enum { KEY_BYTES = 32, SIGNATURE_BYTES = 64, MAX_DECODED = 1024 };

#define SOURCE "ed25519-dalek 3.0.0"
#include "../glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    (void)scheme;
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .public_key_bytes = KEY_BYTES,
                          .secret_key_bytes = KEY_BYTES, .signature_max_bytes = SIGNATURE_BYTES};
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    (void)scheme;
    ed25519_keypair(public_key, secret_key);
    return PQ_OK;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    *signature_bytes = SIGNATURE_BYTES;
    ed25519_sign(signature, message, message_bytes, secret_key);
    return PQ_OK;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    uint64_t decoded[MAX_DECODED / sizeof(uint64_t)];
    (void)context;
    if (context_bytes != 0 || ed25519_decoded_bytes() > sizeof decoded) {
        return PQ_NO_SUCH_OPERATION;
    }
    return pq_decode_keys(scheme, decoded, public_key, 1) == PQ_OK
               ? pq_verify_decoded(scheme, message, message_bytes, signature, signature_bytes,
                                   decoded)
               : PQ_REJECTED;
}

PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme) {
    (void)scheme;
    return ed25519_decoded_bytes();
}

PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count) {
    (void)scheme;
    for (size_t i = 0; i < count; i++) {
        if (!ed25519_decode((uint8_t *)decoded + i * ed25519_decoded_bytes(),
                            public_keys + i * KEY_BYTES)) {
            return PQ_REJECTED;
        }
    }
    return PQ_OK;
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    (void)scheme;
    return signature_bytes == SIGNATURE_BYTES &&
                   ed25519_verify(message, message_bytes, signature, decoded)
               ? PQ_OK
               : PQ_REJECTED;
}
