/* The nearest w0, eight points at a time; bit for bit what ref/rebuild.c gives. */
#include "../rebuild.h"
#include "transpose.h"

enum { LANES = 8, BLOCK = LANES * LANES, ROOTS = LANES * (LANES - 1) };

static int32_t cosines[2][HAWK_COMPLEX_MAX / BLOCK * ROOTS];
static int32_t sines[2][HAWK_COMPLEX_MAX / BLOCK * ROOTS];

#define COSINE(m, u) pq_hawk_cos31[(m) + (u)]
#define SINE(m, u) pq_hawk_sin31[(m) + (u)]

__attribute__((constructor(102))) static void arrange(void) {
    for (size_t i = 0; i < 2; i++) {
        HAWK_ARRANGE(cosines[i], COSINE, pq_hawk_sets[i].n / 2, (size_t)LANES);
        HAWK_ARRANGE(sines[i], SINE, pq_hawk_sets[i].n / 2, (size_t)LANES);
    }
}

static inline __m256i odd_lanes(__m256i a) { return _mm256_srli_epi64(a, 32); }

/* The middle 32 bits of 64-bit sums: (x + 2^30) >> 31, of even lanes and odd ones. */
static inline __m256i shortened(__m256i even, __m256i odd) {
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    return _mm256_blend_epi32(_mm256_srli_epi64(_mm256_add_epi64(even, half), 31),
                              _mm256_slli_epi64(_mm256_add_epi64(odd, half), 1), 0xaa);
}

/* (x + i y) (c + i s). */
static inline void rotate(__m256i *x, __m256i *y, __m256i c, __m256i s) {
    const __m256i x1 = odd_lanes(*x), y1 = odd_lanes(*y), c1 = odd_lanes(c), s1 = odd_lanes(s);
    const __m256i re0 = _mm256_sub_epi64(_mm256_mul_epi32(*x, c), _mm256_mul_epi32(*y, s));
    const __m256i re1 = _mm256_sub_epi64(_mm256_mul_epi32(x1, c1), _mm256_mul_epi32(y1, s1));
    const __m256i im0 = _mm256_add_epi64(_mm256_mul_epi32(*x, s), _mm256_mul_epi32(*y, c));
    const __m256i im1 = _mm256_add_epi64(_mm256_mul_epi32(x1, s1), _mm256_mul_epi32(y1, c1));
    *x = shortened(re0, re1);
    *y = shortened(im0, im1);
}

static inline __m256i half_of(__m256i a) {
    return _mm256_srai_epi32(_mm256_add_epi32(a, _mm256_set1_epi32(1)), 1);
}

static inline void butterfly(int32_t *re, int32_t *im, size_t distance, __m256i c, __m256i s) {
    __m256i x = load(re + distance), y = load(im + distance);
    const __m256i a = load(re), b = load(im);
    rotate(&x, &y, c, s);
    store(re, half_of(_mm256_add_epi32(a, x)));
    store(im, half_of(_mm256_add_epi32(b, y)));
    store(re + distance, half_of(_mm256_sub_epi32(a, x)));
    store(im + distance, half_of(_mm256_sub_epi32(b, y)));
}

static inline void butterfly_back(int32_t *re, int32_t *im, size_t distance, __m256i c,
                                  __m256i s) {
    const __m256i a = load(re), b = load(im), d = load(re + distance), e = load(im + distance);
    __m256i x = half_of(_mm256_sub_epi32(a, d)), y = half_of(_mm256_sub_epi32(b, e));
    store(re, half_of(_mm256_add_epi32(a, d)));
    store(im, half_of(_mm256_add_epi32(b, e)));
    rotate(&x, &y, c, _mm256_sub_epi32(_mm256_setzero_si256(), s));
    store(re + distance, x);
    store(im + distance, y);
}

static void transform(unsigned log_n, int32_t *re, int32_t *im) {
    const size_t points = (size_t)1 << (log_n - 1);
    for (size_t m = 1, half = points / 2; half >= LANES; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const __m256i c = _mm256_set1_epi32(pq_hawk_cos31[m + u]);
            const __m256i s = _mm256_set1_epi32(pq_hawk_sin31[m + u]);
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i += LANES) {
                butterfly(re + i, im + i, half, c, s);
            }
        }
    }
    const int32_t *c = cosines[log_n - 9], *s = sines[log_n - 9];
    for (size_t block = 0; block < points; block += BLOCK) {
        transpose32(re + block);
        transpose32(im + block);
        for (size_t m = 1, half = LANES / 2; half > 0; m *= 2, half /= 2) {
            for (size_t u = 0; u < m; u++, c += LANES, s += LANES) {
                for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                    butterfly(re + block + i * LANES, im + block + i * LANES, half * LANES,
                              load(c), load(s));
                }
            }
        }
    }
}

static void transform_back(unsigned log_n, int32_t *re, int32_t *im) {
    const size_t points = (size_t)1 << (log_n - 1);
    for (size_t b = 0; b < points / BLOCK; b++) {
        for (size_t m = LANES / 2, half = 1; m > 0; m /= 2, half *= 2) {
            const int32_t *c = cosines[log_n - 9] + b * ROOTS + (m - 1) * LANES;
            const int32_t *s = sines[log_n - 9] + b * ROOTS + (m - 1) * LANES;
            for (size_t u = 0; u < m; u++, c += LANES, s += LANES) {
                for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                    butterfly_back(re + b * BLOCK + i * LANES, im + b * BLOCK + i * LANES,
                                   half * LANES, load(c), load(s));
                }
            }
        }
        transpose32(re + b * BLOCK);
        transpose32(im + b * BLOCK);
    }
    for (size_t m = points / 2 / LANES, half = LANES; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const __m256i c = _mm256_set1_epi32(pq_hawk_cos31[m + u]);
            const __m256i s = _mm256_set1_epi32(pq_hawk_sin31[m + u]);
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i += LANES) {
                butterfly_back(re + i, im + i, half, c, s);
            }
        }
    }
}

int pq_hawk_rebuild(const pq_hawk_set *set, int32_t *w0, const int32_t *q00, const int32_t *q01,
                 const int32_t *w1, const uint64_t *h0) {
    return pq_hawk_rebuild_with(transform, transform_back, set, w0, q00, q01, w1, h0);
}
