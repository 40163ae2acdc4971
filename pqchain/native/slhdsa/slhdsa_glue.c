/* pq_native.h, implemented with pqchain's SLH-DSA. */
#include "hash.h"

#define SOURCE "FIPS 205"
#define schemes slh_sets
#include "../glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = scheme->nist_level,
                          .public_key_bytes = slh_public_key_bytes(scheme),
                          .secret_key_bytes = slh_secret_key_bytes(scheme),
                          .signature_max_bytes = scheme->signature_bytes, .context = 1};
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    uint8_t seeds[3 * SLH_MAX_N];
    pq_randombytes(seeds, 3 * scheme->n);
    slh_keypair(scheme, public_key, secret_key, seeds);
    slh_wipe(seeds, sizeof seeds);
    return PQ_OK;
}

/* What precedes the message in pure signing, algorithm 22: 0, the context and its length. */
enum { MAX_CONTEXT = 255 };

static size_t pure_prefix(uint8_t prefix[2 + MAX_CONTEXT], const uint8_t *context,
                          size_t context_bytes) {
    prefix[0] = 0;
    prefix[1] = (uint8_t)context_bytes;
    if (context_bytes > 0) {
        memcpy(prefix + 2, context, context_bytes);
    }
    return 2 + context_bytes;
}

static int sign(const slh_set *set, uint8_t *signature, const slh_message *message,
                const uint8_t *secret_key) {
    slh_node randomness;
    pq_randombytes(randomness, set->n);
    return slh_sign(set, signature, message, secret_key, randomness) ? PQ_OK : PQ_OUT_OF_RANGE;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    uint8_t prefix[2 + MAX_CONTEXT];
    if (context_bytes > MAX_CONTEXT) {
        return PQ_NO_SUCH_OPERATION;
    }
    const slh_message formatted = {prefix, pure_prefix(prefix, context, context_bytes), message,
                                   message_bytes};
    *signature_bytes = scheme->signature_bytes;
    return sign(scheme, signature, &formatted, secret_key);
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    uint8_t prefix[2 + MAX_CONTEXT];
    if (context_bytes > MAX_CONTEXT) {
        return PQ_NO_SUCH_OPERATION;
    }
    const slh_message formatted = {prefix, pure_prefix(prefix, context, context_bytes), message,
                                   message_bytes};
    return signature_bytes == scheme->signature_bytes &&
                   slh_verify(scheme, &formatted, signature, public_key)
               ? PQ_OK
               : PQ_REJECTED;
}

PQ_INTERNAL size_t pq_group_signatures(const pq_scheme *scheme) {
    return scheme->n == 16 ? SLH_LANES : 8; /* of larger sets, what fits into a small stack */
}

PQ_INTERNAL void pq_verify_group(const pq_batch *batch, const uint64_t indices[], size_t count) {
    uint8_t prefix[2 + MAX_CONTEXT];
    const size_t prefix_bytes = pure_prefix(prefix, NULL, 0);
    slh_message messages[SLH_LANES];
    const uint8_t *signatures[SLH_LANES], *public_keys[SLH_LANES];
    uint64_t verified[SLH_LANES];
    int valid[SLH_LANES];
    size_t lanes = 0;
    for (size_t i = 0; i < count; i++) {
        const pq_signed one = pq_batch_item(batch, indices[i]);
        batch->verdicts[indices[i]] = 0;
        if (one.signature_bytes == batch->scheme->signature_bytes) {
            messages[lanes] =
                (slh_message){prefix, prefix_bytes, one.message, one.message_bytes};
            signatures[lanes] = one.signature;
            public_keys[lanes] = one.public_key;
            verified[lanes++] = indices[i];
        }
    }
    if (lanes > 0) {
        slh_verify_group(batch->scheme, lanes, messages, signatures, public_keys, valid);
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        batch->verdicts[verified[lane]] = (uint8_t)valid[lane];
    }
}

/* In addition to pq_native.h: the functions on formatted messages M', algorithms 19 and 20, which
 * pre-hash signing and ACVP use. The set is a number of pq_name(). */
PQ_API int64_t slhdsa_sign_internal(int64_t set, uint8_t *signature, const uint8_t *message,
                                    int64_t message_bytes, const uint8_t *secret_key);
PQ_API int64_t slhdsa_verify_internal(int64_t set, const uint8_t *message, int64_t message_bytes,
                                      const uint8_t *signature, const uint8_t *public_key);

static int is_set(int64_t set) { return set >= 0 && set < SLH_SETS; }

PQ_API int64_t slhdsa_sign_internal(int64_t set, uint8_t *signature, const uint8_t *message,
                                    int64_t message_bytes, const uint8_t *secret_key) {
    const slh_message formatted = {NULL, 0, message, (size_t)message_bytes};
    return is_set(set) ? sign(&slh_sets[set], signature, &formatted, secret_key)
                       : PQ_NO_SUCH_OPERATION;
}

PQ_API int64_t slhdsa_verify_internal(int64_t set, const uint8_t *message, int64_t message_bytes,
                                      const uint8_t *signature, const uint8_t *public_key) {
    const slh_message formatted = {NULL, 0, message, (size_t)message_bytes};
    if (!is_set(set)) {
        return PQ_NO_SUCH_OPERATION;
    }
    return slh_verify(&slh_sets[set], &formatted, signature, public_key) ? PQ_OK : PQ_REJECTED;
}
