/* The nearest w0, portable: a complex transform in 32-bit fixed point. */
#include "../rebuild.h"

/* Polynomial modulo X^n + 1 to its values at half of the roots; the other half are conjugates.
 * Coefficient i is the real part of point i, coefficient i + n/2 the imaginary part. */
static void transform(unsigned log_n, int32_t *re, int32_t *im) {
    const size_t points = (size_t)1 << (log_n - 1);
    for (size_t m = 1, half = points / 2; m < points; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const int64_t c = hawk_cos31[m + u], s = hawk_sin31[m + u];
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
            const int64_t c = hawk_cos31[m + u], s = hawk_sin31[m + u];
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

static void load(int32_t *values, const int32_t *from, size_t n, unsigned shift) {
    for (size_t i = 0; i < n; i++) {
        values[i] = from[i] * (1 << shift);
    }
}

int hawk_rebuild(const hawk_set *set, int32_t *w0, const int32_t *q00, const int32_t *q01,
                 const int32_t *w1, const uint64_t *h0) {
    const hawk_scales z = hawk_scales_of(set);
    const size_t n = set->n, half = n / 2;
    int32_t a[HAWK_N_MAX], b[HAWK_N_MAX], c[HAWK_N_MAX];
    load(a, w1, n, z.shift_w1);
    load(b, q01, n, z.shift_q01);
    load(c, q00, n, z.shift_q00);
    c[0] = 0; /* the one large coefficient, added behind the transform */
    transform(set->log_n, a, a + half);
    transform(set->log_n, b, b + half);
    transform(set->log_n, c, c + half);
    for (size_t i = 0; i < half; i++) {
        c[i] += q00[0] * (1 << (z.shift_q00 - (set->log_n - 1)));
    }
    if (!hawk_divide(set, a, a + half, b, b + half, c)) {
        return 0;
    }
    transform_back(set->log_n, a, a + half);
    for (size_t i = 0; i < n; i++) {
        const int32_t bit = (int32_t)(h0[i >> 6] >> (i & 63) & 1);
        const int32_t away = bit * (1 << z.point) - a[i];
        w0[i] = bit - 2 * ((away + (1 << z.point)) >> (z.point + 1));
    }
    return 1;
}
