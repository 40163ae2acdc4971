/* The NTRU equation f G - g F = 1 (NTRUSolve): down the tower of fields by norms, the extended
 * Euclidean algorithm at the bottom, up again by lifting and Babai's reduction.
 *
 * The reduction finds k near (F f* + G g*) / (f f* + g g*) from the leading 60 bits of the
 * coefficients, by a complex transform in 64-bit fixed point, and takes off as many leading bits of
 * k f as the precision gives. Repeated until k = 0 this is exact: of all solutions it gives the one
 * whose quotient rounds to zero. So this solver finds a solution whenever there is one; the
 * solver of the reference gives up on some where its precision does not suffice. */
#include "wide.h"

#include <string.h>

enum { LEVELS = 11, POINTS = PQ_HAWK_N_MAX / 2 };

/* The values of a, which has coefficients of `bits` bits, times 2^(60 - bits). */
static void evaluate(pq_hawk_points *z, const pq_hawk_wide *a, size_t bits) {
    const size_t half = a->count / 2;
    const long shift = (long)bits - 60;
    for (size_t i = 0; i < half; i++) {
        z->re[i] = pq_hawk_wide_top(a, i, shift);
        z->im[i] = pq_hawk_wide_top(a, i + half, shift);
    }
    pq_hawk_points_transform(z, half);
}

static int bit_length(uint64_t x) { return x != 0 ? 64 - __builtin_clzll(x) : 0; }

/* Of a number that is not negative, or of -1 less it. */
static int bit_length128(int128 x) {
    const uint64_t high = (uint64_t)int128_shifted(x, 64), sign = 0 - (high >> 63);
    if (high != sign) {
        return 64 + bit_length(high ^ sign);
    }
    return bit_length((uint64_t)int128_shifted(x, 0) ^ sign);
}

/* x 2^-by, rounded down, where 64 bits hold it. */
static int64_t shifted128(int128 x, int by) {
    return by >= 0 ? int128_shifted(x, by) : int128_shifted(x, 0) * ((int64_t)1 << -by);
}

static int128 products(int64_t a, int64_t b, int64_t c, int64_t d) {
    return int128_sum(int128_product(a, b), int128_product(c, d));
}

static int64_t shifted_right(int64_t x, long by) {
    return by > 62 ? x >> 63 : by >= 0 ? x >> by : x * ((int64_t)1 << -by);
}

/* 1 / (f f* + g g*) at a point: mantissa 2^-125 2^-exponent. */
typedef struct {
    uint64_t mantissa;
    int exponent;
} reciprocal;

typedef struct {
    pq_hawk_points f, g;
    reciprocal inverse[POINTS];
    size_t bits; /* of the coefficients of f and g */
} divisor;

static int prepare(divisor *by, const pq_hawk_wide *f, const pq_hawk_wide *g) {
    const size_t f_bits = pq_hawk_wide_bits(f), g_bits = pq_hawk_wide_bits(g);
    by->bits = f_bits > g_bits ? f_bits : g_bits;
    evaluate(&by->f, f, by->bits);
    evaluate(&by->g, g, by->bits);
    const int128 half = int128_product((int64_t)1 << 62, (int64_t)1 << 62);
    const int128 unit = int128_sum(half, half); /* 2^125 */
    for (size_t i = 0; i < f->count / 2; i++) {
        const int64_t a = by->f.re[i], b = by->f.im[i], c = by->g.re[i], d = by->g.im[i];
        const int128 norm = int128_sum(products(a, a, b, b), products(c, c, d, d));
        const int length = bit_length128(norm);
        if (length == 0) {
            return 0;
        }
        const int64_t lead = shifted128(norm, length - 63);
        by->inverse[i].mantissa = int128_quotient(unit, (uint64_t)lead);
        by->inverse[i].exponent = length - 63;
    }
    return 1;
}

/* The quotient (F f* + G g*) / (f f* + g g*) to k, which may be F; returns the exponent of its
 * unit. */
static long divide(pq_hawk_points *k, const divisor *by, const pq_hawk_points *F,
                   const pq_hawk_points *G, size_t count) {
    int exponents[POINTS], most = -1000;
    for (size_t i = 0; i < count; i++) {
        const int64_t fr = by->f.re[i], fi = by->f.im[i], gr = by->g.re[i], gi = by->g.im[i];
        const int64_t Fr = F->re[i], Fi = F->im[i], Gr = G->re[i], Gi = G->im[i];
        const int128 re = int128_sum(products(Fr, fr, Fi, fi), products(Gr, gr, Gi, gi));
        const int128 im = int128_sum(products(Fi, fr, Fr, -fi), products(Gi, gr, Gr, -gi));
        const int re_length = bit_length128(re), im_length = bit_length128(im);
        const int length = re_length > im_length ? re_length : im_length, shift = length - 62;
        const uint64_t mantissa = by->inverse[i].mantissa;
        k->re[i] = int128_shifted(int128_multiple(shifted128(re, shift), mantissa), 65);
        k->im[i] = int128_shifted(int128_multiple(shifted128(im, shift), mantissa), 65);
        exponents[i] = length == 0 ? -1000 : shift - by->inverse[i].exponent - 60;
        most = exponents[i] > most ? exponents[i] : most;
    }
    for (size_t i = 0; i < count; i++) {
        k->re[i] = shifted_right(k->re[i], most - exponents[i]);
        k->im[i] = shifted_right(k->im[i], most - exponents[i]);
    }
    return most;
}

