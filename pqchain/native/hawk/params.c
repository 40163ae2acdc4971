/* Derivation of f and g from a seed. */
#include "hawk.h"

#include <string.h>

void pq_hawk_regenerate(const pq_hawk_set *set, int8_t *f, int8_t *g, const uint8_t *seed) {
    uint64_t words[4 * (PQ_HAWK_N_MAX / 8 + 17)];
    const size_t n = set->n;
    const unsigned bits = (unsigned)(n / 64); /* of each centred binomial value: 8 or 16 */
    const uint64_t mask = bits == 8 ? 0x0101010101010101u : 0x0001000100010001u;
    const size_t per_word = 64 / bits;
    pq_hawk_shake256_x4(words, 2 * n * bits / 256, seed, set->seed_bytes);
    for (size_t i = 0; i < 2 * n; i += per_word) {
        uint64_t sums = 0;
        for (unsigned j = 0; j < bits; j++) {
            sums += words[i / per_word] >> j & mask;
        }
        for (size_t j = 0; j < per_word; j++, sums >>= bits) {
            const int8_t value = (int8_t)((int)(sums & 31) - (int)bits / 2);
            if (i + j < n) {
                f[i + j] = value;
            } else {
                g[i + j - n] = value;
            }
        }
    }
}

void pq_hawk_parity(const pq_hawk_set *set, uint64_t *bits, const int8_t *values) {
    for (size_t i = 0; i < set->n / 64; i++) {
        uint64_t word = 0;
        for (size_t j = 0; j < 64; j++) {
            word |= (uint64_t)(values[64 * i + j] & 1) << j;
        }
        bits[i] = word;
    }
}

void pq_hawk_load_bits(const pq_hawk_set *set, uint64_t *bits, const uint8_t *bytes) {
    for (size_t i = 0; i < set->n / 64; i++) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8; j++) {
            word |= (uint64_t)bytes[8 * i + j] << (8 * j);
        }
        bits[i] = word;
    }
}

void pq_hawk_store_bits(const pq_hawk_set *set, uint8_t *bytes, const uint64_t *bits) {
    for (size_t i = 0; i < set->n / 8; i++) {
        bytes[i] = (uint8_t)(bits[i / 8] >> (8 * (i % 8)));
    }
}
