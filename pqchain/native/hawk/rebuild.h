/* What the two variants of hawk_rebuild() share: the scales, and the division. */
#ifndef HAWK_REBUILD_H
#define HAWK_REBUILD_H

#include "tables.h"

/* The transform halves at each of its log_n - 1 layers, so that values whose coefficients are below
 * 2^29 stay below 2^30.5 and 32 bits hold them. The scales bring what the codes allow just below
 * 2^29. The division leaves `point` bits behind the binary point. */
typedef struct {
    unsigned shift_w1, shift_q01, shift_q00, point;
} hawk_scales;

static inline hawk_scales hawk_scales_of(const hawk_set *set) {
    const hawk_scales scales = {28 - set->high_s1 - 1, 29 - set->high_01, 29 - set->high_00,
                                set->log_n == 9 ? 9 : 5};
    return scales;
}

/* (re, im) becomes re, im of q01 w1 / q00 with `point` bits; 0 if q00 is not positive or the
 * quotient is larger than an honest signature gives. */
static inline int hawk_divide(const hawk_set *set, int32_t *re, int32_t *im, const int32_t *q01_re,
                              const int32_t *q01_im, const int32_t *q00) {
    const hawk_scales z = hawk_scales_of(set);
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
        const int64_t x = (int64_t)((hawk_int128)(a * ((int64_t)1 << shift)) * inverse >> 63);
        const int64_t y = (int64_t)((hawk_int128)(b * ((int64_t)1 << shift)) * inverse >> 63);
        wrong |= (x + limit) | (limit - x) | (y + limit) | (limit - y);
        re[i] = (int32_t)x;
        im[i] = (int32_t)y;
    }
    return wrong >= 0;
}

#endif
