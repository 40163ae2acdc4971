/* The sampler, four values at a time. */
#include "../tables.h"

#include <immintrin.h>

static inline __m256i wide(uint64_t x) { return _mm256_set1_epi64x((long long)x); }

/* x where `odd` is zero, else x ^ difference. */
static inline __m256i choose(uint64_t x, uint64_t other, __m256i odd) {
    return _mm256_xor_si256(wide(x), _mm256_and_si256(odd, wide(x ^ other)));
}

uint32_t pq_hawk_sample(const pq_hawk_set *set, int8_t *x, const uint64_t *parities,
                     const uint64_t *words) {
    const pq_hawk_steps *steps = pq_hawk_steps_of(set);
    const __m256i low_mask = wide(~(uint64_t)0 >> 1), zero = _mm256_setzero_si256();
    const __m256i one = wide(1);
    __m256i norm = zero;
    for (size_t i = 0; i < set->n / 8; i++) { /* sixteen values: 4 j + k in lane j of row k */
        const uint64_t *rows = words + 20 * i;
        const __m256i highs = _mm256_loadu_si256((const __m256i *)(const void *)(rows + 16));
        const __m256i bits = wide(parities[i / 4] >> (16 * (i % 4)));
        __m256i bytes = zero;
        for (int k = 0; k < 4; k++) {
            const __m256i word = _mm256_loadu_si256((const __m256i *)(const void *)(rows + 4 * k));
            const __m256i low = _mm256_and_si256(word, low_mask);
            const __m256i high =
                _mm256_and_si256(_mm256_srli_epi64(highs, 16 * k), wide(0x7fff));
            const __m256i parity = _mm256_and_si256(
                _mm256_srlv_epi64(bits, _mm256_set_epi64x(12 + k, 8 + k, 4 + k, k)), one);
            const __m256i odd = _mm256_sub_epi64(zero, parity);
            const __m256i high_is_zero = _mm256_cmpeq_epi64(high, zero);
            __m256i count = zero; /* minus the number of steps below, in the end */
            __m256i rare = zero;
            for (int s = 0; s < HAWK_HIGH_STEPS; s++) {
                const __m256i step_low = choose(steps->low[0][s], steps->low[1][s], odd);
                const __m256i step_high = choose(steps->high[0][s], steps->high[1][s], odd);
                const __m256i borrow = _mm256_srli_epi64(_mm256_sub_epi64(low, step_low), 63);
                const __m256i rest =
                    _mm256_sub_epi64(_mm256_sub_epi64(high, step_high), borrow);
                count = _mm256_add_epi64(count, _mm256_srli_epi64(rest, 63));
            }
            for (int s = HAWK_HIGH_STEPS; s < HAWK_STEPS; s++) {
                const __m256i step_low = choose(steps->low[0][s], steps->low[1][s], odd);
                rare = _mm256_add_epi64(
                    rare, _mm256_srli_epi64(_mm256_sub_epi64(low, step_low), 63));
            }
            count = _mm256_add_epi64(count, _mm256_and_si256(rare, high_is_zero));
            const __m256i value = _mm256_or_si256(_mm256_add_epi64(count, count), parity);
            norm = _mm256_add_epi64(norm, _mm256_mul_epu32(value, value));
            const __m256i sign = _mm256_cmpgt_epi64(zero, word);
            const __m256i signed_value =
                _mm256_sub_epi64(_mm256_xor_si256(value, sign), sign);
            bytes = _mm256_or_si256(
                bytes, _mm256_slli_epi64(_mm256_and_si256(signed_value, wide(0xff)), 8 * k));
        }
        const __m256i together =
            _mm256_permutevar8x32_epi32(bytes, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
        _mm_storeu_si128((__m128i *)(void *)(x + 16 * i), _mm256_castsi256_si128(together));
    }
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(norm), _mm256_extracti128_si256(norm, 1));
    return (uint32_t)(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
}
