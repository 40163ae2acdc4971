// Arithmetic of transformed polynomials, value by value, and the LDL decomposition of a node of the
// signing tree (specification, algorithm 8).
#ifndef FALCON_POLYNOMIAL_H
#define FALCON_POLYNOMIAL_H

#include "fp.h"

namespace FALCON_NAMESPACE {

static inline void negate_all(double *__restrict a, unsigned logn) {
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        a[k] = negate(a[k]);
    }
}

static inline void add_to(double *__restrict a, const double *__restrict b, unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        a[k] = add(a[k], b[k]);
    }
}

static inline void scale(double *__restrict a, double factor, unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        a[k] = mul(a[k], factor);
    }
}

// a *= b
static inline void multiply(double *__restrict a, const double *__restrict b, unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    const unsigned half = 1u << (logn - 1);
    for (unsigned k = 0; k < half; k++) {
#pragma HLS PIPELINE
        const double ar = a[k], ai = a[k + half], br = b[k], bi = b[k + half];
        a[k] = sub(mul(ar, br), mul(ai, bi));
        a[k + half] = add(mul(ar, bi), mul(ai, br));
    }
}

// a *= adjoint(b)
static inline void multiply_adjoint(double *__restrict a, const double *__restrict b,
                                    unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    const unsigned half = 1u << (logn - 1);
    for (unsigned k = 0; k < half; k++) {
#pragma HLS PIPELINE
        const double ar = a[k], ai = a[k + half], br = b[k], bi = negate(b[k + half]);
        a[k] = sub(mul(ar, br), mul(ai, bi));
        a[k + half] = add(mul(ar, bi), mul(ai, br));
    }
}

// a *= adjoint(a); the imaginary parts become 0.
static inline void multiply_own_adjoint(double *__restrict a, unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    const unsigned half = 1u << (logn - 1);
    for (unsigned k = 0; k < half; k++) {
#pragma HLS PIPELINE
        a[k] = add(mul(a[k], a[k]), mul(a[k + half], a[k + half]));
        a[k + half] = 0.0;
    }
}

// One node of the tree: t0 += (t1 - z1) * l10 and t1 = z1, with z1 the sampled right side.
static inline void correct(double *__restrict t0, double *__restrict t1,
                           const double *__restrict z1, const double *__restrict l10,
                           unsigned logn) {
    FALCON_PHASE(POLYNOMIAL);
    const unsigned half = 1u << (logn - 1);
    for (unsigned k = 0; k < half; k++) {
#pragma HLS PIPELINE
        const double er = sub(t1[k], z1[k]), ei = sub(t1[k + half], z1[k + half]);
        const double lr = l10[k], li = l10[k + half];
        const double cr = sub(mul(lr, er), mul(li, ei));
        const double ci = add(mul(lr, ei), mul(li, er));
        t0[k] = add(t0[k], cr);
        t0[k + half] = add(t0[k + half], ci);
        t1[k] = z1[k];
        t1[k + half] = z1[k + half];
    }
}

// G = L D L* for the Gram matrix (g00, g01; g01*, g11): l10 = adjoint(g01 / g00) and
// d11 = g11 - g01 adjoint(g01 / g00), which replaces g01; d00 is g00 itself.
static inline void decompose(double *__restrict l10, const double *__restrict g00,
                             double *__restrict g01, const double *__restrict g11, unsigned logn) {
    FALCON_PHASE(LDL);
    const unsigned half = 1u << (logn - 1);
    for (unsigned k = 0; k < half; k++) {
#pragma HLS PIPELINE
        const double ar = g00[k], ai = g00[k + half];
        const double br = g01[k], bi = g01[k + half];
        const double inverse = divide(1.0, add(mul(ar, ar), mul(ai, ai)));
        const double cr = mul(ar, inverse), ci = mul(negate(ai), inverse);
        const double mr = sub(mul(br, cr), mul(bi, ci));
        const double mi = add(mul(br, ci), mul(bi, cr));
        const double ni = negate(mi);
        const double pr = sub(mul(mr, br), mul(mi, negate(bi)));
        const double pi = add(mul(mr, negate(bi)), mul(mi, br));
        g01[k] = sub(g11[k], pr);
        g01[k + half] = sub(g11[k + half], pi);
        l10[k] = mr;
        l10[k + half] = ni;
    }
}

}  // namespace FALCON_NAMESPACE

#endif
