/* pq_native.h, implemented with liboqs 0.13.0 and 0.7.1. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "pq_native.h"

#include "falcon_host.h"
#include "int128.h"

#include <oqs/oqs.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* 0.7.1 has its version as text only, and no context strings. */
#if defined(OQS_VERSION_MAJOR)
#define HAS_CONTEXT 1
#else
#define HAS_CONTEXT 0
#endif

struct pq_scheme {
    OQS_SIG *sig; /* exactly one of the two is set */
    OQS_KEM *kem;
    size_t small_begin, small_bytes; /* position of s1 and s2 in secret keys of ML-DSA and Dilithium */
    int eta;                         /* their coefficients are from -eta to eta; 0: another scheme */
    unsigned falcon_logn;            /* 0: another scheme */
    uint64_t point;                  /* evaluation point of key fingerprints; 0: none available */
    uint64_t *good;                  /* fingerprint of the last valid Falcon key */
};

/* ML-DSA and Dilithium pack eta minus the coefficient into 3 bits (eta 2) or 4 (eta 4). Some
 * numbers occur in no valid key, but liboqs signs with them nevertheless. FIPS 204 (algorithm 25,
 * skDecode) leaves the check of the range to the caller. */
static const struct {
    const char *name;
    size_t k, l;
    int eta;
} MODULES[] = {{"ML-DSA-44", 4, 4, 2},  {"ML-DSA-65", 6, 5, 4},  {"ML-DSA-87", 8, 7, 2},
               {"Dilithium2", 4, 4, 2}, {"Dilithium3", 6, 5, 4}, {"Dilithium5", 8, 7, 2}};

enum { MODULES_COUNT = sizeof MODULES / sizeof MODULES[0] };
enum { T0_BYTES = 416 /* per polynomial of t0, after s1 and s2 */ };

static void find_small(pq_scheme *scheme, const char *name) {
    for (size_t i = 0; i < MODULES_COUNT; i++) {
        /* "Dilithium2-AES" too: only the hashing differs. */
        if (strncmp(name, MODULES[i].name, strlen(MODULES[i].name)) == 0) {
            scheme->eta = MODULES[i].eta;
            scheme->small_bytes = (MODULES[i].k + MODULES[i].l) * (scheme->eta == 2 ? 96 : 128);
            scheme->small_begin =
                scheme->sig->length_secret_key - MODULES[i].k * T0_BYTES - scheme->small_bytes;
        }
    }
}

static int small_in_range(const pq_scheme *scheme, const uint8_t *secret_key) {
    const uint8_t *small = secret_key + scheme->small_begin;
    uint32_t wrong = 0;
    if (scheme->eta == 2) { /* 8 numbers in 3 bytes; 5, 6 and 7 are invalid: bit 2 and another */
        for (size_t i = 0; i < scheme->small_bytes; i += 3) {
            const uint32_t bits = small[i] | (uint32_t)small[i + 1] << 8 | (uint32_t)small[i + 2] << 16;
            wrong |= bits & (bits << 1 | bits << 2) & 0x924924;
        }
    } else if (scheme->eta == 4) { /* 2 numbers in a byte; 9 to 15 are invalid: bit 3 and another */
        for (size_t i = 0; i < scheme->small_bytes; i++) {
            const uint32_t bits = small[i];
            wrong |= bits & (bits << 1 | bits << 2 | bits << 3) & 0x88;
        }
    }
    return wrong == 0;
}

/* Falcon. liboqs accepts any key with a short G, and with F = 0 or F = f it never returns. Validating
 * a key takes a tenth of the time of a signature, so it is done once per key: the last valid key is
 * recognised by a polynomial hash modulo 2^61 - 1 at a secret point. */
