/* pqchain's three functions, implemented with the authors' library, for comparisons: if
 * PQCHAIN_HAWK_SOURCE names its folder, this replaces everything except the parameter sets. */
#include "hawk.h"

#include <hawk.h> /* theirs: the include path has only their folder */
#include <stdlib.h>

static void draw(void *random_bytes, void *destination, size_t bytes) {
    (*(pq_hawk_random_fn *)random_bytes)(destination, bytes);
}

int pq_hawk_keypair(const pq_hawk_set *set, uint8_t *public_key, uint8_t *secret_key,
                 pq_hawk_random_fn random_bytes) {
    const size_t bytes = HAWK_TMPSIZE_KEYGEN(10);
    uint8_t *work = malloc(bytes); /* too much for the stack of a small thread */
    const int made = work != NULL && hawk_keygen(set->log_n, secret_key, public_key, draw,
                                                 &random_bytes, work, bytes);
    free(work);
    return made;
}

int pq_hawk_sign(const pq_hawk_set *set, uint8_t *signature, const uint8_t *message,
              size_t message_bytes, const uint8_t *secret_key, pq_hawk_random_fn random_bytes) {
    uint8_t work[HAWK_TMPSIZE_SIGN(10)];
    shake_context hash;
    hawk_sign_start(&hash);
    shake_inject(&hash, message, message_bytes);
    return hawk_sign_finish(set->log_n, draw, &random_bytes, signature, &hash, secret_key, work,
                            sizeof work) != 0;
}

int pq_hawk_verify(const pq_hawk_set *set, const uint8_t *message, size_t message_bytes,
                const uint8_t *signature, const uint8_t *public_key) {
    uint8_t work[HAWK_TMPSIZE_VERIFY_FAST(10)];
    shake_context hash;
    hawk_verify_start(&hash);
    shake_inject(&hash, message, message_bytes);
    return hawk_verify_finish(set->log_n, signature, set->signature_bytes, &hash, public_key,
                              set->public_key_bytes, work, sizeof work) != 0;
}
