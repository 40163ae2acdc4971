/* Whether a secret key of Falcon is one that key generation can produce, checked once per key. */
#ifndef FALCON_WHOLE_KEY_H
#define FALCON_WHOLE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* Libraries accept any key with a short G, and with F = 0 or F = f liboqs never returns. Validating a
 * key takes a tenth of the time of a signature, so the last valid key is recognised by a fingerprint,
 * a polynomial hash modulo 2^61 - 1 at a secret point. */
typedef struct {
    uint64_t point; /* evaluation point of fingerprints; 0: none available */
    uint64_t good;  /* fingerprint of the last valid key; 0: none */
} falcon_key_check;

void falcon_check_start(falcon_key_check *check);

/* 1 if f, g and F of the encoded key belong together, else 0. Any number of threads may call it. */
int falcon_key_is_whole(falcon_key_check *check, const uint8_t *secret_key, unsigned logn);

#endif