static uint64_t fingerprint(const pq_scheme *scheme, const uint8_t *key) {
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    const size_t bytes = scheme->sig->length_secret_key;
    uint64_t hash = 1;
    for (size_t i = 0; i < bytes; i += 7) {
        uint64_t word = 0;
        memcpy(&word, key + i, bytes - i < 7 ? bytes - i : 7);
        const int128 product =
            int128_sum(int128_unsigned_product(hash, scheme->point), int128_unsigned_product(word, 1));
        hash = ((uint64_t)int128_shifted(product, 0) & prime) + (uint64_t)int128_shifted(product, 61);
        hash = hash >= prime ? hash - prime : hash;
    }
    return hash + 1; /* never 0, which means none */
}

static int falcon_is_whole(const pq_scheme *scheme, const uint8_t *secret_key) {
    int8_t key[3 * FALCON_MAX_N], capital_g[FALCON_MAX_N];
    const uint64_t seen = scheme->point != 0 ? fingerprint(scheme, secret_key) : 0;
    if (seen != 0 && __atomic_load_n(scheme->good, __ATOMIC_RELAXED) == seen) {
        return 1;
    }
    const int whole = falcon_decode_secret_key(key, secret_key, scheme->falcon_logn) == 0 &&
                      falcon_complete_key(capital_g, key, scheme->falcon_logn) == 0;
    if (whole) {
        __atomic_store_n(scheme->good, seen, __ATOMIC_RELAXED);
    }
    falcon_wipe(key, sizeof key);
    falcon_wipe(capital_g, sizeof capital_g);
    return whole;
}

static int find_falcon(pq_scheme *scheme, const char *name) {
    if (strncmp(name, "Falcon", 6) == 0) {
        scheme->falcon_logn = strstr(name, "1024") != NULL ? 10 : 9;
        scheme->good = calloc(1, sizeof *scheme->good);
        if (getrandom(&scheme->point, sizeof scheme->point, 0) != (ssize_t)sizeof scheme->point) {
            scheme->point = 0;
        }
        scheme->point >>= 4; /* below 2^61 - 1 */
        return scheme->good != NULL;
    }
    return 1;
}

/* 0 if the secret key is recognised as one that no key generation produces, else 1. */
PQ_API int64_t pq_secret_key_in_range(const pq_scheme *scheme, const uint8_t *secret_key) {
    return scheme->falcon_logn != 0 ? falcon_is_whole(scheme, secret_key)
                                    : small_in_range(scheme, secret_key);
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
        find_small(scheme, name);
        if (!find_falcon(scheme, name)) {
            pq_close(scheme);
            return NULL;
        }
    }
    return scheme;
}

PQ_API void pq_close(pq_scheme *scheme) {
    if (scheme != NULL) {
        OQS_SIG_free(scheme->sig);
        OQS_KEM_free(scheme->kem);
        free(scheme->good);
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

/* Stack. liboqs keeps matrices there: key generation of McEliece-348864 needs 3 MiB in 0.7.1 and
 * 512 KiB in 0.13.0, MAYO-5 and CROSS up to 1 MiB, Rainbow-I 192 KiB. A thread with less would crash
 * the process. If a thread has less than STACK_NEEDED left, the operation therefore runs on a
 * separate stack, which takes some 20 microseconds longer. */
enum { STACK_NEEDED = 4 << 20 };

/* The lowest address of this thread's stack; determined once, because for the main thread it is read
 * from a file. */
static __thread uintptr_t stack_end;

/* 1 if any operation fits into the rest of the calling thread's stack. */
PQ_API int pq_has_stack(void) {
    pthread_attr_t attributes;
    void *end = NULL;
    size_t bytes = 0;
    if (stack_end == 0) {
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
            return 0;
        }
        if (pthread_attr_getstack(&attributes, &end, &bytes) == 0) {
            stack_end = (uintptr_t)end;
        }
        pthread_attr_destroy(&attributes);
    }
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return stack_end != 0 && here > stack_end && here - stack_end >= STACK_NEEDED;
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
    if (pq_has_stack()) {
        operation(c);
        return c->code;
    }
    const int code = pq_run_on_large_stack(operation, c);
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
