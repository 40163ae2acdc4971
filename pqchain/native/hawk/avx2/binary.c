/* Products in F2[X]/(X^n + 1) with the processor's carry-less multiplication. */
#include "../hawk.h"

#include <immintrin.h>

void pq_hawk_binary_multiply_add(const pq_hawk_set *set, uint64_t *sum, const uint64_t *a,
                              const uint64_t *b) {
    const size_t words = set->n / 64;
    uint64_t product[PQ_HAWK_N_MAX / 64 + 1];
    for (size_t i = 0; i < words; i++) {
        product[i] = sum[i];
    }
    product[words] = 0;
    for (size_t k = 0; k < words; k++) { /* word k: i + j = k or k + words */
        __m128i total = _mm_setzero_si128();
        for (size_t i = 0; i < words; i++) {
            const size_t j = (k + words - i) % words;
            total = _mm_xor_si128(
                total, _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a[i]),
                                            _mm_cvtsi64_si128((long long)b[j]), 0));
        }
        product[k] ^= (uint64_t)_mm_cvtsi128_si64(total);
        product[k + 1] ^= (uint64_t)_mm_extract_epi64(total, 1);
    }
    product[0] ^= product[words];
    for (size_t i = 0; i < words; i++) {
        sum[i] = product[i];
    }
}
