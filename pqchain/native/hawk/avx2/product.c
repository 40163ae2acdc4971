/* Products in Z[X]/(X^n + 1) modulo 18433, sixteen values at a time. */
#include "../tables.h"
#include "transpose.h"

enum { LANES = 16, BLOCK = LANES * LANES, ROOTS = LANES * (LANES - 1) };

/* Roots of the last four layers, for both sets; those of the way back. */
static int16_t forth[2][PQ_HAWK_N_MAX / BLOCK * ROOTS], back[2][PQ_HAWK_N_MAX / BLOCK * ROOTS];

#define FORTH(m, u) pq_hawk_q_roots[(m) + (u)]
#define BACK(m, u) pq_hawk_q_roots[2 * (m) - 1 - (u)]

__attribute__((constructor(102))) static void arrange(void) {
    for (size_t i = 0; i < 2; i++) {
        HAWK_ARRANGE(forth[i], FORTH, pq_hawk_sets[i].n, (size_t)LANES);
        HAWK_ARRANGE(back[i], BACK, pq_hawk_sets[i].n, (size_t)LANES);
    }
}

static inline __m256i multiply(__m256i a, __m256i b) {
    const __m256i low = _mm256_mullo_epi16(a, b), high = _mm256_mulhi_epi16(a, b);
    const __m256i m = _mm256_mullo_epi16(low, _mm256_set1_epi16((int16_t)(HAWK_Q_INVERSE - 65536)));
    return _mm256_sub_epi16(high, _mm256_mulhi_epi16(m, _mm256_set1_epi16(HAWK_Q)));
}

static inline __m256i centre(__m256i a) {
    const __m256i q = _mm256_set1_epi16(HAWK_Q), half = _mm256_set1_epi16(HAWK_Q / 2);
    const __m256i above = _mm256_cmpgt_epi16(a, half);
    const __m256i below = _mm256_cmpgt_epi16(_mm256_set1_epi16(-(HAWK_Q / 2)), a);
    a = _mm256_sub_epi16(a, _mm256_and_si256(above, q));
    return _mm256_add_epi16(a, _mm256_and_si256(below, q));
}

/* Values stay below 21450: q/2 + (q/2 + 21450 q/2 / 2^16). */
static inline void butterfly(int16_t *low, int16_t *high, __m256i root) {
    const __m256i a = centre(load(low)), t = multiply(load(high), root);
    store(low, _mm256_add_epi16(a, t));
    store(high, _mm256_sub_epi16(a, t));
}

/* Values stay below 12830, sums below 3q/2. */
static inline void butterfly_back(int16_t *low, int16_t *high, __m256i root) {
    const __m256i a = load(low), b = load(high);
    store(low, centre(_mm256_add_epi16(a, b)));
    store(high, multiply(_mm256_sub_epi16(b, a), root));
}

static void transform(const pq_hawk_set *set, int16_t *a, const int8_t *values) {
    const size_t n = set->n;
    for (size_t i = 0; i < n; i += LANES) {
        store(a + i, _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(values + i))));
    }
    for (size_t m = 1, half = n / 2; half >= LANES; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const __m256i root = _mm256_set1_epi16(pq_hawk_q_roots[m + u]);
            int16_t *low = a + 2 * u * half;
            for (size_t i = 0; i < half; i += LANES) {
                butterfly(low + i, low + half + i, root);
            }
        }
    }
    const int16_t *roots = forth[set->log_n - 9];
    for (int16_t *block = a; block < a + n; block += BLOCK) {
        transpose16(block);
        for (size_t m = 1, half = LANES / 2; half > 0; m *= 2, half /= 2) {
            for (size_t u = 0; u < m; u++, roots += LANES) {
                const __m256i root = load(roots);
                int16_t *low = block + 2 * u * half * LANES;
                for (size_t i = 0; i < half; i++) {
                    butterfly(low + i * LANES, low + (half + i) * LANES, root);
                }
            }
        }
    }
}

static void transform_back(const pq_hawk_set *set, int16_t *a) {
    const size_t n = set->n;
    for (size_t b = 0; b < n / BLOCK; b++) {
        int16_t *block = a + b * BLOCK;
        for (size_t m = LANES / 2, half = 1; m > 0; m /= 2, half *= 2) {
            const int16_t *roots = back[set->log_n - 9] + b * ROOTS + (m - 1) * LANES;
            for (size_t u = 0; u < m; u++) {
                const __m256i root = load(roots + u * LANES);
                int16_t *low = block + 2 * u * half * LANES;
                for (size_t i = 0; i < half; i++) {
                    butterfly_back(low + i * LANES, low + (half + i) * LANES, root);
                }
            }
        }
        transpose16(block);
    }
    for (size_t m = n / 2 / LANES, half = LANES; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const __m256i root = _mm256_set1_epi16(pq_hawk_q_roots[2 * m - 1 - u]);
            int16_t *low = a + 2 * u * half;
            for (size_t i = 0; i < half; i += LANES) {
                butterfly_back(low + i, low + half + i, root);
            }
        }
    }
}

void pq_hawk_cross_product(const pq_hawk_set *set, int32_t *w, const int8_t *f, const int8_t *b,
                        const int8_t *g, const int8_t *a) {
    int16_t fv[PQ_HAWK_N_MAX], bv[PQ_HAWK_N_MAX], gv[PQ_HAWK_N_MAX], av[PQ_HAWK_N_MAX];
    const size_t n = set->n;
    transform(set, fv, f);
    transform(set, bv, b);
    transform(set, gv, g);
    transform(set, av, a);
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i first = multiply(centre(load(fv + i)), centre(load(bv + i)));
        const __m256i second = multiply(centre(load(gv + i)), centre(load(av + i)));
        store(fv + i, centre(_mm256_sub_epi16(first, second)));
    }
    transform_back(set, fv);
    const __m256i scale = _mm256_set1_epi16(pq_hawk_q_scale[set->log_n - 9]);
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i value = centre(multiply(load(fv + i), scale));
        store(w + i, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(value)));
        store(w + i + 8, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(value, 1)));
    }
}
