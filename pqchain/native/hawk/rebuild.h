/* Common parts of the two variants of pq_hawk_rebuild(): everything except the transforms. */
#ifndef HAWK_REBUILD_H
#define HAWK_REBUILD_H

#include "tables.h"

/* The transform halves at each of its log_n - 1 layers, so that values whose coefficients are below
 * 2^29 stay below 2^30.5 and 32 bits hold them. The scales bring what the codes allow just below
 * 2^29. The division leaves `point` bits behind the binary point, so that honest quotients stay near
 * 2^26, far from the limit of 2^29. */
typedef struct {
    unsigned shift_w1, shift_q01, shift_q00, point;
} pq_hawk_scales;

static inline pq_hawk_scales pq_hawk_scales_of(const pq_hawk_set *set) {
    const pq_hawk_scales scales = {28 - set->high_s1 - 1, 29 - set->high_01, 29 - set->high_00,
                                set->log_n == 9 ? 9 : 7};
    return scales;
}

/* (re, im) becomes re, im of q01 w1 / q00 with `point` bits; 0 if q00 is not positive or the
 * quotient is larger than an honest signature gives. */
static inline int pq_hawk_divide(const pq_hawk_set *set, int32_t *re, int32_t *im,
                                 const int32_t *q01_re, const int32_t *q01_im, const int32_t *q00) {
    const pq_hawk_scales z = pq_hawk_scales_of(set);
    const unsigned shift =
        z.point + (set->log_n - 1) + z.shift_q00 - z.shift_w1 - z.shift_q01;
    const int64_t limit = (int64_t)1 << 29;
    int64_t wrong = 0;
    for (size_t i = 0; i < set->n / 2; i++) {
        const int64_t divisor = q00[i];
        if (divisor <= 0) {
            return 0;
        }
        const int64_t inverse = INT64_MAX / divisor;
        const int64_t a = (int64_t)re[i] * q01_re[i] - (int64_t)im[i] * q01_im[i];
        const int64_t b = (int64_t)re[i] * q01_im[i] + (int64_t)im[i] * q01_re[i];
        const int64_t x = int128_shifted(int128_product(a * ((int64_t)1 << shift), inverse), 63);
        const int64_t y = int128_shifted(int128_product(b * ((int64_t)1 << shift), inverse), 63);
        wrong |= (x + limit) | (limit - x) | (y + limit) | (limit - y);
        re[i] = (int32_t)x;
        im[i] = (int32_t)y;
    }
    return wrong >= 0;
}

static inline void pq_hawk_scale_up(int32_t *values, const int32_t *from, size_t n,
                                    unsigned shift) {
    for (size_t i = 0; i < n; i++) {
        values[i] = from[i] * (1 << shift);
    }
}

typedef void (*pq_hawk_transform_fn)(unsigned log_n, int32_t *re, int32_t *im);

/* pq_hawk_rebuild() by the transforms of one variant; the order of the points is theirs. */
static inline int pq_hawk_rebuild_with(pq_hawk_transform_fn transform,
                                       pq_hawk_transform_fn transform_back,
                                    const pq_hawk_set *set, int32_t *w0, const int32_t *q00,
                                    const int32_t *q01, const int32_t *w1, const uint64_t *h0) {
    const pq_hawk_scales z = pq_hawk_scales_of(set);
    const size_t n = set->n, half = n / 2;
    int32_t a[PQ_HAWK_N_MAX], b[PQ_HAWK_N_MAX], c[PQ_HAWK_N_MAX];
    pq_hawk_scale_up(a, w1, n, z.shift_w1);
    pq_hawk_scale_up(b, q01, n, z.shift_q01);
    pq_hawk_scale_up(c, q00, n, z.shift_q00);
    c[0] = 0; /* the one large coefficient, added behind the transform */
    transform(set->log_n, a, a + half);
    transform(set->log_n, b, b + half);
    transform(set->log_n, c, c + half);
    for (size_t i = 0; i < half; i++) {
        c[i] += q00[0] * (1 << (z.shift_q00 - (set->log_n - 1)));
    }
    if (!pq_hawk_divide(set, a, a + half, b, b + half, c)) {
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

#endif
