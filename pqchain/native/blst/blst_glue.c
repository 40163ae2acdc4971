/* pq_native.h, known_keys.h and bls.h, implemented with blst. */
#include "bls.h"
#include "known_keys.h"

#include <blst.h>

#include <stdlib.h>
#include <string.h>

/* There is one scheme, so a handle needs no content. */
struct pq_scheme {
    const char *name;
};

static const struct pq_scheme schemes[] = {{"BLS12-381"}};

#define SOURCE "blst 0.3.17"
#include "glue_table.h"

static const char SUITE[] = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

_Static_assert(sizeof(blst_p1_affine) == BLS_CHECKED_KEY_BYTES, "a checked key is an affine point");

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    (void)scheme;
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .public_key_bytes = BLS_PUBLIC_KEY_BYTES,
                          .secret_key_bytes = BLS_SECRET_KEY_BYTES,
                          .signature_max_bytes = BLS_SIGNATURE_BYTES};
}

/* A secret key is a number from 1 to the order of the group minus 1. */
static int secret_from_bytes(blst_scalar *secret, const uint8_t *secret_key) {
    blst_scalar_from_bendian(secret, secret_key);
    return blst_sk_check(secret);
}

/* KeyValidate: a point of G1 other than infinity. */
static int key_from_bytes(blst_p1_affine *key, const uint8_t *public_key) {
    return blst_p1_uncompress(key, public_key) == BLST_SUCCESS && !blst_p1_affine_is_inf(key) &&
           blst_p1_affine_in_g1(key);
}

static int signature_from_bytes(blst_p2_affine *point, const uint8_t *signature) {
    return blst_p2_uncompress(point, signature) == BLST_SUCCESS && blst_p2_affine_in_g2(point);
}

/* The key was checked, and the signature is in the group. */
static int verify(const blst_p1_affine *key, const blst_p2_affine *point, const uint8_t *message,
                  size_t message_bytes) {
    blst_pairing *pairing = malloc(blst_pairing_sizeof());
    if (pairing == NULL) {
        return PQ_NO_MEMORY;
    }
    blst_pairing_init(pairing, 1, (const byte *)SUITE, sizeof SUITE - 1);
    const BLST_ERROR error = blst_pairing_chk_n_aggr_pk_in_g1(pairing, key, 0, point, 0, message,
                                                              message_bytes, NULL, 0);
    blst_pairing_commit(pairing);
    const int valid = error == BLST_SUCCESS && blst_pairing_finalverify(pairing, NULL);
    free(pairing);
    return valid ? PQ_OK : PQ_REJECTED;
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    (void)scheme;
    uint8_t seed[BLS_SECRET_KEY_BYTES];
    blst_scalar secret;
    blst_p1 point;
    pq_randombytes(seed, sizeof seed);
    blst_keygen(&secret, seed, sizeof seed, NULL, 0);
    blst_sk_to_pk_in_g1(&point, &secret);
    blst_p1_compress(public_key, &point);
    blst_bendian_from_scalar(secret_key, &secret);
    return PQ_OK;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION; /* the suite's name is the only context */
    }
    *signature_bytes = BLS_SIGNATURE_BYTES;
    blst_scalar secret;
    blst_p2 point;
    if (!secret_from_bytes(&secret, secret_key)) {
        return PQ_FAILED;
    }
    blst_hash_to_g2(&point, message, message_bytes, (const byte *)SUITE, sizeof SUITE - 1, NULL, 0);
    blst_sign_pk_in_g1(&point, &point, &secret);
    blst_p2_compress(signature, &point);
    return PQ_OK;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)scheme, (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    blst_p1_affine key;
    blst_p2_affine point;
    if (signature_bytes != BLS_SIGNATURE_BYTES || !key_from_bytes(&key, public_key) ||
        !signature_from_bytes(&point, signature)) {
        return PQ_REJECTED;
    }
    return verify(&key, &point, message, message_bytes);
}

PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme) {
    (void)scheme;
    return sizeof(blst_p1_affine);
}

PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count) {
    (void)scheme;
    return (int)bls_check_keys(decoded, public_keys, (int64_t)count);
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    blst_p2_affine point;
    (void)scheme;
    if (signature_bytes != BLS_SIGNATURE_BYTES || !signature_from_bytes(&point, signature)) {
        return PQ_REJECTED;
    }
    return verify(decoded, &point, message, message_bytes);
}

PQ_API int64_t bls_aggregate(uint8_t *aggregate, const uint8_t *signatures, int64_t count) {
    blst_p2 sum;
    for (int64_t i = 0; i < count; i++) {
        blst_p2_affine point;
        if (!signature_from_bytes(&point, signatures + i * BLS_SIGNATURE_BYTES)) {
            return PQ_REJECTED;
        }
        if (i == 0) {
            blst_p2_from_affine(&sum, &point);
        } else {
            blst_p2_add_or_double_affine(&sum, &sum, &point);
        }
    }
    blst_p2_compress(aggregate, &sum);
    return PQ_OK;
}

PQ_API int64_t bls_check_keys(uint8_t *checked, const uint8_t *public_keys, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        blst_p1_affine key;
        if (!key_from_bytes(&key, public_keys + i * BLS_PUBLIC_KEY_BYTES)) {
            return PQ_REJECTED;
        }
        memcpy(checked + i * BLS_CHECKED_KEY_BYTES, &key, sizeof key);
    }
    return PQ_OK;
}

PQ_API int64_t bls_verify_one_message(const uint8_t *message, int64_t message_bytes,
                                      const uint8_t *aggregate, const uint8_t *checked,
                                      int64_t count) {
    blst_p2_affine point;
    if (!signature_from_bytes(&point, aggregate)) {
        return PQ_REJECTED;
    }
    blst_p1_affine *keys = malloc((size_t)count * sizeof *keys);
    if (keys == NULL) {
        return PQ_NO_MEMORY;
    }
    memcpy(keys, checked, (size_t)count * sizeof *keys); /* bytes need not be aligned */
    const blst_p1_affine *const all[] = {keys, NULL};    /* contiguous */
    blst_p1 sum;
    blst_p1s_add(&sum, all, (size_t)count);
    free(keys);
    blst_p1_affine key;
    blst_p1_to_affine(&key, &sum);
    return verify(&key, &point, message, (size_t)message_bytes);
}