static int64_t rounded(int64_t x, long by) {
    return by <= 0 ? shifted_right(x, by) : (shifted_right(x, by - 1) + 1) >> 1;
}

/* Buffers that are too large for the stack of a small thread. */
struct pq_hawk_workspace {
    uint32_t tower[HAWK_TOWER_MAX], wide[4][HAWK_WIDE_MAX];
    divisor by;
    pq_hawk_points big_f, big_g;
    int32_t k[PQ_HAWK_N_MAX];
};

size_t pq_hawk_workspace_bytes(void) { return sizeof(pq_hawk_workspace); }

/* One step: k and the shift of its unit. Returns 0 if k is zero: (F, G) is reduced. */
static int quotient(pq_hawk_workspace *work, size_t *shift, const pq_hawk_wide *F,
                    const pq_hawk_wide *G, size_t bits, unsigned k_bits) {
    const size_t half = F->count / 2;
    pq_hawk_points *const z = &work->big_f;
    int32_t *const k = work->k;
    evaluate(&work->big_f, F, bits);
    evaluate(&work->big_g, G, bits);
    const long unit = divide(z, &work->by, &work->big_f, &work->big_g, half) + (long)bits -
                      (long)work->by.bits;
    pq_hawk_points_transform_back(z, half);
    uint64_t larger = 0;
    for (size_t i = 0; i < half; i++) {
        larger |= (uint64_t)(z->re[i] ^ z->re[i] >> 63) | (uint64_t)(z->im[i] ^ z->im[i] >> 63);
    }
    const long length = bit_length(larger);
    const long drop = length + unit > (long)k_bits ? length - (long)k_bits : -unit;
    *shift = (size_t)(drop + unit);
    int any = 0;
    for (size_t i = 0; i < half; i++) {
        k[i] = (int32_t)rounded(z->re[i], drop);
        k[i + half] = (int32_t)rounded(z->im[i], drop);
        any |= k[i] | k[i + half];
    }
    return any != 0;
}

/* Babai's reduction of (F, G) by (f, g). */
static int reduce(pq_hawk_workspace *work, pq_hawk_wide *F, pq_hawk_wide *G, const pq_hawk_wide *f,
                  const pq_hawk_wide *g) {
    unsigned k_bits = 30;
    for (size_t n = f->count; n > 1; n /= 2) {
        k_bits--;
    }
    if (!prepare(&work->by, f, g)) {
        return 0;
    }
    size_t least = (size_t)-1;
    for (int idle = 0; idle < 16;) { /* without progress this often: reject the candidate */
        size_t shift;
        const size_t F_bits = pq_hawk_wide_bits(F), G_bits = pq_hawk_wide_bits(G);
        const size_t bits = F_bits > G_bits ? F_bits : G_bits;
        F->length = G->length = pq_hawk_wide_length(bits);
        idle = bits < least ? 0 : idle + 1;
        least = bits < least ? bits : least;
        if (!quotient(work, &shift, F, G, bits, k_bits)) {
            return 1;
        }
        pq_hawk_wide_reduce(F, work->k, f, shift);
        pq_hawk_wide_reduce(G, work->k, g, shift);
    }
    return 0;
}

/* f(X) f(-X) as a polynomial in X^2, of half the degree. */
static void field_norm(pq_hawk_wide *norm, const pq_hawk_wide *f) {
    const pq_hawk_wide even = {f->limbs, f->count / 2, 2 * f->stride, f->length};
    const pq_hawk_wide odd = {f->limbs + f->stride, f->count / 2, 2 * f->stride, f->length};
    const pq_hawk_wide_form squares = {1, 0, 0, 0}, minus_x = {1, 1, 0, 1};
    memset(norm->limbs, 0, norm->count * norm->stride * sizeof *norm->limbs);
    pq_hawk_wide_multiply_add(norm, &even, &even, squares);
    pq_hawk_wide_multiply_add(norm, &odd, &odd, minus_x);
}

