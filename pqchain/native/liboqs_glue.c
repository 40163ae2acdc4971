/* pq_native.h, implemented with liboqs 0.13.0 and 0.7.1. */
#include "large_stack.h"
#include "ml_dsa_key.h"
#include "pq_native.h"
#include "whole_key.h"

#include <oqs/oqs.h>

#include <stdlib.h>
#include <string.h>

/* 0.7.1 has its version as text only, and no context strings. */
#if defined(OQS_VERSION_MAJOR)
#define HAS_CONTEXT 1
#else
#define HAS_CONTEXT 0
#endif

struct pq_scheme {
    OQS_SIG *sig; /* exactly one of the two is set */
    OQS_KEM *kem;
    ml_dsa_small small;       /* eta is 0 for another scheme */
    unsigned falcon_logn;     /* 0: another scheme */
    falcon_key_check *falcon; /* NULL: another scheme */
};

/* 0 if the secret key is recognised as one that no key generation produces, else 1. */
PQ_API int64_t pq_secret_key_in_range(const pq_scheme *scheme, const uint8_t *secret_key) {
    return scheme->falcon != NULL
               ? falcon_key_is_whole(scheme->falcon, secret_key, scheme->falcon_logn)
               : ml_dsa_small_in_range(&scheme->small, secret_key);
}

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
    if (scheme->sig != NULL) {
        scheme->small = ml_dsa_find_small(name, scheme->sig->length_secret_key);
        if (strncmp(name, "Falcon", 6) == 0) {
            scheme->falcon_logn = strstr(name, "1024") != NULL ? 10 : 9;
            scheme->falcon = calloc(1, sizeof *scheme->falcon);
            if (scheme->falcon == NULL) {
                pq_close(scheme);
                return NULL;
            }
            falcon_check_start(scheme->falcon);
        }
    }
    return scheme;
}

PQ_API void pq_close(pq_scheme *scheme) {
    if (scheme != NULL) {
        OQS_SIG_free(scheme->sig);
        OQS_KEM_free(scheme->kem);
        free(scheme->falcon);
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

/* An operation with its arguments; `out` and `in` are its output and input buffers. */
typedef struct {
    const pq_scheme *scheme;
    uint8_t *out, *second_out;
    size_t *out_bytes;
    const uint8_t *in, *second_in, *key, *context;
    size_t in_bytes, second_in_bytes, context_bytes;
    int code;
} call;

static int outcome(OQS_STATUS status) { return status == OQS_SUCCESS ? PQ_OK : PQ_FAILED; }

static int perform(call *c, void (*operation)(void *)) {
    c->code = PQ_FAILED;
    const int code = pq_with_stack(operation, c);
    return code == PQ_OK ? c->code : code;
}

static void keypair(void *argument) {
    call *c = argument;
    c->code = outcome(c->scheme->sig != NULL
                          ? OQS_SIG_keypair(c->scheme->sig, c->out, c->second_out)
                          : OQS_KEM_keypair(c->scheme->kem, c->out, c->second_out));
}

static void sign(void *argument) {
    call *c = argument;
    if (c->context_bytes == 0) {
        c->code = outcome(OQS_SIG_sign(c->scheme->sig, c->out, c->out_bytes, c->in, c->in_bytes,
                                       c->key));
        return;
    }
#if HAS_CONTEXT
    c->code = outcome(OQS_SIG_sign_with_ctx_str(c->scheme->sig, c->out, c->out_bytes, c->in,
                                                c->in_bytes, c->context, c->context_bytes, c->key));
#else
    c->code = PQ_NO_SUCH_OPERATION;
#endif
}

static void verify(void *argument) {
    call *c = argument;
    OQS_STATUS status;
    if (c->context_bytes == 0) {
        status = OQS_SIG_verify(c->scheme->sig, c->in, c->in_bytes, c->second_in,
                                c->second_in_bytes, c->key);
    } else {
#if HAS_CONTEXT
        status = OQS_SIG_verify_with_ctx_str(c->scheme->sig, c->in, c->in_bytes, c->second_in,
                                             c->second_in_bytes, c->context, c->context_bytes,
                                             c->key);
#else
        c->code = PQ_NO_SUCH_OPERATION;
        return;
#endif
    }
    c->code = status == OQS_SUCCESS ? PQ_OK : PQ_REJECTED;
}

static void encapsulate(void *argument) {
    call *c = argument;
    c->code = outcome(OQS_KEM_encaps(c->scheme->kem, c->out, c->second_out, c->key));
}

static void decapsulate(void *argument) {
    call *c = argument;
    c->code = outcome(OQS_KEM_decaps(c->scheme->kem, c->out, c->in, c->key));
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    call c = {.scheme = scheme, .out = public_key, .second_out = secret_key};
    return perform(&c, keypair);
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    call c = {.scheme = scheme,
              .out = signature,
              .out_bytes = signature_bytes,
              .in = message,
              .in_bytes = message_bytes,
              .context = context,
              .context_bytes = context_bytes,
              .key = secret_key};
    if (scheme->sig == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    return pq_secret_key_in_range(scheme, secret_key) ? perform(&c, sign) : PQ_OUT_OF_RANGE;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    call c = {.scheme = scheme,
              .in = message,
              .in_bytes = message_bytes,
              .second_in = signature,
              .second_in_bytes = signature_bytes,
              .context = context,
              .context_bytes = context_bytes,
              .key = public_key};
    return scheme->sig != NULL ? perform(&c, verify) : PQ_NO_SUCH_OPERATION;
}

PQ_API int pq_encapsulate(const pq_scheme *scheme, uint8_t *ciphertext, uint8_t *shared_secret,
                          const uint8_t *public_key) {
    call c = {.scheme = scheme, .out = ciphertext, .second_out = shared_secret, .key = public_key};
    return scheme->kem != NULL ? perform(&c, encapsulate) : PQ_NO_SUCH_OPERATION;
}

PQ_API int pq_decapsulate(const pq_scheme *scheme, uint8_t *shared_secret,
                          const uint8_t *ciphertext, const uint8_t *secret_key) {
    call c = {.scheme = scheme, .out = shared_secret, .in = ciphertext, .key = secret_key};
    return scheme->kem != NULL ? perform(&c, decapsulate) : PQ_NO_SUCH_OPERATION;
}

#if HAS_CONTEXT
/* liboqs-python 0.16 needs this function at import; liboqs has it from 0.14 on. */
PQ_API bool OQS_SIG_supports_ctx_str(const char *name) {
    OQS_SIG *sig = OQS_SIG_new(name);
    const bool supports = sig != NULL && sig->sig_with_ctx_support;
    OQS_SIG_free(sig);
    return supports;
}
#endif
