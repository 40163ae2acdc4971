/* pq_native.h and known_keys.h, implemented with pqchain's Falcon signer and verifier. Key pairs come from liboqs,
 * whose static library is linked in. */
#include "known_keys.h"

#include "falcon_host.h"
#include "falcon_signer.h"

#include <oqs/oqs.h>

#include <string.h>

struct pq_scheme {
    const char *name;
    unsigned logn;
    int form;
    size_t public_key_bytes, secret_key_bytes, signature_bytes;
    OQS_STATUS (*keypair)(uint8_t *public_key, uint8_t *secret_key);
};

static const pq_scheme schemes[] = {
    {"Falcon-512", 9, FALCON_COMPRESSED, 897, 1281, 752, OQS_SIG_falcon_512_keypair},
    {"Falcon-1024", 10, FALCON_COMPRESSED, 1793, 2305, 1462, OQS_SIG_falcon_1024_keypair},
    {"Falcon-padded-512", 9, FALCON_PADDED, 897, 1281, 666, OQS_SIG_falcon_padded_512_keypair},
    {"Falcon-padded-1024", 10, FALCON_PADDED, 1793, 2305, 1280, OQS_SIG_falcon_padded_1024_keypair},
    {"Falcon-recovery-512", 9, FALCON_RECOVERABLE, 32, 1281, 1291, OQS_SIG_falcon_512_keypair},
    {"Falcon-recovery-1024", 10, FALCON_RECOVERABLE, 64, 2305, 2519, OQS_SIG_falcon_1024_keypair},
};

#define SOURCE "pqchain's Falcon kernels"
#include "glue_table.h"

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = scheme->logn == 9 ? 1 : 5,
                          .public_key_bytes = scheme->public_key_bytes,
                          .secret_key_bytes = scheme->secret_key_bytes,
                          .signature_max_bytes = scheme->signature_bytes};
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    if (scheme->form != FALCON_RECOVERABLE) {
        return scheme->keypair(public_key, secret_key) == OQS_SUCCESS ? PQ_OK : PQ_FAILED;
    }
    uint8_t plain[1 + 14 * FALCON_MAX_N / 8];
    if (scheme->keypair(plain, secret_key) != OQS_SUCCESS) {
        return PQ_FAILED;
    }
    falcon_hash_public_key(public_key, plain, scheme->logn);
    return PQ_OK;
}

/* The draws are those of liboqs: 40 bytes for the nonce, then 48 for the seed. */
PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    uint8_t nonce[FALCON_NONCE_BYTES], seed[FALCON_SEED_BYTES];
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    OQS_randombytes(nonce, sizeof nonce);
    OQS_randombytes(seed, sizeof seed);
    const int64_t length = falcon_sign_seeded(
        signature, (int64_t)scheme->signature_bytes, secret_key, nonce, seed, message,
        (int64_t)message_bytes, scheme->form, FALCON_WHOLE, scheme->logn, NULL);
    falcon_wipe(seed, sizeof seed);
    if (length < 0) {
        return length == FALCON_NO_MEMORY ? PQ_NO_MEMORY : PQ_FAILED;
    }
    *signature_bytes = (size_t)length;
    return PQ_OK;
}

static int decode_key(const pq_scheme *scheme, uint16_t *key, const uint8_t *public_key) {
    if (falcon_decode_public_key(key, public_key, scheme->logn) != 0) {
        return 0;
    }
    falcon_transform_key(key, scheme->logn);
    return 1;
}

static int verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                  const uint8_t *signature, size_t signature_bytes, const uint16_t *key) {
    const unsigned logn = scheme->logn;
    const size_t head = 1 + FALCON_NONCE_BYTES;
    const size_t padded_bytes = logn == 9 ? 666 : 1280;
    uint16_t point[FALCON_MAX_N];
    int16_t s2[FALCON_MAX_N];
    if (signature_bytes < head + 1 || signature[0] != 0x30 + logn) {
        return PQ_REJECTED;
    }
    size_t read = falcon_decompress(s2, signature + head, signature_bytes - head, logn);
    if (read == 0) {
        return PQ_REJECTED;
    }
    read += head;
    if (read != signature_bytes && signature_bytes != padded_bytes) {
        return PQ_REJECTED;
    }
    for (; read < signature_bytes; read++) {
        if (signature[read] != 0) {
            return PQ_REJECTED;
        }
    }
    falcon_hash_to_point(point, signature + 1, message, message_bytes, logn);
    return falcon_is_valid(point, s2, key, logn) ? PQ_OK : PQ_REJECTED;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    uint16_t key[FALCON_MAX_N];
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (scheme->form == FALCON_RECOVERABLE) {
        uint8_t recovered[64];
        return falcon_recover_key(recovered, signature, (int64_t)signature_bytes, message,
                                  (int64_t)message_bytes, scheme->logn) == 0 &&
                       memcmp(recovered, public_key, scheme->public_key_bytes) == 0
                   ? PQ_OK
                   : PQ_REJECTED;
    }
    return decode_key(scheme, key, public_key)
               ? verify(scheme, message, message_bytes, signature, signature_bytes, key)
               : PQ_REJECTED;
}

/* With key recovery the key is a hash, which is compared as it is. */
PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme) {
    return scheme->form == FALCON_RECOVERABLE ? 0 : sizeof(uint16_t) << scheme->logn;
}

PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count) {
    uint16_t *keys = decoded;
    for (size_t i = 0; i < count; i++) {
        if (!decode_key(scheme, keys + (i << scheme->logn),
                        public_keys + i * scheme->public_key_bytes)) {
            return PQ_REJECTED;
        }
    }
    return PQ_OK;
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    return verify(scheme, message, message_bytes, signature, signature_bytes, decoded);
}