/* The next level of the tower in fresh limbs, as short as it can be. */
static int descend(pq_hawk_wide *next, const pq_hawk_wide *f, uint32_t *limbs, size_t *used) {
    uint32_t scratch[HAWK_WIDE_MAX];
    const size_t count = f->count / 2;
    size_t bits = 2 * pq_hawk_wide_bits(f) + 1;
    for (size_t n = f->count; n > 1; n /= 2) {
        bits++;
    }
    pq_hawk_wide norm = {scratch, count, pq_hawk_wide_length(bits), pq_hawk_wide_length(bits)};
    if (count * norm.length > HAWK_WIDE_MAX) {
        return 0;
    }
    field_norm(&norm, f);
    const size_t length = pq_hawk_wide_length(pq_hawk_wide_bits(&norm));
    if (count * length > HAWK_LEVEL_MAX || *used + count * length > HAWK_TOWER_MAX) {
        return 0;
    }
    next->limbs = limbs + *used;
    next->count = count;
    next->stride = next->length = length;
    *used += count * length;
    for (size_t i = 0; i < count; i++) {
        memcpy(next->limbs + i * length, scratch + i * norm.stride, length * sizeof *scratch);
    }
    return 1;
}

/* The limbs that F(X^2) g(-X) needs. */
static size_t lifted_length(const pq_hawk_wide *F, const pq_hawk_wide *g) {
    size_t bits = pq_hawk_wide_bits(F) + pq_hawk_wide_bits(g);
    for (size_t n = g->count; n > 1; n /= 2) {
        bits++;
    }
    return pq_hawk_wide_length(bits);
}

/* up <- F(X^2) g(-X). */
static void lift(pq_hawk_wide *up, const pq_hawk_wide *F, const pq_hawk_wide *g, size_t length) {
    const pq_hawk_wide_form form = {2, 0, 1, 0};
    up->count = g->count;
    up->stride = up->length = length;
    memset(up->limbs, 0, up->count * up->length * sizeof *up->limbs);
    pq_hawk_wide_multiply_add(up, F, g, form);
}

static int narrow(int8_t *to, const pq_hawk_wide *from) {
    for (size_t i = 0; i < from->count; i++) {
        const int64_t value = pq_hawk_wide_top(from, i, 0);
        if (value < -127 || value > 127) {
            return 0;
        }
        to[i] = (int8_t)value;
    }
    return pq_hawk_wide_bits(from) < 8;
}

int pq_hawk_ntru_solve(const pq_hawk_set *set, int8_t *F_out, int8_t *G_out, const int8_t *f_in,
                    const int8_t *g_in, pq_hawk_workspace *work) {
    uint32_t *const tower = work->tower;
    pq_hawk_wide f[LEVELS], g[LEVELS];
    size_t used = 2 * set->n;
    f[0] = (pq_hawk_wide){tower, set->n, 1, 1};
    g[0] = (pq_hawk_wide){tower + set->n, set->n, 1, 1};
    for (size_t i = 0; i < set->n; i++) {
        f[0].limbs[i] = (uint32_t)(int32_t)f_in[i];
        g[0].limbs[i] = (uint32_t)(int32_t)g_in[i];
    }
    for (unsigned level = 0; level < set->log_n; level++) {
        if (!descend(&f[level + 1], &f[level], tower, &used) ||
            !descend(&g[level + 1], &g[level], tower, &used)) {
            return 0;
        }
    }
    pq_hawk_wide F = {work->wide[0], 1, HAWK_LIMBS_MAX, HAWK_LIMBS_MAX};
    pq_hawk_wide G = {work->wide[1], 1, HAWK_LIMBS_MAX, HAWK_LIMBS_MAX};
    pq_hawk_wide next_F = {work->wide[2], 0, 0, 0}, next_G = {work->wide[3], 0, 0, 0};
    if (!pq_hawk_wide_bezout(&G, &F, &f[set->log_n], &g[set->log_n])) {
        return 0;
    }
    uint32_t carry = 1; /* F is minus the second cofactor */
    for (size_t i = 0; i < F.length; i++) {
        F.limbs[i] = ~F.limbs[i] + carry;
        carry &= F.limbs[i] == 0;
    }
    F.length = pq_hawk_wide_length(pq_hawk_wide_bits(&F));
    G.length = pq_hawk_wide_length(pq_hawk_wide_bits(&G));
    for (unsigned level = set->log_n; level-- > 0;) {
        const size_t F_length = lifted_length(&F, &g[level]);
        const size_t G_length = lifted_length(&G, &f[level]);
        const size_t length = F_length > G_length ? F_length : G_length;
        if (f[level].count * length > HAWK_WIDE_MAX) {
            return 0;
        }
        lift(&next_F, &F, &g[level], length);
        lift(&next_G, &G, &f[level], length);
        if (!reduce(work, &next_F, &next_G, &f[level], &g[level])) {
            return 0;
        }
        uint32_t *const old_F = F.limbs, *const old_G = G.limbs;
        F = next_F;
        G = next_G;
        next_F.limbs = old_F;
        next_G.limbs = old_G;
    }
    return narrow(F_out, &F) && narrow(G_out, &G);
}
