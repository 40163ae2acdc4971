/* pq_native.h for XMSS and LMS of liboqs, whose secret keys change with every signature.
 *
 * pq_sign() refuses: its key is const. pq_stateful_sign() replaces the key by the next state, and
 * the caller (crypto/stateful.py) writes that state to the disk before it releases the signature.
 *
 * liboqs 0.13.0 verifies XMSS and LMS signatures without checking their length (GHSA-wf7v-fhxj-73m2
 * and pull request 2507), and takes the parameter set from the public key or secret key. Here a
 * signature of another length and a key of another set never reach it. */
#include "../pq_native.h"

#include <stdlib.h>
#include <string.h>

#include "lms/external/common_defs.h"
#include "lms/external/hss.h"
#include "lms/external/hss_sign_inc.h"
#include "lms/external/hss_verify.h"
#include "xmss/external/xmss.h"

struct pq_scheme {
    const char *name;
    uint32_t height;  /* of the tree: 2^height leaves */
    uint32_t xmss_id; /* RFC 8391; 0 for LMS */
    param_set_t lms, ots;
    size_t public_key_bytes, secret_key_bytes, signature_bytes;
};

enum { OID = 4, XMSS_PUBLIC = OID + 64, LMS_PUBLIC = 60, LMS_SECRET = 64, LMS_INDEX = 8 };

#define LMS_SIGNATURE(chains, height) (12 + 32 * (1 + (chains)) + 4 + 32 * (height))

static const pq_scheme schemes[] = {
    {"XMSS-SHA2_10_256", 10, 1, 0, 0, XMSS_PUBLIC, OID + 1373, 2500},
    {"XMSS-SHA2_16_256", 16, 2, 0, 0, XMSS_PUBLIC, OID + 2093, 2692},
    {"XMSS-SHA2_20_256", 20, 3, 0, 0, XMSS_PUBLIC, OID + 2573, 2820},
    {"LMS_SHA256_H5_W8", 5, 0, LMS_SHA256_N32_H5, LMOTS_SHA256_N32_W8, LMS_PUBLIC, LMS_SECRET,
     LMS_SIGNATURE(34, 5)},
    {"LMS_SHA256_H10_W4", 10, 0, LMS_SHA256_N32_H10, LMOTS_SHA256_N32_W4, LMS_PUBLIC, LMS_SECRET,
     LMS_SIGNATURE(67, 10)},
    {"LMS_SHA256_H10_W8", 10, 0, LMS_SHA256_N32_H10, LMOTS_SHA256_N32_W8, LMS_PUBLIC, LMS_SECRET,
     LMS_SIGNATURE(34, 10)},
};

#define SOURCE "liboqs 0.13.0, stateful signatures"
#include "../glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = 5,
                          .public_key_bytes = scheme->public_key_bytes,
                          .secret_key_bytes = scheme->secret_key_bytes,
                          .signature_max_bytes = scheme->signature_bytes};
}

static uint64_t big_endian(const uint8_t *bytes, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static bool draw(void *buffer, size_t bytes) {
    pq_randombytes(buffer, bytes);
    return true;
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    if (scheme->xmss_id != 0) {
        return xmss_keypair(public_key, secret_key, scheme->xmss_id) == 0 ? PQ_OK : PQ_FAILED;
    }
    /* Without an update function the key is written to its argument. */
    return hss_generate_private_key(draw, 1, &scheme->lms, &scheme->ots, NULL, secret_key,
                                    public_key, LMS_PUBLIC, NULL, 0, NULL)
               ? PQ_OK
               : PQ_FAILED;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)signature, (void)signature_bytes, (void)message, (void)message_bytes;
    (void)context, (void)context_bytes, (void)secret_key;
    return PQ_NO_SUCH_OPERATION;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (signature_bytes != scheme->signature_bytes) {
        return PQ_REJECTED;
    }
    if (scheme->xmss_id != 0) {
        return big_endian(public_key, OID) == scheme->xmss_id &&
                       xmss_sign_open(message, message_bytes, signature, signature_bytes,
                                      public_key) == 0
                   ? PQ_OK
                   : PQ_REJECTED;
    }
    return big_endian(public_key, 4) == 1 && big_endian(public_key + 4, 4) == scheme->lms &&
                   big_endian(public_key + 8, 4) == scheme->ots &&
                   hss_validate_signature(public_key, message, message_bytes, signature,
                                          signature_bytes, NULL)
               ? PQ_OK
               : PQ_REJECTED;
}

