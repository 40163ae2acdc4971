/* pq_native.h on top of liboqs. */
#include "pq_native.h"

#include <oqs/oqs.h>

#include <stdlib.h>
#include <string.h>

struct pq_scheme {
    OQS_SIG *sig; /* exactly one of the two is set */
    OQS_KEM *kem;
};

PQ_API const char *pq_source(void) { return "liboqs " OQS_VERSION_TEXT; }

PQ_API size_t pq_count(void) { return (size_t)(OQS_SIG_alg_count() + OQS_KEM_alg_count()); }

PQ_API const char *pq_name(size_t index) {
    const size_t signatures = (size_t)OQS_SIG_alg_count();
    const char *name;
    if (index < signatures) {
        name = OQS_SIG_alg_identifier(index);
        return name != NULL && OQS_SIG_alg_is_enabled(name) ? name : NULL;
    }
    name = OQS_KEM_alg_identifier(index - signatures);
    return name != NULL && OQS_KEM_alg_is_enabled(name) ? name : NULL;
}

PQ_API pq_scheme *pq_open(const char *name) {
    pq_scheme *scheme = calloc(1, sizeof *scheme);
    if (scheme == NULL) {
        return NULL;
    }
    OQS_init();
    scheme->sig = OQS_SIG_new(name);
    if (scheme->sig == NULL) {
        scheme->kem = OQS_KEM_new(name);
    }
    if (scheme->sig == NULL && scheme->kem == NULL) {
        free(scheme);
        return NULL;
    }
    return scheme;
}

PQ_API void pq_close(pq_scheme *scheme) {
    if (scheme != NULL) {
        OQS_SIG_free(scheme->sig);
        OQS_KEM_free(scheme->kem);
        free(scheme);
    }
}

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    memset(sizes, 0, sizeof *sizes);
    if (scheme->sig != NULL) {
        sizes->kind = PQ_SIGNATURE;
        sizes->nist_level = scheme->sig->claimed_nist_level;
        sizes->public_key_bytes = scheme->sig->length_public_key;
        sizes->secret_key_bytes = scheme->sig->length_secret_key;
        sizes->signature_max_bytes = scheme->sig->length_signature;
        sizes->context = scheme->sig->sig_with_ctx_support;
    } else {
        sizes->kind = PQ_KEM;
        sizes->nist_level = scheme->kem->claimed_nist_level;
        sizes->public_key_bytes = scheme->kem->length_public_key;
        sizes->secret_key_bytes = scheme->kem->length_secret_key;
        sizes->ciphertext_bytes = scheme->kem->length_ciphertext;
        sizes->shared_secret_bytes = scheme->kem->length_shared_secret;
    }
}

static int outcome(OQS_STATUS status) { return status == OQS_SUCCESS ? PQ_OK : PQ_FAILED; }

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    if (scheme->sig != NULL) {
        return outcome(OQS_SIG_keypair(scheme->sig, public_key, secret_key));
    }
    return outcome(OQS_KEM_keypair(scheme->kem, public_key, secret_key));
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    if (scheme->sig == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (context_bytes != 0) {
        return outcome(OQS_SIG_sign_with_ctx_str(scheme->sig, signature, signature_bytes, message,
                                                 message_bytes, context, context_bytes,
                                                 secret_key));
    }
    return outcome(OQS_SIG_sign(scheme->sig, signature, signature_bytes, message, message_bytes,
                                secret_key));
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    OQS_STATUS status;
    if (scheme->sig == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (context_bytes != 0) {
        status = OQS_SIG_verify_with_ctx_str(scheme->sig, message, message_bytes, signature,
                                             signature_bytes, context, context_bytes, public_key);
    } else {
        status = OQS_SIG_verify(scheme->sig, message, message_bytes, signature, signature_bytes,
                                public_key);
    }
    return status == OQS_SUCCESS ? PQ_OK : PQ_REJECTED;
}

PQ_API int pq_encapsulate(const pq_scheme *scheme, uint8_t *ciphertext, uint8_t *shared_secret,
                          const uint8_t *public_key) {
    if (scheme->kem == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    return outcome(OQS_KEM_encaps(scheme->kem, ciphertext, shared_secret, public_key));
}

PQ_API int pq_decapsulate(const pq_scheme *scheme, uint8_t *shared_secret,
                          const uint8_t *ciphertext, const uint8_t *secret_key) {
    if (scheme->kem == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    return outcome(OQS_KEM_decaps(scheme->kem, shared_secret, ciphertext, secret_key));
}

PQ_API void pq_random(pq_random_fn source) {
    if (source != NULL) {
        OQS_randombytes_custom_algorithm(source);
    } else {
        OQS_randombytes_switch_algorithm(OQS_RAND_alg_system);
    }
}

/* liboqs-python 0.16 asks for this function at import; liboqs has it from 0.14 on. */
PQ_API bool OQS_SIG_supports_ctx_str(const char *name) {
    OQS_SIG *sig = OQS_SIG_new(name);
    const bool supports = sig != NULL && sig->sig_with_ctx_support;
    OQS_SIG_free(sig);
    return supports;
}
