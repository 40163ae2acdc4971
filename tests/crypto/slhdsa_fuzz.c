/* Hostile inputs for the decoders of SLH-DSA and SHRINCS, to be built with sanitizers:
 *
 *     slhdsa_fuzz 1000000     number of damaged signatures, public keys and messages of each decoder
 *
 * Inputs are in heap blocks of exactly their size. No damaged input may verify, except for the
 * undamaged copy that a damage sometimes leaves. The sequence is the same in every run. All sets of
 * FIPS 205 use one decoder, which gets its parameters from a table, and verification takes up to
 * 12,000 hashes. Most inputs are therefore for small sets, one of each hash function of a node; all
 * sets of the standard take turns with one input in 1,024.
 */
#include "../../pqchain/native/slhdsa/shrincs.h"
#include "../../pqchain/native/slhdsa/slhdsa.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

enum {
    MESSAGE_BYTES = 33, SHRINCS_KINDS = 4, STATELESS_KIND = 3, SMALL_SETS = 3, TURN = 1024
};

/* Two layers of trees of four leaves, and digits of two bits: 300 hashes. The parts of the digest
 * end within a byte, as in the sets of the standard. */
#define SMALL(title, kind, bytes, len) \
    {.name = title, .hash = kind, .nist_level = 1, .n = bytes, .layers = 2, .height = 2, \
     .fors_height = 3, .fors_trees = 9, .log_w = 2, .chains = len, .digest_bytes = 4 + 1 + 1, \
     .signature_bytes = (1 + 9 * (3 + 1) + 2 * (2 + (len))) * (bytes)}

static const slh_set small_sets[SMALL_SETS] = {
    SMALL("small, SHA-256", SLH_SHA2, 16, 68), SMALL("small, SHA-512", SLH_SHA2, 32, 133),
    SMALL("small, SHAKE256", SLH_SHAKE, 16, 68)};

/* The verifier of a signed message; `set` is NULL for SHRINCS. */
typedef struct {
    const slh_set *set;
    size_t key_bytes, signature_bytes;
    uint8_t *public_key, *signature, *message;
} signed_message;

static size_t below(size_t limit) { return (size_t)(draw() % limit); }

static int is_standard(const slh_set *set) { return set->layers > 1; }

static int verifies(const signed_message *input) {
    const slh_message message = {NULL, 0, input->message, MESSAGE_BYTES};
    if (input->set == NULL) {
        return shrincs_verify(&message, input->signature, input->signature_bytes, NULL, 0,
                              input->public_key);
    }
    return slh_verify(input->set, &message, input->signature, input->public_key);
}

static void require(int good, const char *name) {
    if (!good) {
        fprintf(stderr, "%s: an honest signature does not verify\n", name);
        exit(1);
    }
}

static signed_message signed_with(const slh_set *set) {
    uint8_t *seeds = random_block(3 * set->n), *randomness = random_block(set->n);
    uint8_t *secret_key = block(slh_secret_key_bytes(set));
    const signed_message to = {set, slh_public_key_bytes(set), set->signature_bytes,
                               block(slh_public_key_bytes(set)), block(set->signature_bytes),
                               random_block(MESSAGE_BYTES)};
    const slh_message message = {NULL, 0, to.message, MESSAGE_BYTES};
    slh_keypair(set, to.public_key, secret_key, seeds);
    require(slh_sign(set, to.signature, &message, secret_key, randomness) && verifies(&to),
            set->name);
    free(seeds);
    free(randomness);
    free(secret_key);
    return to;
}

/* Two leaves of an unbalanced tree, one of a balanced tree, and a stateless signature. */
static signed_message shrincs_signed(int kind) {
    const uint8_t structure[2] = {kind == 2 ? SHRINCS_BALANCED : SHRINCS_UNBALANCED,
                                  kind == 2 ? 5 : 70};
    const uint64_t counter = kind == 1 ? 69 : 3;
    const int is_stateless = kind == STATELESS_KIND;
    uint8_t *seed = random_block(SHRINCS_SEED_BYTES), *randomness = random_block(16);
    uint8_t *secret_key = block(SHRINCS_SECRET_KEY_BYTES);
    const size_t bytes =
        is_stateless ? SHRINCS_STATELESS_BYTES : shrincs_stateful_bytes(structure, counter);
    const signed_message to = {NULL, SHRINCS_PUBLIC_KEY_BYTES, bytes,
                               block(SHRINCS_PUBLIC_KEY_BYTES), block(bytes),
                               random_block(MESSAGE_BYTES)};
    const slh_message message = {NULL, 0, to.message, MESSAGE_BYTES};
    require(shrincs_keypair(to.public_key, secret_key, seed, structure) &&
                (is_stateless ? shrincs_sign_stateless(to.signature, &message, NULL, 0, secret_key,
                                                    randomness)
                           : shrincs_sign_stateful(to.signature, &message, NULL, 0, secret_key,
                                                   counter)) &&
                verifies(&to),
            "SHRINCS");
    free(seed);
    free(randomness);
    free(secret_key);
    return to;
}

