/* Hostile inputs and round trips for Hawk.
 *
 *     hawk_fuzz fuzz 1000000     damaged signatures and public keys through decoders and verifier
 *     hawk_fuzz rounds 10000     number of new keys of each size, each signing and verifying
 *
 * Build with sanitizers for the first. Inputs are in heap blocks of exactly their size.
 * Decoded inputs must encode to the same bytes, and no damaged input may verify. The
 * sequence is the same in every run.
 */
#include "../../pqchain/native/hawk/hawk.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t below(size_t limit) { return (size_t)(draw() % limit); }

static void fail(const char *what, const pq_hawk_set *set) {
    fprintf(stderr, "%s: %s\n", set->name, what);
    exit(1);
}

enum { KEYS = 4, MESSAGE_BYTES = 33 };

typedef struct {
    uint8_t *public_key, *signature;
    uint8_t message[MESSAGE_BYTES];
} signed_message;

static void make(const pq_hawk_set *set, signed_message *to) {
    uint8_t *secret_key = block(set->secret_key_bytes);
    to->public_key = block(set->public_key_bytes);
    to->signature = block(set->signature_bytes);
    random_bytes(to->message, sizeof to->message);
    if (!pq_hawk_keypair(set, to->public_key, secret_key, random_bytes) ||
        !pq_hawk_sign(set, to->signature, to->message, sizeof to->message, secret_key,
                   random_bytes) ||
        !pq_hawk_verify(set, to->message, sizeof to->message, to->signature, to->public_key)) {
        fail("an honest signature does not verify", set);
    }
    free(secret_key);
}

/* Mostly small values, sometimes any value that the code can represent. */
static int32_t coefficient(unsigned low, unsigned high) {
    const unsigned bits = draw() % 64 == 0 ? high : low;
    const int32_t value = (int32_t)(draw() & ((1u << bits) - 1));
    return draw() & 1 ? value : -value - 1;
}

static void damage(uint8_t *data, size_t bytes, const uint8_t *other) {
    const size_t at = below(bytes), length = 1 + below(bytes - at);
    switch (draw() % 5) {
    case 0:
        random_bytes(data, bytes);
        break;
    case 1:
        for (size_t flips = 1 + below(3); flips > 0; flips--) {
            data[below(bytes)] ^= (uint8_t)(1 << below(8));
        }
        break;
    case 2:
        memset(data + at, draw() & 1 ? 0 : draw() & 1 ? 0xff : 0x55, length);
        break;
    case 3:
        memcpy(data + at, other + at, length);
        break;
    default:
        memmove(data + at, data + below(bytes - length + 1), length);
        break;
    }
}

static void fuzz(long count) {
    signed_message cases[2][KEYS];
    long decoded = 0;
    for (size_t s = 0; s < 2; s++) {
        for (size_t k = 0; k < KEYS; k++) {
            make(&pq_hawk_sets[s], &cases[s][k]);
        }
    }
    for (long i = 0; i < count; i++) {
        const pq_hawk_set *set = &pq_hawk_sets[i & 1];
        const signed_message *good = &cases[i & 1][below(KEYS)], *other = &cases[i & 1][below(KEYS)];
        uint8_t *public_key = block(set->public_key_bytes), *again = block(set->public_key_bytes);
        uint8_t *signature = block(set->signature_bytes), *message = block(MESSAGE_BYTES);
        int32_t a[PQ_HAWK_N_MAX], b[PQ_HAWK_N_MAX];
        memcpy(public_key, good->public_key, set->public_key_bytes);
        memcpy(signature, good->signature, set->signature_bytes);
        memcpy(message, good->message, MESSAGE_BYTES);
        switch (draw() % 6) {
        case 0:
            damage(public_key, set->public_key_bytes, other->public_key);
            break;
        case 1: /* a well-formed signature of any short vector */
            for (size_t j = 0; j < set->n; j++) {
                a[j] = coefficient(set->low_s1, set->high_s1);
            }
            pq_hawk_encode_signature(set, signature, good->signature, a);
            break;
        case 2: /* a well-formed public key */
            for (size_t j = 0; j < set->n; j++) {
                a[j] = coefficient(set->low_00, set->high_00);
                b[j] = coefficient(set->low_01, set->high_01);
            }
            a[0] = (int32_t)(draw() & 0xffff) - 32768;
            if (!pq_hawk_encode_public(set, public_key, a, b)) {
                memcpy(public_key, good->public_key, set->public_key_bytes);
                message[0] ^= 1;
            }
            break;
        case 3:
            message[below(MESSAGE_BYTES)] ^= (uint8_t)(1 << below(8));
            break;
        default:
            damage(signature, set->signature_bytes, other->signature);
            break;
        }
        if (pq_hawk_decode_public(set, public_key, a, b)) {
            if (!pq_hawk_encode_public(set, again, a, b) ||
                memcmp(public_key, again, set->public_key_bytes) != 0) {
                fail("two encodings of one public key", set);
            }
            decoded++;
        }
        if (pq_hawk_decode_signature(set, signature, a)) {
            if (!pq_hawk_encode_signature(set, again, signature, a) ||
                memcmp(signature, again, set->signature_bytes) != 0) {
                fail("two encodings of one signature", set);
            }
            decoded++;
        }
        const int same = memcmp(public_key, good->public_key, set->public_key_bytes) == 0 &&
                         memcmp(signature, good->signature, set->signature_bytes) == 0 &&
                         memcmp(message, good->message, MESSAGE_BYTES) == 0;
        if (pq_hawk_verify(set, message, MESSAGE_BYTES, signature, public_key) != same) {
            fail("a wrong verdict", set);
        }
        free(public_key);
        free(again);
        free(signature);
        free(message);
    }
    for (size_t s = 0; s < 2; s++) {
        for (size_t k = 0; k < KEYS; k++) {
            free(cases[s][k].public_key);
            free(cases[s][k].signature);
        }
    }
    printf("%ld inputs; %ld of twice as many parts decoded, each to the bytes it came from\n", count,
           decoded);
}

static void rounds(long count) {
    for (size_t s = 0; s < 2; s++) {
        for (long i = 0; i < count; i++) {
            signed_message one;
            make(&pq_hawk_sets[s], &one);
            free(one.public_key);
            free(one.signature);
        }
        printf("%s: %ld round trips, each with a key of its own\n", pq_hawk_sets[s].name, count);
    }
}

int main(int argc, char **argv) {
    state = 0x4841574b;
    const long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count > 0 && strcmp(argv[1], "fuzz") == 0) {
        fuzz(count);
    } else if (count > 0 && strcmp(argv[1], "rounds") == 0) {
        rounds(count);
    } else {
        fprintf(stderr, "usage: hawk_fuzz fuzz|rounds COUNT\n");
        return 2;
    }
    return 0;
}
