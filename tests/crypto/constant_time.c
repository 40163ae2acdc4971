/* Check of constant-time signing, to be run under valgrind's memcheck.
 *
 *     valgrind --error-exitcode=9 constant_time NUMBER     number of signatures
 *     valgrind --error-exitcode=9 constant_time leak       must fail: a branch on a secret
 *
 * Secret keys and the randomness of signing are marked as undefined. Memcheck then reports each
 * branch and each address that depends on them, through whatever was computed in between. What
 * becomes public is declared in the code, with DECLASSIFY. Built for Hawk, or with -DRAINBOW or -DSLHDSA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#ifdef RAINBOW
#include "../../pqchain/native/rainbow/rainbow.h"
#elif defined(SLHDSA)
#include "../../pqchain/native/slhdsa/shrincs.h"
#else
#include "../../pqchain/native/hawk/hawk.h"
#endif

static uint64_t state = 0x636f6e7374;

static void draw(uint8_t *buffer, size_t bytes) { /* splitmix64 */
    for (size_t i = 0; i < bytes; i++) {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        buffer[i] = (uint8_t)(z ^ (z >> 31));
    }
}

static _Noreturn void stop(const char *what) {
    fprintf(stderr, "constant_time: %s\n", what);
    exit(1);
}

static void make_secret(void *memory, size_t bytes) { (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes); }

static void make_public(void *memory, size_t bytes) { (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes); }

#ifdef RAINBOW

/* Any bytes are a key; other tests check that signatures verify. */
static void sign_once(void) {
    static rainbow_secret_key key;
    uint8_t message[33], signature[SIGNATURE_BYTES];
    draw((uint8_t *)&key, sizeof key);
    draw(message, sizeof message);
    make_secret(&key, sizeof key);
    if (!rainbow_sign(signature, message, sizeof message, &key)) {
        stop("no signature");
    }
    make_public(&key, sizeof key);
}

#elif defined(SLHDSA)

/* Keys are made from undefined seeds; PK.seed, the last of the three, is public. */
static void sign_with(const slh_set *set) {
    const size_t n = set->n;
    uint8_t seeds[96], randomness[32], public_key[64], key[128], text[33];
    uint8_t *signature = malloc(set->signature_bytes);
    const slh_message message = {NULL, 0, text, sizeof text};
    if (signature == NULL) {
        stop("no memory");
    }
    draw(seeds, sizeof seeds);
    draw(randomness, sizeof randomness);
    draw(text, sizeof text);
    make_secret(seeds, 2 * n);
    make_secret(randomness, sizeof randomness);
    slh_keypair(set, public_key, key, seeds);
    if (!slh_sign(set, signature, &message, key, randomness)) {
        stop("no signature");
    }
    make_public(signature, set->signature_bytes);
    if (!slh_verify(set, &message, signature, public_key)) {
        stop("the signature does not verify");
    }
    free(signature);
}

/* SHRINCS: a leaf of the stateful tree, and without state. PK.seed, the last third of the seed, is
 * public, and so is the structure of the tree. */
static void sign_shrincs(shrincs_shape shape) {
    const uint8_t structure[2] = {(uint8_t)shape, shape == SHRINCS_BALANCED ? 4 : 9};
    uint8_t seed[SHRINCS_SEED_BYTES], randomness[16], text[33];
    uint8_t public_key[SHRINCS_PUBLIC_KEY_BYTES], key[SHRINCS_SECRET_KEY_BYTES];
    uint8_t signature[SHRINCS_STATELESS_BYTES];
    const size_t stateful_bytes = shrincs_stateful_bytes(structure, 5);
    const slh_message message = {NULL, 0, text, sizeof text};
    draw(seed, sizeof seed);
    draw(randomness, sizeof randomness);
    draw(text, sizeof text);
    make_secret(seed, 32);
    make_secret(randomness, sizeof randomness);
    if (!shrincs_keypair(public_key, key, seed, structure) ||
        !shrincs_sign_stateful(signature, &message, NULL, 0, key, 5)) {
        stop("no stateful signature");
    }
    make_public(signature, stateful_bytes);
    if (!shrincs_verify(&message, signature, stateful_bytes, NULL, 0, public_key)) {
        stop("the stateful signature does not verify");
    }
    if (shape == SHRINCS_BALANCED) {
        return; /* the stateless key is the same for both shapes, and takes most of the time */
    }
    if (!shrincs_sign_stateless(signature, &message, NULL, 0, key, randomness)) {
        stop("no stateless signature");
    }
    make_public(signature, sizeof signature);
    if (!shrincs_verify(&message, signature, sizeof signature, NULL, 0, public_key)) {
        stop("the stateless signature does not verify");
    }
}

static void sign_once(void) { /* each of the three hash functions of a node */
    for (size_t i = 0; i < SLH_SETS; i++) {
        const char *name = slh_sets[i].name;
        if (strstr(name, "-128f") != NULL || strcmp(name, "SLH-DSA-SHA2-192f") == 0) {
            sign_with(&slh_sets[i]);
        }
    }
    sign_shrincs(SHRINCS_UNBALANCED);
    sign_shrincs(SHRINCS_BALANCED);
}

#else

static void draw_secret(uint8_t *buffer, size_t bytes) {
    draw(buffer, bytes);
    make_secret(buffer, bytes);
}

static void sign_with(const pq_hawk_set *set) {
    uint8_t *public_key = malloc(set->public_key_bytes), *key = malloc(set->secret_key_bytes);
    uint8_t *signature = malloc(set->signature_bytes), message[33];
    if (public_key == NULL || key == NULL || signature == NULL) {
        stop("no memory");
    }
    draw(message, sizeof message);
    if (!pq_hawk_keypair(set, public_key, key, draw)) {
        stop("no key");
    }
    /* The hash of the public key at the end of the secret key is not secret. */
    make_secret(key, set->secret_key_bytes - set->public_hash_bytes);
    if (!pq_hawk_sign(set, signature, message, sizeof message, key, draw_secret)) {
        stop("no signature");
    }
    make_public(signature, set->signature_bytes);
    if (!pq_hawk_verify(set, message, sizeof message, signature, public_key)) {
        stop("the signature does not verify");
    }
    free(public_key);
    free(key);
    free(signature);
}

static void sign_once(void) {
    sign_with(&pq_hawk_sets[0]);
    sign_with(&pq_hawk_sets[1]);
}

#endif

/* A control: memcheck must report this branch. */
static int leak(void) {
    volatile uint8_t secret = 1;
    make_secret((void *)&secret, sizeof secret);
    return secret & 1 ? puts("odd") : puts("even");
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "leak") == 0) {
        return leak() < 0;
    }
    const long rounds = count == 2 ? atol(arguments[1]) : 0;
    if (rounds < 1) {
        stop("give a number of signatures, or leak");
    }
    for (long i = 0; i < rounds; i++) {
        sign_once();
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
