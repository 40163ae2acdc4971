/* The norm under Q modulo a 31-bit prime, eight values at a time; see ref/norm.c. */
#include "../tables.h"
#include "transpose.h"

enum { LANES = 8, BLOCK = LANES * LANES, ROOTS = LANES * (LANES - 1) };

static uint32_t arranged[PQ_HAWK_PRIMES][2][PQ_HAWK_N_MAX / BLOCK * ROOTS];

__attribute__((constructor(102))) static void arrange(void) {
    for (size_t k = 0; k < PQ_HAWK_PRIMES; k++) {
        const uint32_t *from = pq_hawk_primes[k].roots;
#define ROOT(m, u) from[(m) + (u)]
        for (size_t i = 0; i < 2; i++) {
            HAWK_ARRANGE(arranged[k][i], ROOT, pq_hawk_sets[i].n, (size_t)LANES);
        }
    }
}

typedef struct {
    __m256i p, minus_inverse;
} modulus;

static inline __m256i reduced(__m256i a, __m256i p) { /* from below 2p */
    return _mm256_min_epu32(a, _mm256_sub_epi32(a, p));
}

static inline __m256i add(__m256i a, __m256i b, modulus by) {
    return reduced(_mm256_add_epi32(a, b), by.p);
}

static inline __m256i subtract(__m256i a, __m256i b, modulus by) {
    const __m256i difference = _mm256_sub_epi32(a, b);
    return _mm256_min_epu32(difference, _mm256_add_epi32(difference, by.p));
}

static inline __m256i multiply(__m256i a, __m256i b, modulus by) {
    __m256i even = _mm256_mul_epu32(a, b);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    const __m256i even_m = _mm256_mul_epu32(even, by.minus_inverse);
    const __m256i odd_m = _mm256_mul_epu32(odd, by.minus_inverse);
    even = _mm256_add_epi64(even, _mm256_mul_epu32(even_m, by.p));
    odd = _mm256_add_epi64(odd, _mm256_mul_epu32(odd_m, by.p));
    return reduced(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa), by.p);
}

static inline void butterfly(uint32_t *low, uint32_t *high, __m256i root, modulus by) {
    const __m256i a = load(low), t = multiply(load(high), root, by);
    store(low, add(a, t, by));
    store(high, subtract(a, t, by));
}

static void transform(const pq_hawk_set *set, uint32_t *a, const int32_t *values, unsigned prime,
                      modulus by) {
    const size_t n = set->n;
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i value = load(values + i);
        store(a + i, _mm256_add_epi32(value, _mm256_and_si256(_mm256_srai_epi32(value, 31), by.p)));
    }
    for (size_t m = 1, half = n / 2; half >= LANES; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const __m256i root = _mm256_set1_epi32((int32_t)pq_hawk_primes[prime].roots[m + u]);
            uint32_t *low = a + 2 * u * half;
            for (size_t i = 0; i < half; i += LANES) {
                butterfly(low + i, low + half + i, root, by);
            }
        }
    }
    const uint32_t *roots = arranged[prime][set->log_n - 9];
    for (uint32_t *block = a; block < a + n; block += BLOCK) {
        transpose32(block);
        for (size_t m = 1, half = LANES / 2; half > 0; m *= 2, half /= 2) {
            for (size_t u = 0; u < m; u++, roots += LANES) {
                const __m256i root = load(roots);
                uint32_t *low = block + 2 * u * half * LANES;
                for (size_t i = 0; i < half; i++) {
                    butterfly(low + i * LANES, low + (half + i) * LANES, root, by);
                }
            }
        }
    }
}

static __m256i invert(__m256i a, const pq_hawk_prime *prime, modulus by) {
    __m256i result = a;
    for (int bit = 29; bit >= 0; bit--) { /* bit 30 of p - 2 is set */
        result = multiply(result, result, by);
        if ((prime->p - 2) >> bit & 1) {
            result = multiply(result, a, by);
        }
    }
    return result;
}

/* Vector i of n/8, transposed or not, has its adjoint in vector n/8 - 1 - i, lanes reversed. */
static inline __m256i adjoint(const uint32_t *a, size_t n, size_t i) {
    return _mm256_permutevar8x32_epi32(load(a + n - LANES - i),
                                       _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

int pq_hawk_norm(const pq_hawk_set *set, uint32_t *norm, const int32_t *q00, const int32_t *q01,
              const int32_t *w0, const int32_t *w1, unsigned prime_number) {
    const pq_hawk_prime *prime = &pq_hawk_primes[prime_number];
    const modulus by = {_mm256_set1_epi32((int32_t)prime->p),
                        _mm256_set1_epi32((int32_t)prime->minus_inverse)};
    const __m256i inverse_r = _mm256_set1_epi32((int32_t)prime->inverse_r);
    const size_t n = set->n, half = n / 2;
    uint32_t a[PQ_HAWK_N_MAX], b[PQ_HAWK_N_MAX], c[PQ_HAWK_N_MAX], d[PQ_HAWK_N_MAX];
    uint32_t running[PQ_HAWK_N_MAX / 2];
    transform(set, a, q00, prime_number, by);
    transform(set, b, q01, prime_number, by);
    transform(set, c, w0, prime_number, by);
    transform(set, d, w1, prime_number, by);
    for (size_t i = 0; i < n; i += LANES) {
        store(c + i, subtract(multiply(load(b + i), load(d + i), by),
                              multiply(load(a + i), load(c + i), by), by));
    }
    __m256i product = load(a);
    for (size_t i = LANES; i < half; i += LANES) {
        store(running + i, product);
        product = multiply(product, load(a + i), by);
    }
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(product, _mm256_setzero_si256())) != 0) {
        return 0;
    }
    __m256i inverse = invert(product, prime, by), total = _mm256_setzero_si256();
    for (size_t i = half; i > 0;) {
        i -= LANES;
        const __m256i own = i > 0 ? multiply(inverse, load(running + i), by) : inverse;
        inverse = multiply(inverse, load(a + i), by);
        const __m256i ww = multiply(load(d + i), adjoint(d, n, i), by);
        const __m256i top = add(multiply(load(c + i), adjoint(c, n, i), by),
                                multiply(ww, inverse_r, by), by);
        total = add(total, multiply(top, own, by), by);
    }
    uint32_t lanes[LANES], sum = 0;
    store(lanes, total);
    for (size_t i = 0; i < LANES; i++) {
        sum = pq_hawk_mod_add(sum, lanes[i], prime->p);
    }
    sum = pq_hawk_mod_multiply(pq_hawk_mod_multiply(sum, prime->r2, prime), prime->r2, prime);
    *norm = pq_hawk_mod_add(sum, sum, prime->p);
    return 1;
}