static void release(signed_message *input) {
    free(input->public_key);
    free(input->signature);
    free(input->message);
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

/* The first byte of a signature of SHRINCS is the height of its leaf, on which its length depends:
 * lengths that fit a damaged height, and others, are as frequent as damaged bytes. */
static void damage_length(signed_message *input) {
    const size_t height = below(256), depth = 255 - height, good_bytes = input->signature_bytes;
    const size_t index = ((depth < 64 ? depth : 64) + 7) / 8;
    size_t bytes = 1 + 16 + index + 2 + 32 * 16 + 16 * depth;
    if (draw() % 4 == 0) {
        bytes = below(2 * SHRINCS_STATELESS_BYTES);
    }
    uint8_t *other = random_block(bytes);
    memcpy(other, input->signature, bytes < good_bytes ? bytes : good_bytes);
    if (bytes > 0) {
        other[0] = (uint8_t)height;
    }
    free(input->signature);
    input->signature = other;
    input->signature_bytes = bytes;
}

/* Returns whether the verdict on a damaged copy is right; counts undamaged copies. */
static int is_judged(const signed_message *good, long *same) {
    signed_message input = *good;
    input.public_key = copy(good->public_key, good->key_bytes);
    input.signature = copy(good->signature, good->signature_bytes);
    input.message = copy(good->message, MESSAGE_BYTES);
    switch (draw() % 8) {
    case 0:
        damage(input.public_key, good->key_bytes);
        break;
    case 1:
        damage(input.message, MESSAGE_BYTES);
        break;
    default:
        if (good->set == NULL && draw() & 1) {
            damage_length(&input);
        } else {
            damage(input.signature, good->signature_bytes);
        }
        break;
    }
    const int equal = memcmp(input.public_key, good->public_key, good->key_bytes) == 0 &&
                      input.signature_bytes == good->signature_bytes &&
                      memcmp(input.signature, good->signature, good->signature_bytes) == 0 &&
                      memcmp(input.message, good->message, MESSAGE_BYTES) == 0;
    const int right = verifies(&input) == equal;
    *same += equal;
    release(&input);
    return right;
}

int main(int count, char **arguments) {
    state = 0x534c48;
    const long rounds = count == 2 ? atol(arguments[1]) : 0;
    signed_message standard[SLH_SETS], small[SMALL_SETS], shrincs[SHRINCS_KINDS];
    size_t sets = 0;
    long same[2] = {0};
    if (rounds < 1) {
        fprintf(stderr, "usage: slhdsa_fuzz NUMBER\n");
        return 2;
    }
    for (size_t i = 0; i < SLH_SETS; i++) {
        if (is_standard(&slh_sets[i])) {
            standard[sets++] = signed_with(&slh_sets[i]);
        }
    }
    for (size_t i = 0; i < SMALL_SETS; i++) {
        small[i] = signed_with(&small_sets[i]);
    }
    for (int kind = 0; kind < SHRINCS_KINDS; kind++) {
        shrincs[kind] = shrincs_signed(kind);
    }
    for (long i = 0; i < rounds; i++) {
        /* A stateless signature of SHRINCS has the decoder of SLH-DSA. */
        const int is_long = i % TURN == 0;
        const signed_message *turn =
            is_long ? &standard[(size_t)(i / TURN) % sets] : &small[i % SMALL_SETS];
        const signed_message *other = &shrincs[is_long ? STATELESS_KIND : i % STATELESS_KIND];
        if (!is_judged(turn, &same[0]) || !is_judged(other, &same[1])) {
            fprintf(stderr, "input %ld: a wrong verdict\n", i);
            return 1;
        }
    }
    for (size_t i = 0; i < sets; i++) {
        release(&standard[i]);
    }
    for (size_t i = 0; i < SMALL_SETS; i++) {
        release(&small[i]);
    }
    for (int kind = 0; kind < SHRINCS_KINDS; kind++) {
        release(&shrincs[kind]);
    }
    printf("%ld inputs each of SLH-DSA and SHRINCS, of which %ld and %ld undamaged; no wrong "
           "verdict\n", rounds, same[0], same[1]);
    return 0;
}
