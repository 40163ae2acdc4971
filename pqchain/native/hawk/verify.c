/* Verification (algorithm 20). */
#include "hawk.h"
#include "../shake.h"

int pq_hawk_decode_key(const pq_hawk_set *set, pq_hawk_key *key, const uint8_t *public_key) {
    pq_shake shake;
    if (!pq_hawk_decode_public(set, public_key, key->q00, key->q01)) {
        return 0;
    }
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, public_key, set->public_key_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, key->hash, set->public_hash_bytes);
    return 1;
}

int pq_hawk_verify(const pq_hawk_set *set, const uint8_t *message, size_t message_bytes,
                const uint8_t *signature, const uint8_t *public_key) {
    pq_hawk_key key;
    return pq_hawk_decode_key(set, &key, public_key) &&
           pq_hawk_verify_decoded(set, message, message_bytes, signature, &key);
}

int pq_hawk_verify_decoded(const pq_hawk_set *set, const uint8_t *message, size_t message_bytes,
                        const uint8_t *signature, const pq_hawk_key *key) {
    const size_t n = set->n;
    const int32_t *q00 = key->q00, *q01 = key->q01;
    int32_t w0[PQ_HAWK_N_MAX], w1[PQ_HAWK_N_MAX];
    uint64_t h0[PQ_HAWK_N_MAX / 64], h1[PQ_HAWK_N_MAX / 64];
    uint8_t digest[64], h[PQ_HAWK_N_MAX / 4];
    uint32_t norm[PQ_HAWK_PRIMES];
    pq_shake shake;

    if (!pq_hawk_decode_signature(set, signature, w1)) {
        return 0;
    }
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, message, message_bytes);
    pq_shake_absorb(&shake, key->hash, set->public_hash_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, digest, sizeof digest);
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, digest, sizeof digest);
    pq_shake_absorb(&shake, signature, set->salt_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, h, n / 4);
    pq_hawk_load_bits(set, h0, h);
    pq_hawk_load_bits(set, h1, h + n / 8);

    int32_t first = 0;
    for (size_t i = 0; i < n; i++) {
        w1[i] = (int32_t)(h1[i >> 6] >> (i & 63) & 1) - 2 * w1[i];
        first = first != 0 ? first : w1[i];
    }
    if (first <= 0) { /* only one of w and -w is valid */
        return 0;
    }
    if (!pq_hawk_rebuild(set, w0, q00, q01, w1, h0)) {
        return 0;
    }
    for (unsigned prime = 0; prime < PQ_HAWK_PRIMES; prime++) {
        if (!pq_hawk_norm(set, &norm[prime], q00, q01, w0, w1, prime)) {
            return 0;
        }
    }
    /* n times the norm is below both primes for every honest signature */
    return norm[0] == norm[1] && norm[0] % n == 0 && norm[0] / n <= set->verify_norm;
}
