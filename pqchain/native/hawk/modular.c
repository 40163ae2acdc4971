/* Transforms of Z[X]/(X^n + 1) modulo a 31-bit prime, portable. */
#include "tables.h"

void pq_hawk_mod_transform(const pq_hawk_set *set, uint32_t *a, const pq_hawk_prime *prime) {
    const uint32_t p = prime->p;
    for (size_t m = 1, half = set->n / 2; m < set->n; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const uint32_t root = prime->roots[m + u];
            uint32_t *low = a + 2 * u * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const uint32_t t = pq_hawk_mod_multiply(high[i], root, prime);
                high[i] = pq_hawk_mod_subtract(low[i], t, p);
                low[i] = pq_hawk_mod_add(low[i], t, p);
            }
        }
    }
}

void pq_hawk_mod_transform_back(const pq_hawk_set *set, uint32_t *a, const pq_hawk_prime *prime) {
    const uint32_t p = prime->p;
    for (size_t m = set->n / 2, half = 1; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const uint32_t root = prime->roots[2 * m - 1 - u]; /* -1 / entry m + u */
            uint32_t *low = a + 2 * u * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const uint32_t t = pq_hawk_mod_subtract(high[i], low[i], p);
                low[i] = pq_hawk_mod_add(low[i], high[i], p);
                high[i] = pq_hawk_mod_multiply(t, root, prime);
            }
        }
    }
    /* 1/n = -(p - 1)/n; times R^2, since the multiplication divides by R and so does the caller's */
    const uint32_t scale = pq_hawk_mod_multiply(
        pq_hawk_mod_multiply(p - (p - 1) / (uint32_t)set->n, prime->r2, prime), prime->r2, prime);
    for (size_t i = 0; i < set->n; i++) {
        a[i] = pq_hawk_mod_multiply(a[i], scale, prime);
    }
}
