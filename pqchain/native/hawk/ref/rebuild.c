/* The nearest w0, portable: a complex transform in 32-bit fixed point. */
#include "../rebuild.h"

/* Polynomial modulo X^n + 1 to its values at half of the roots; the other half are conjugates.
 * Coefficient i is the real part of point i, coefficient i + n/2 the imaginary part. */
static void transform(unsigned log_n, int32_t *re, int32_t *im) {
    const size_t points = (size_t)1 << (log_n - 1);
    for (size_t m = 1, half = points / 2; m < points; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const int64_t c = pq_hawk_cos31[m + u], s = pq_hawk_sin31[m + u];
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                const size_t j = i + half;
                const int32_t x = (int32_t)((re[j] * c - im[j] * s + (1 << 30)) >> 31);
                const int32_t y = (int32_t)((re[j] * s + im[j] * c + (1 << 30)) >> 31);
                re[j] = (re[i] - x + 1) >> 1;
                im[j] = (im[i] - y + 1) >> 1;
                re[i] = (re[i] + x + 1) >> 1;
                im[i] = (im[i] + y + 1) >> 1;
            }
        }
    }
}

static void transform_back(unsigned log_n, int32_t *re, int32_t *im) {
    const size_t points = (size_t)1 << (log_n - 1);
    for (size_t m = points / 2, half = 1; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const int64_t c = pq_hawk_cos31[m + u], s = pq_hawk_sin31[m + u];
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                const size_t j = i + half;
                const int64_t x = (re[i] - re[j] + 1) >> 1, y = (im[i] - im[j] + 1) >> 1;
                re[i] = (re[i] + re[j] + 1) >> 1;
                im[i] = (im[i] + im[j] + 1) >> 1;
                re[j] = (int32_t)((x * c + y * s + (1 << 30)) >> 31);
                im[j] = (int32_t)((y * c - x * s + (1 << 30)) >> 31);
            }
        }
    }
}

int pq_hawk_rebuild(const pq_hawk_set *set, int32_t *w0, const int32_t *q00, const int32_t *q01,
                 const int32_t *w1, const uint64_t *h0) {
    return pq_hawk_rebuild_with(transform, transform_back, set, w0, q00, q01, w1, h0);
}
