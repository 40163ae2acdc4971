/* Signing (algorithm 15). */
#include "hawk.h"
#include "../shake.h"

#include <string.h>

enum { WORDS = PQ_HAWK_N_MAX / 64, MESSAGE_HASH_BYTES = 64, SAMPLER_SEED_BYTES = 40 };

/* Nonzero words are set to all ones, without a branch. */
static uint32_t nonzero_mask(uint32_t x) { return 0u - ((x | (0u - x)) >> 31); }

/* -1 if the first coefficient of w that is not zero is negative, else 0; without a branch. */
static int32_t leading_sign(const pq_hawk_set *set, const int32_t *w) {
    uint32_t found = 0, sign = 0;
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t is = nonzero_mask((uint32_t)w[i]) & ~found;
        sign |= is & (uint32_t)(w[i] >> 31);
        found |= is;
    }
    return (int32_t)sign;
}

/* Check f G - g F = 1 modulo 2, so that a damaged secret key does not sign. */
static int key_is_whole(const pq_hawk_set *set, const uint64_t *f, const uint64_t *g,
                        const uint64_t *F, const uint64_t *G) {
    uint64_t one[WORDS] = {1}, wrong = 0;
    pq_hawk_binary_multiply_add(set, one, f, G);
    pq_hawk_binary_multiply_add(set, one, g, F);
    for (size_t i = 0; i < set->n / 64; i++) {
        wrong |= one[i];
    }
    DECLASSIFY(&wrong, sizeof wrong);
    return wrong == 0;
}

int pq_hawk_sign(const pq_hawk_set *set, uint8_t *signature, const uint8_t *message,
              size_t message_bytes, const uint8_t *secret_key, pq_hawk_random_fn random_bytes) {
    const size_t n = set->n, words = n / 64;
    int8_t f[PQ_HAWK_N_MAX], g[PQ_HAWK_N_MAX], x[2 * PQ_HAWK_N_MAX];
    int32_t w[PQ_HAWK_N_MAX];
    uint64_t f2[WORDS], g2[WORDS], F2[WORDS], G2[WORDS], h0[WORDS], h1[WORDS], t[2 * WORDS];
    uint64_t stream[4 * (PQ_HAWK_ROWS_MAX + 17)];
    /* M, then seed of the key, counter, fresh bytes: what salt and sampler are hashed from */
    uint8_t seed[MESSAGE_HASH_BYTES + 40 + 4 + SAMPLER_SEED_BYTES];
    uint8_t salt[40], h[PQ_HAWK_N_MAX / 4];
    uint8_t *const counter = seed + MESSAGE_HASH_BYTES + set->seed_bytes, *const fresh = counter + 4;
    const uint8_t *const F_bytes = secret_key + set->seed_bytes;
    pq_shake shake;

    pq_hawk_regenerate(set, f, g, secret_key);
    pq_hawk_parity(set, f2, f);
    pq_hawk_parity(set, g2, g);
    pq_hawk_load_bits(set, F2, F_bytes);
    pq_hawk_load_bits(set, G2, F_bytes + n / 8);
    if (!key_is_whole(set, f2, g2, F2, G2)) {
        return 0;
    }
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, message, message_bytes);
    pq_shake_absorb(&shake, F_bytes + n / 4, set->public_hash_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, seed, MESSAGE_HASH_BYTES);
    memcpy(seed + MESSAGE_HASH_BYTES, secret_key, set->seed_bytes);

    for (uint32_t attempt = 0;; attempt += 2) {
        for (int i = 0; i < 4; i++) {
            counter[i] = (uint8_t)(attempt >> (8 * i));
        }
        random_bytes(fresh, set->salt_bytes);
        pq_shake_start(&shake);
        pq_shake_absorb(&shake, seed, (size_t)(fresh - seed) + set->salt_bytes);
        pq_shake_finish(&shake);
        pq_shake_squeeze(&shake, salt, set->salt_bytes);

        pq_shake_start(&shake);
        pq_shake_absorb(&shake, seed, MESSAGE_HASH_BYTES);
        pq_shake_absorb(&shake, salt, set->salt_bytes);
        pq_shake_finish(&shake);
        pq_shake_squeeze(&shake, h, n / 4);
        pq_hawk_load_bits(set, h0, h);
        pq_hawk_load_bits(set, h1, h + n / 8);

        /* t = B h modulo 2 gives the parity of each sample */
        memset(t, 0, sizeof t);
        pq_hawk_binary_multiply_add(set, t, f2, h0);
        pq_hawk_binary_multiply_add(set, t, F2, h1);
        pq_hawk_binary_multiply_add(set, t + words, g2, h0);
        pq_hawk_binary_multiply_add(set, t + words, G2, h1);

        counter[0] |= 1;
        random_bytes(fresh, SAMPLER_SEED_BYTES);
        pq_hawk_shake256_x4(stream, n * 5 / 8, seed, (size_t)(fresh - seed) + SAMPLER_SEED_BYTES);
        uint32_t norm = pq_hawk_sample(set, x, t, stream);
        DECLASSIFY(&norm, sizeof norm);
        if (norm > set->verify_norm) {
            continue;
        }

        /* w1 = f x1 - g x0, with the sign that the verifier expects */
        pq_hawk_cross_product(set, w, f, x + n, g, x);
        const int32_t sign = leading_sign(set, w);
        for (size_t i = 0; i < n; i++) {
            const int32_t bit = (int32_t)(h1[i >> 6] >> (i & 63) & 1);
            w[i] = (bit - ((w[i] ^ sign) - sign)) >> 1; /* s1; the difference is even */
        }
        DECLASSIFY(w, sizeof w);
        DECLASSIFY(salt, sizeof salt);
        if (pq_hawk_encode_signature(set, signature, salt, w)) {
            return 1;
        }
    }
}
