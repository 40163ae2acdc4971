/* SHRINCS, the draft of SHRINCS/shrincs-bip at commit 18044f4ea7bf002c6cedcf7650b020feae2f475f
 * (impl/shrincs.py): a stateful tree of WOTS+C keys, and SLH-DSA with a parameter set of its own. */
#ifndef SLHDSA_SHRINCS_H
#define SLHDSA_SHRINCS_H

#include "slhdsa.h"

enum {
    SHRINCS_PUBLIC_KEY_BYTES = 48,
    SHRINCS_SECRET_KEY_BYTES = 82,
    SHRINCS_SEED_BYTES = 48,
    SHRINCS_STATELESS_BYTES = 5777,
    SHRINCS_MAX_CONTEXT = 255,
    SHRINCS_MAX_BALANCED_DEPTH = 20 /* 2^20 keys take minutes; the draft has no bound */
};

typedef enum { SHRINCS_UNBALANCED = 0, SHRINCS_BALANCED = 1 } shrincs_shape;

/* Returns 0 for a structure (shape, depth) that is not supported. */
int shrincs_keypair(uint8_t *public_key, uint8_t *secret_key, const uint8_t *seed,
                    const uint8_t structure[2]);

/* The length of the stateful signature number `counter`; 0 if the tree has no such leaf. */
size_t shrincs_stateful_bytes(const uint8_t structure[2], uint64_t counter);

/* Sign with leaf `counter`. The caller must never sign twice with one counter. Returns 0 if the key
 * is damaged or has no such leaf. */
int shrincs_sign_stateful(uint8_t *signature, const slh_message *message, const uint8_t *context,
                          size_t context_bytes, const uint8_t *secret_key, uint64_t counter);
/* Sign without state, with 16 bytes of randomness (PK.seed for the deterministic variant). */
int shrincs_sign_stateless(uint8_t *signature, const slh_message *message, const uint8_t *context,
                           size_t context_bytes, const uint8_t *secret_key,
                           const uint8_t *randomness);

/* Returns 1 if valid; signatures of any length and kind. The prefix of the message is empty. */
int shrincs_verify(const slh_message *message, const uint8_t *signature, size_t signature_bytes,
                   const uint8_t *context, size_t context_bytes, const uint8_t *public_key);

#endif
