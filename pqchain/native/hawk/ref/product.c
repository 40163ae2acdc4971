/* Products in Z[X]/(X^n + 1) modulo 18433, portable. */
#include "../tables.h"

/* From values below 2^8 to values at the roots, in [-q/2, q/2]. */
static void transform(const pq_hawk_set *set, int32_t *a, const int8_t *values) {
    for (size_t i = 0; i < set->n; i++) {
        a[i] = values[i];
    }
    for (size_t m = 1, half = set->n / 2; m < set->n; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const int32_t root = pq_hawk_q_roots[m + u];
            int32_t *low = a + 2 * u * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const int32_t t = pq_hawk_q_multiply(high[i], root);
                high[i] = pq_hawk_q_centre(low[i] - t);
                low[i] = pq_hawk_q_centre(low[i] + t);
            }
        }
    }
}

static void transform_back(const pq_hawk_set *set, int32_t *a) {
    for (size_t m = set->n / 2, half = 1; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const int32_t root = pq_hawk_q_roots[2 * m - 1 - u]; /* - 1 / entry m + u */
            int32_t *low = a + 2 * u * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const int32_t t = high[i] - low[i];
                low[i] = pq_hawk_q_centre(low[i] + high[i]);
                high[i] = pq_hawk_q_centre(pq_hawk_q_multiply(t, root));
            }
        }
    }
    for (size_t i = 0; i < set->n; i++) {
        a[i] = pq_hawk_q_centre(pq_hawk_q_multiply(a[i], pq_hawk_q_scale[set->log_n - 9]));
    }
}

/* The product modulo q is the product over the integers: by Cauchy and Schwarz no coefficient of
 * Hawk-512 exceeds 4400; for Hawk-1024 one above q/2 lies 39 standard deviations out. */
void pq_hawk_cross_product(const pq_hawk_set *set, int32_t *w, const int8_t *f, const int8_t *b,
                        const int8_t *g, const int8_t *a) {
    int32_t first[PQ_HAWK_N_MAX], second[PQ_HAWK_N_MAX];
    transform(set, first, f);
    transform(set, second, b);
    for (size_t i = 0; i < set->n; i++) {
        w[i] = pq_hawk_q_multiply(first[i], second[i]);
    }
    transform(set, first, g);
    transform(set, second, a);
    for (size_t i = 0; i < set->n; i++) {
        w[i] = pq_hawk_q_centre(w[i] - pq_hawk_q_multiply(first[i], second[i]));
    }
    transform_back(set, w);
}