/* Whether the key is of this parameter set. */
static bool is_of_set(const pq_scheme *scheme, const uint8_t *key) {
    if (scheme->xmss_id != 0) {
        return big_endian(key, OID) == scheme->xmss_id;
    }
    unsigned levels;
    param_set_t lms[MAX_HSS_LEVELS], ots[MAX_HSS_LEVELS];
    return hss_get_parameter_set(&levels, lms, ots, NULL, (void *)key) && levels == 1 &&
           lms[0] == scheme->lms && ots[0] == scheme->ots;
}

/* Index of the leaf that the next signature uses; PQ_OUT_OF_RANGE for a key of another set. */
PQ_API int64_t pq_stateful_index(int64_t handle, const uint8_t *key) {
    const pq_scheme *scheme = (const pq_scheme *)(intptr_t)handle;
    if (!is_of_set(scheme, key)) {
        return PQ_OUT_OF_RANGE;
    }
    return (int64_t)(scheme->xmss_id != 0 ? big_endian(key + OID, 4) : big_endian(key, LMS_INDEX));
}

/* Number of signatures of a key: all leaves but the last, which liboqs does not use with XMSS, and
 * after which it erases a key of LMS. */
PQ_API int64_t pq_stateful_leaves(int64_t handle) {
    const pq_scheme *scheme = (const pq_scheme *)(intptr_t)handle;
    return ((int64_t)1 << scheme->height) - 1;
}

/* Sign with the next leaf and replace the key by the following state. */
PQ_API int64_t pq_stateful_sign(int64_t handle, uint8_t *key, uint8_t *signature,
                                const uint8_t *message, int64_t message_bytes) {
    const pq_scheme *scheme = (const pq_scheme *)(intptr_t)handle;
    size_t bytes = scheme->signature_bytes;
    if (!is_of_set(scheme, key)) {
        return PQ_OUT_OF_RANGE;
    }
    if (scheme->xmss_id != 0) {
        unsigned long long written = 0;
        return xmss_sign(key, signature, &written, message, (unsigned long long)message_bytes) ==
                       0 && written == bytes
                   ? PQ_OK
                   : PQ_FAILED;
    }
    /* The tree is computed for every signature, as liboqs does: its copy of the library updates the
     * nodes wrongly when a working key signs more than its first subtree. */
    struct hss_working_key *nodes = hss_load_private_key(NULL, key, 0, NULL, 0, NULL);
    if (nodes == NULL) {
        return PQ_FAILED;
    }
    struct hss_sign_inc hash;
    bool is_signed = hss_sign_init(&hash, nodes, NULL, key, signature, bytes, NULL) &&
                     hss_sign_update(&hash, message, (size_t)message_bytes) &&
                     hss_sign_finalize(&hash, nodes, signature, NULL);
    hss_free_working_key(nodes);
    return is_signed ? PQ_OK : PQ_FAILED;
}

/* Advance the key over `count` leaves that remain unused. Takes as long as signing with XMSS. */
PQ_API int64_t pq_stateful_skip(int64_t handle, uint8_t *key, int64_t count) {
    const pq_scheme *scheme = (const pq_scheme *)(intptr_t)handle;
    int64_t index = pq_stateful_index(handle, key);
    if (index < 0 || count < 0 || count > pq_stateful_leaves(handle) - index) {
        return PQ_OUT_OF_RANGE;
    }
    if (scheme->xmss_id == 0) {
        uint64_t next = (uint64_t)(index + count);
        for (int i = LMS_INDEX - 1; i >= 0; i--, next >>= 8) {
            key[i] = (uint8_t)next;
        }
        return PQ_OK;
    }
    uint8_t *unused = malloc(scheme->signature_bytes);
    int64_t code = unused == NULL ? PQ_NO_MEMORY : PQ_OK;
    for (int64_t i = 0; i < count && code == PQ_OK; i++) {
        code = pq_stateful_sign(handle, key, unused, (const uint8_t *)"", 0);
    }
    free(unused);
    return code;
}
