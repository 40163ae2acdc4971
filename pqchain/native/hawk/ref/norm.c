/* The norm under Q modulo a 31-bit prime, portable. */
#include "../tables.h"

static void transform(const pq_hawk_set *set, uint32_t *a, const int32_t *values,
                      const pq_hawk_prime *prime) {
    for (size_t i = 0; i < set->n; i++) {
        a[i] = pq_hawk_mod_set(values[i], prime->p);
    }
    pq_hawk_mod_transform(set, a, prime);
}

/* The norm is the sum over the roots of (e e* + w1 w1*) / q00 with e = q01 w1 - q00 w0, because
 * q00 q11 - q01 q01* = 1. The adjoint at entry i is the value at entry n - 1 - i, so both halves
 * of the sum are equal. */
int pq_hawk_norm(const pq_hawk_set *set, uint32_t *norm, const int32_t *q00, const int32_t *q01,
              const int32_t *w0, const int32_t *w1, unsigned prime_number) {
    const pq_hawk_prime *prime = &pq_hawk_primes[prime_number];
    const uint32_t p = prime->p;
    const size_t n = set->n, half = n / 2;
    uint32_t a[PQ_HAWK_N_MAX], b[PQ_HAWK_N_MAX], c[PQ_HAWK_N_MAX], d[PQ_HAWK_N_MAX];
    uint32_t running[PQ_HAWK_N_MAX / 2];
    transform(set, a, q00, prime);
    transform(set, b, q01, prime);
    transform(set, c, w0, prime);
    transform(set, d, w1, prime);
    for (size_t i = 0; i < n; i++) { /* c <- e / R */
        c[i] = pq_hawk_mod_subtract(pq_hawk_mod_multiply(b[i], d[i], prime),
                                 pq_hawk_mod_multiply(a[i], c[i], prime), p);
    }
    uint32_t product = a[0];
    for (size_t i = 1; i < half; i++) {
        running[i] = product;
        product = pq_hawk_mod_multiply(product, a[i], prime);
    }
    if (product == 0) {
        return 0;
    }
    /* One inversion for all: `inverse` is that of a[0] .. a[i], step by step. */
    uint32_t inverse = pq_hawk_mod_invert(product, prime), sum = 0;
    for (size_t i = half; i-- > 0;) {
        const uint32_t own = i > 0 ? pq_hawk_mod_multiply(inverse, running[i], prime) : inverse;
        inverse = pq_hawk_mod_multiply(inverse, a[i], prime);
        const uint32_t ww = pq_hawk_mod_multiply(d[i], d[n - 1 - i], prime);
        const uint32_t top = pq_hawk_mod_add(pq_hawk_mod_multiply(c[i], c[n - 1 - i], prime),
                                          pq_hawk_mod_multiply(ww, prime->inverse_r, prime), p);
        sum = pq_hawk_mod_add(sum, pq_hawk_mod_multiply(top, own, prime), p);
    }
    /* `own` is R^2 / a, `top` the true one over R^3, so the sum lacks R^2 */
    sum = pq_hawk_mod_multiply(pq_hawk_mod_multiply(sum, prime->r2, prime), prime->r2, prime);
    *norm = pq_hawk_mod_add(sum, sum, p);
    return 1;
}
