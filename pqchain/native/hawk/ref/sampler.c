/* The sampler, portable. */
#include "../tables.h"

uint32_t pq_hawk_sample(const pq_hawk_set *set, int8_t *x, const uint64_t *parities,
                     const uint64_t *words) {
    const pq_hawk_steps *steps = pq_hawk_steps_of(set);
    const uint64_t low_mask = ~(uint64_t)0 >> 1;
    uint32_t norm = 0;
    for (size_t i = 0; i < 2 * set->n; i++) {
        /* of each 20 words four give 15 more bits to the sixteen others */
        const uint64_t *row = words + 20 * (i / 16) + i % 16 / 4;
        const uint64_t word = row[4 * (i % 4)];
        const uint64_t high = row[16] >> (16 * (i % 4)) & 0x7fff, low = word & low_mask;
        const uint64_t parity = parities[i >> 6] >> (i & 63) & 1, odd = 0u - parity;
        uint32_t count = 0;
        for (int k = 0; k < HAWK_STEPS; k++) {
            const uint64_t step_low =
                steps->low[0][k] ^ (odd & (steps->low[0][k] ^ steps->low[1][k]));
            const uint64_t step_high =
                steps->high[0][k] ^ (odd & (steps->high[0][k] ^ steps->high[1][k]));
            const uint64_t borrow = (low - step_low) >> 63;
            count += (uint32_t)((high - step_high - borrow) >> 63);
        }
        const int32_t value = (int32_t)(2 * count + (uint32_t)parity);
        const int32_t sign = -(int32_t)(word >> 63);
        norm += (uint32_t)(value * value);
        x[i] = (int8_t)((value ^ sign) - sign);
    }
    return norm;
}
