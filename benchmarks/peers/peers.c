/* pq_native.h, implemented with the crates and Go packages that `make bench-peers` compares with, so that
 * all run in the same timed loop. A scheme is named by its peer and its algorithm. */
#include "pq_native.h"

#include <stdbool.h>

enum { CIRCL = 6 };

struct pq_scheme {
    const char *name;
    uint32_t peer, set;
    pq_sizes_t sizes;
};

#define ML_DSA_44(peer, number) \
    {peer " ML-DSA-44", number, 44, {.kind = PQ_SIGNATURE, .public_key_bytes = 1312, \
                                     .secret_key_bytes = 2560, .signature_max_bytes = 2420}}
#define ML_DSA_65(peer, number) \
    {peer " ML-DSA-65", number, 65, {.kind = PQ_SIGNATURE, .public_key_bytes = 1952, \
                                     .secret_key_bytes = 4032, .signature_max_bytes = 3309}}
#define SLH(peer, number, letter, set_number, bytes) \
    {peer " SLH-DSA-SHA2-128" letter, number, set_number, \
     {.kind = PQ_SIGNATURE, .public_key_bytes = 32, .secret_key_bytes = 64, \
      .signature_max_bytes = bytes}}

static const struct pq_scheme schemes[] = {
    ML_DSA_44("fips204", 0), ML_DSA_65("fips204", 0),
    ML_DSA_44("libcrux-ml-dsa", 1), ML_DSA_65("libcrux-ml-dsa", 1),
    ML_DSA_44("ml-dsa", 2), ML_DSA_65("ml-dsa", 2),
#if defined(PEERS_AWS_LC)
    ML_DSA_44("aws-lc-rs", 3), ML_DSA_65("aws-lc-rs", 3),
#endif
    SLH("fips205", 4, "s", 128, 7856), SLH("fips205", 4, "f", 129, 17088),
    SLH("slh-dsa", 5, "s", 128, 7856), SLH("slh-dsa", 5, "f", 129, 17088),
#if defined(PEERS_GO)
    ML_DSA_44("circl", CIRCL), ML_DSA_65("circl", CIRCL),
#endif
};

#define SOURCE "peers"
#include "glue_table.h"

bool peer_keypair(uint32_t set, uint8_t *public_key, uint8_t *secret_key);
bool peer_sign(uint32_t peer, uint32_t set, uint8_t *signature, const uint8_t *message,
               size_t message_bytes, const uint8_t *secret_key, size_t secret_key_bytes);
bool peer_verify(uint32_t peer, uint32_t set, const uint8_t *message, size_t message_bytes,
                 const uint8_t *signature, size_t signature_bytes, const uint8_t *public_key,
                 size_t public_key_bytes);
#if defined(PEERS_GO)
uint8_t circl_sign(uint32_t set, uint8_t *signature, size_t signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *key,
                   size_t key_bytes);
uint8_t circl_verify(uint32_t set, const uint8_t *signature, size_t signature_bytes,
                     const uint8_t *message, size_t message_bytes, const uint8_t *key,
                     size_t key_bytes);
#endif

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) { *sizes = scheme->sizes; }

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    return peer_keypair(scheme->set, public_key, secret_key) ? PQ_OK : PQ_FAILED;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)context, (void)context_bytes;
    *signature_bytes = scheme->sizes.signature_max_bytes;
#if defined(PEERS_GO)
    if (scheme->peer == CIRCL) {
        return circl_sign(scheme->set, signature, *signature_bytes, message, message_bytes,
                          secret_key, scheme->sizes.secret_key_bytes)
                   ? PQ_OK
                   : PQ_FAILED;
    }
#endif
    return peer_sign(scheme->peer, scheme->set, signature, message, message_bytes, secret_key,
                     scheme->sizes.secret_key_bytes)
               ? PQ_OK
               : PQ_FAILED;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)context, (void)context_bytes;
#if defined(PEERS_GO)
    if (scheme->peer == CIRCL) {
        return circl_verify(scheme->set, signature, signature_bytes, message, message_bytes,
                            public_key, scheme->sizes.public_key_bytes)
                   ? PQ_OK
                   : PQ_REJECTED;
    }
#endif
    return peer_verify(scheme->peer, scheme->set, message, message_bytes, signature,
                       signature_bytes, public_key, scheme->sizes.public_key_bytes)
               ? PQ_OK
               : PQ_REJECTED;
}
