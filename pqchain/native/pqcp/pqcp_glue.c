/* pq_native.h, implemented with mldsa-native and mlkem-native. */
#include "../large_stack.h"
#include "../ml_dsa_key.h"
#include "../pq_native.h"
#include "pqcp.h"

struct pq_scheme {
    const char *name;
    pq_sizes_t sizes;
    const pqcp_signature *signature; /* exactly one of the two is set */
    const pqcp_kem *kem;
};

#define SIGNATURE(set, category, public, secret, signed) \
    {"ML-DSA-" #set, {.kind = PQ_SIGNATURE, .nist_level = category, .public_key_bytes = public, \
                      .secret_key_bytes = secret, .signature_max_bytes = signed, .context = 1}, \
     &pqcp_mldsa[(set) / 21 - 2], NULL}
#define KEM(set, category, public, secret, sealed) \
    {"ML-KEM-" #set, {.kind = PQ_KEM, .nist_level = category, .public_key_bytes = public, \
                      .secret_key_bytes = secret, .ciphertext_bytes = sealed, \
                      .shared_secret_bytes = 32}, \
     NULL, &pqcp_mlkem[(set) / 256 - 2]}

static const struct pq_scheme schemes[] = {
    SIGNATURE(44, 2, 1312, 2560, 2420), SIGNATURE(65, 3, 1952, 4032, 3309),
    SIGNATURE(87, 5, 2592, 4896, 4627), KEM(512, 1, 800, 1632, 768),
    KEM(768, 3, 1184, 2400, 1088),      KEM(1024, 5, 1568, 3168, 1568)};

#define SOURCE "mldsa-native and mlkem-native of AWS-LC, crate aws-lc-sys 0.47.0"
#include "../glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) { *sizes = scheme->sizes; }

typedef struct {
    const pq_scheme *scheme;
    uint8_t *out, *second_out;
    const uint8_t *in, *second_in, *key, *context;
    size_t in_bytes, context_bytes;
    int failed;
} call;

static int perform(call *c, void (*operation)(void *)) {
    const int code = pq_with_stack(operation, c);
    return code != PQ_OK ? code : c->failed ? PQ_FAILED : PQ_OK;
}

static void keypair(void *argument) {
    call *c = argument;
    c->failed = (c->scheme->signature != NULL ? c->scheme->signature->keypair
                                              : c->scheme->kem->keypair)(c->out, c->second_out);
}

static void sign(void *argument) {
    call *c = argument;
    c->failed = c->scheme->signature->sign(c->out, c->in, c->in_bytes, c->context,
                                           c->context_bytes, c->key);
}

static void verify(void *argument) {
    call *c = argument;
    c->failed = c->scheme->signature->verify(c->second_in, c->in, c->in_bytes, c->context,
                                             c->context_bytes, c->key);
}

static void encapsulate(void *argument) {
    call *c = argument;
    c->failed = c->scheme->kem->encapsulate(c->out, c->second_out, c->key);
}

static void decapsulate(void *argument) {
    call *c = argument;
    c->failed = c->scheme->kem->decapsulate(c->out, c->in, c->key);
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    call c = {.scheme = scheme, .out = public_key, .second_out = secret_key};
    return perform(&c, keypair);
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    call c = {.scheme = scheme, .out = signature, .in = message, .in_bytes = message_bytes,
              .context = context, .context_bytes = context_bytes, .key = secret_key};
    if (scheme->signature == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    const ml_dsa_small small = ml_dsa_find_small(scheme->name, scheme->sizes.secret_key_bytes);
    *signature_bytes = scheme->sizes.signature_max_bytes;
    return ml_dsa_small_in_range(&small, secret_key) ? perform(&c, sign) : PQ_OUT_OF_RANGE;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    call c = {.scheme = scheme, .in = message, .in_bytes = message_bytes, .second_in = signature,
              .context = context, .context_bytes = context_bytes, .key = public_key};
    if (scheme->signature == NULL) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (signature_bytes != scheme->sizes.signature_max_bytes) {
        return PQ_REJECTED;
    }
    const int code = perform(&c, verify);
    return code == PQ_FAILED ? PQ_REJECTED : code;
}

/* Many enough that expanding the first key of a group again does not count. */
PQ_INTERNAL size_t pq_group_signatures(const pq_scheme *scheme) {
    return scheme->signature != NULL ? 32 : 1;
}

typedef struct {
    const pq_batch *batch;
    const uint64_t *indices;
    size_t count;
} group;

static void verify_group(void *argument) {
    const group *g = argument;
    const pq_scheme *scheme = g->batch->scheme;
    pq_signed signed_by[PQ_MOST_IN_GROUP] = {{NULL}};
    uint8_t valid[PQ_MOST_IN_GROUP];
    uint64_t verified[PQ_MOST_IN_GROUP];
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        signed_by[count] = pq_batch_item(g->batch, g->indices[i]);
        g->batch->verdicts[g->indices[i]] = 0;
        if (signed_by[count].signature_bytes == scheme->sizes.signature_max_bytes) {
            verified[count++] = g->indices[i];
        }
    }
    scheme->signature->verify_group(count, signed_by, valid);
    for (size_t i = 0; i < count; i++) {
        g->batch->verdicts[verified[i]] = valid[i];
    }
}

PQ_INTERNAL void pq_verify_group(const pq_batch *batch, const uint64_t indices[], size_t count) {
    group g = {batch, indices, count};
    if (pq_with_stack(verify_group, &g) != PQ_OK) { /* no memory; a single call is no success either */
        for (size_t i = 0; i < count; i++) {
            batch->verdicts[indices[i]] = 0;
        }
    }
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
