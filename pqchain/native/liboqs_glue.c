/* pq_native.h on top of liboqs: 0.13.0 and 0.7.1. */
#define _POSIX_C_SOURCE 200809L
#include "pq_native.h"

#include <oqs/oqs.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 0.7.1 numbers its version in text only, and knows no context strings. */
#if defined(OQS_VERSION_MAJOR)
#define HAS_CONTEXT 1
#else
#define HAS_CONTEXT 0
#endif

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
#if HAS_CONTEXT
        sizes->context = scheme->sig->sig_with_ctx_support;
#endif
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

/* Where keys are large, liboqs makes them from matrices on the stack: McEliece-348864 needs 3 MiB in
 * 0.7.1 and 512 KiB in 0.13.0, Rainbow-I 192 KiB. A thread may have less, and would then die without
 * a word. Such key pairs are made on a stack of their own, which adds some 50 microseconds to tens
 * of milliseconds. */
enum { LARGE_KEYS_BYTES = 32 << 10, STACK_BYTES = 16 << 20 };

typedef struct {
    const pq_scheme *scheme;
    uint8_t *public_key, *secret_key;
    OQS_STATUS status;
} keypair_job;

static void *make_keypair(void *argument) {
    keypair_job *job = argument;
    job->status = job->scheme->sig != NULL
                      ? OQS_SIG_keypair(job->scheme->sig, job->public_key, job->secret_key)
                      : OQS_KEM_keypair(job->scheme->kem, job->public_key, job->secret_key);
    return NULL;
}

static int on_own_stack(void *(*work)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0) {
        return PQ_NO_MEMORY;
    }
    int failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!failed) {
        failed = pthread_create(&thread, &attributes, work, argument);
    }
    pthread_attr_destroy(&attributes);
    return failed || pthread_join(thread, NULL) != 0 ? PQ_NO_MEMORY : PQ_OK;
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    keypair_job job = {scheme, public_key, secret_key, OQS_ERROR};
    pq_sizes_t sizes;
    pq_sizes(scheme, &sizes);
    if (sizes.public_key_bytes + sizes.secret_key_bytes >= LARGE_KEYS_BYTES) {
        const int code = on_own_stack(make_keypair, &job);
        if (code != PQ_OK) {
            return code;
        }
    } else {
        make_keypair(&job);
    }
    return outcome(job.status);
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    if (scheme->sig == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (context_bytes != 0) {
#if HAS_CONTEXT
        return outcome(OQS_SIG_sign_with_ctx_str(scheme->sig, signature, signature_bytes, message,
                                                 message_bytes, context, context_bytes,
                                                 secret_key));
#else
        (void)context;
        return PQ_NO_SUCH_OPERATION;
#endif
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
#if HAS_CONTEXT
        status = OQS_SIG_verify_with_ctx_str(scheme->sig, message, message_bytes, signature,
                                             signature_bytes, context, context_bytes, public_key);
#else
        (void)context;
        return PQ_NO_SUCH_OPERATION;
#endif
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

#if HAS_CONTEXT
/* liboqs-python 0.16 asks for this function at import; liboqs has it from 0.14 on. */
PQ_API bool OQS_SIG_supports_ctx_str(const char *name) {
    OQS_SIG *sig = OQS_SIG_new(name);
    const bool supports = sig != NULL && sig->sig_with_ctx_support;
    OQS_SIG_free(sig);
    return supports;
}
#endif
