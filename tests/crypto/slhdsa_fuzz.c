/* Hostile inputs for SLH-DSA, to be built with sanitizers:
 *
 *     slhdsa_fuzz 1000000     number of damaged signatures, public keys and messages
 *
 * Inputs are in heap blocks of exactly their size. No damaged input may verify, except for the
 * undamaged copy that a damage sometimes leaves. The sequence is the same in every run. Sets of FIPS
 * 205 take turns.
 */
#include "../../pqchain/native/slhdsa/slhdsa.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 33 };

typedef struct {
    uint8_t *public_key, *signature, *message;
} signed_message;

static size_t below(size_t limit) { return (size_t)(draw() % limit); }

static int is_standard(const slh_set *set) { return set->layers > 1; }

static int verifies(const slh_set *set, const signed_message *input) {
    const slh_message message = {NULL, 0, input->message, MESSAGE_BYTES};
    return slh_verify(set, &message, input->signature, input->public_key);
}

static void make(const slh_set *set, signed_message *to) {
    uint8_t *seeds = random_block(3 * set->n), *randomness = random_block(set->n);
    uint8_t *secret_key = block(slh_secret_key_bytes(set));
    to->public_key = block(slh_public_key_bytes(set));
    to->signature = block(set->signature_bytes);
    to->message = random_block(MESSAGE_BYTES);
    const slh_message message = {NULL, 0, to->message, MESSAGE_BYTES};
    slh_keypair(set, to->public_key, secret_key, seeds);
    if (!slh_sign(set, to->signature, &message, secret_key, randomness) || !verifies(set, to)) {
        fprintf(stderr, "%s: an honest signature does not verify\n", set->name);
        exit(1);
    }
    free(seeds);
    free(randomness);
    free(secret_key);
}

static void damage(uint8_t *data, size_t bytes) {
    const size_t at = below(bytes), length = 1 + below(bytes - at);
    switch (draw() % 4) {
    case 0:
        random_bytes(data + at, length < 64 ? length : 64);
        break;
    case 1:
        data[at] ^= (uint8_t)(1 << below(8));
        break;
    case 2:
        memset(data + at, draw() & 1 ? 0 : 0xff, length);
        break;
    default:
        memmove(data + at, data + below(bytes - length + 1), length);
        break;
    }
}

static uint8_t *copy(const uint8_t *data, size_t bytes) { return memcpy(block(bytes), data, bytes); }

int main(int count, char **arguments) {
    state = 0x534c48;
    const long rounds = count == 2 ? atol(arguments[1]) : 0;
    signed_message good[SLH_SETS];
    if (rounds < 1) {
        fprintf(stderr, "usage: slhdsa_fuzz NUMBER\n");
        return 2;
    }
    for (size_t i = 0; i < SLH_SETS; i++) {
        if (is_standard(&slh_sets[i])) {
            make(&slh_sets[i], &good[i]);
        }
    }
    long done = 0, same = 0;
    for (size_t i = 0; done < rounds; i = (i + 1) % SLH_SETS) {
        const slh_set *set = &slh_sets[i];
        if (!is_standard(set)) {
            continue;
        }
        const size_t key_bytes = slh_public_key_bytes(set);
        signed_message input = {copy(good[i].public_key, key_bytes),
                                copy(good[i].signature, set->signature_bytes),
                                copy(good[i].message, MESSAGE_BYTES)};
        switch (draw() % 8) {
        case 0:
            damage(input.public_key, key_bytes);
            break;
        case 1:
            damage(input.message, MESSAGE_BYTES);
            break;
        default:
            damage(input.signature, set->signature_bytes);
            break;
        }
        const int equal = memcmp(input.public_key, good[i].public_key, key_bytes) == 0 &&
                          memcmp(input.signature, good[i].signature, set->signature_bytes) == 0 &&
                          memcmp(input.message, good[i].message, MESSAGE_BYTES) == 0;
        if (verifies(set, &input) != equal) {
            fprintf(stderr, "%s: a wrong verdict\n", set->name);
            return 1;
        }
        same += equal;
        done++;
        free(input.public_key);
        free(input.signature);
        free(input.message);
    }
    for (size_t i = 0; i < SLH_SETS; i++) {
        if (is_standard(&slh_sets[i])) {
            free(good[i].public_key);
            free(good[i].signature);
            free(good[i].message);
        }
    }
    printf("%ld inputs, of which %ld undamaged; no wrong verdict\n", done, same);
    return 0;
}
