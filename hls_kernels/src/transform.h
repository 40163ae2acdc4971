// The complex transform of real polynomials modulo x^n + 1, and the composition of transforms of
// degree n from transforms of degree n/2 (specification, section 3.3 and algorithms 5 to 7).
//
// A transformed polynomial holds n/2 complex values, real parts first: value k is
// f[k] + i f[k + n/2]. The order of operations is part of the interface: every bit of a result
// depends on it.
#ifndef FALCON_TRANSFORM_H
#define FALCON_TRANSFORM_H

#include "fp.h"
#include "tables.h"

namespace FALCON_NAMESPACE {

static inline void forward_transform(double *__restrict f, unsigned logn) {
    FALCON_PHASE(TRANSFORM);
    const unsigned half = 1u << (logn - 1);
    double *__restrict re = f;
    double *__restrict im = f + half;
passes:
    for (unsigned pass = 1; pass < logn; pass++) {
        const unsigned groups = 1u << (pass - 1);
        const unsigned width = half >> pass;
    butterflies:
        for (unsigned group = 0; group < groups; group++) {
            const double root_re = falcon_tables::roots[groups + group][0];
            const double root_im = falcon_tables::roots[groups + group][1];
            const unsigned first = group * 2 * width;
            double *__restrict xr = re + first, *__restrict xi = im + first;
            double *__restrict yr = xr + width, *__restrict yi = xi + width;
            for (unsigned k = 0; k < width; k++) {
#pragma HLS PIPELINE
                const double tr = sub(mul(yr[k], root_re), mul(yi[k], root_im));
                const double ti = add(mul(yr[k], root_im), mul(yi[k], root_re));
                const double ur = xr[k], ui = xi[k];
                xr[k] = add(ur, tr);
                xi[k] = add(ui, ti);
                yr[k] = sub(ur, tr);
                yi[k] = sub(ui, ti);
            }
        }
    }
}

static inline void inverse_transform(double *__restrict f, unsigned logn) {
    FALCON_PHASE(TRANSFORM);
    const unsigned half = 1u << (logn - 1);
    double *__restrict re = f;
    double *__restrict im = f + half;
passes:
    for (unsigned pass = logn - 1; pass > 0; pass--) {
        const unsigned groups = 1u << (pass - 1);
        const unsigned width = half >> pass;
    butterflies:
        for (unsigned group = 0; group < groups; group++) {
            const double root_re = falcon_tables::roots[groups + group][0];
            const double root_im = negate(falcon_tables::roots[groups + group][1]);
            const unsigned first = group * 2 * width;
            double *__restrict xr = re + first, *__restrict xi = im + first;
            double *__restrict yr = xr + width, *__restrict yi = xi + width;
            for (unsigned k = 0; k < width; k++) {
#pragma HLS PIPELINE
                const double dr = sub(xr[k], yr[k]), di = sub(xi[k], yi[k]);
                xr[k] = add(xr[k], yr[k]);
                xi[k] = add(xi[k], yi[k]);
                yr[k] = sub(mul(dr, root_re), mul(di, root_im));
                yi[k] = add(mul(dr, root_im), mul(di, root_re));
            }
        }
    }
    const double scale = 2.0 / (double)(1u << logn);  // a power of two, exact
scaling:
    for (unsigned k = 0; k < 2 * half; k++) {
#pragma HLS PIPELINE
        f[k] = mul(f[k], scale);
    }
}

// f(x) = even(x^2) + x odd(x^2).
static inline void split(double *__restrict even, double *__restrict odd,
                         const double *__restrict f, unsigned logn) {
    FALCON_PHASE(SPLIT_MERGE);
    const unsigned half = 1u << (logn - 1), quarter = half >> 1;
    if (quarter == 0) {
        even[0] = f[0];
        odd[0] = f[1];
    }
    const double(*roots)[2] = falcon_tables::roots + quarter;
pairs:
    for (unsigned k = 0; k < quarter; k++) {
#pragma HLS PIPELINE
        const double ar = f[2 * k], ai = f[2 * k + half];
        const double br = f[2 * k + 1], bi = f[2 * k + 1 + half];
        const double root_re = roots[k][0], root_im = negate(roots[k][1]);
        const double dr = sub(ar, br), di = sub(ai, bi);
        even[k] = halve(add(ar, br));
        even[k + quarter] = halve(add(ai, bi));
        odd[k] = halve(sub(mul(dr, root_re), mul(di, root_im)));
        odd[k + quarter] = halve(add(mul(dr, root_im), mul(di, root_re)));
    }
}

// The inverse of split.
static inline void merge(double *__restrict f, const double *__restrict even,
                         const double *__restrict odd, unsigned logn) {
    FALCON_PHASE(SPLIT_MERGE);
    const unsigned half = 1u << (logn - 1), quarter = half >> 1;
    if (quarter == 0) {
        f[0] = even[0];
        f[1] = odd[0];
    }
    const double(*roots)[2] = falcon_tables::roots + quarter;
pairs:
    for (unsigned k = 0; k < quarter; k++) {
#pragma HLS PIPELINE
        const double ar = even[k], ai = even[k + quarter];
        const double br = odd[k], bi = odd[k + quarter];
        const double root_re = roots[k][0], root_im = roots[k][1];
        const double tr = sub(mul(br, root_re), mul(bi, root_im));
        const double ti = add(mul(br, root_im), mul(bi, root_re));
        f[2 * k] = add(ar, tr);
        f[2 * k + half] = add(ai, ti);
        f[2 * k + 1] = sub(ar, tr);
        f[2 * k + 1 + half] = sub(ai, ti);
    }
}

}  // namespace FALCON_NAMESPACE

#endif
