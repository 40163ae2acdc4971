/* Constants that are computed once, when the library is loaded, by integers only. */
#ifndef HAWK_TABLES_H
#define HAWK_TABLES_H

#include "hawk.h"
#include "int128.h"

/* Roots for the transforms over X^n + 1. All are in the order in which a transform that halves
 * polynomials needs them: entry m + u serves block u of the layer of m blocks, and is the base
 * root to the power that has the bits of m + u reversed. One table serves every n. */

/* A prime p = 1 mod 2048 below 2^31, for Montgomery arithmetic with R = 2^32. */
typedef struct {
    uint32_t p;
    uint32_t minus_inverse;      /* -1/p mod R */
    uint32_t r2;                 /* R^2 mod p */
    uint32_t inverse_r;          /* 1/R mod p */
    uint32_t roots[PQ_HAWK_N_MAX];  /* times R */
} pq_hawk_prime;

extern pq_hawk_prime pq_hawk_primes[PQ_HAWK_PRIMES];

/* The prime 18433 = 1 mod 2048, R = 2^16; signed values. */
enum { HAWK_Q = 18433, HAWK_Q_INVERSE = 47105 /* 1/q mod R */ };
extern int16_t pq_hawk_q_roots[PQ_HAWK_N_MAX];         /* times R */
extern int16_t pq_hawk_q_scale[2];                  /* R^2 / n for the two sets */

/* exp(i pi (1 + 4 rev(u)) / (4 m)) at entry m + u, m up to 256: real and imaginary parts times 2^62,
 * and times 2^31. */
enum { HAWK_COMPLEX_MAX = PQ_HAWK_N_MAX / 2 };
extern int64_t pq_hawk_cos62[HAWK_COMPLEX_MAX], pq_hawk_sin62[HAWK_COMPLEX_MAX];
extern int32_t pq_hawk_cos31[HAWK_COMPLEX_MAX], pq_hawk_sin31[HAWK_COMPLEX_MAX];

/* The tables of the sampler (table 4 of the specification): for parity 0 and 1, 2^78 times the
 * probability that the absolute value exceeds entry k; high 15 and low 63 bits. */
enum { HAWK_STEPS = 13, HAWK_HIGH_STEPS = 5 /* from there on the high parts are zero */ };
typedef struct {
    uint64_t high[2][HAWK_STEPS], low[2][HAWK_STEPS];
} pq_hawk_steps;
extern const pq_hawk_steps pq_hawk_sampler_steps[2];

static inline const pq_hawk_steps *pq_hawk_steps_of(const pq_hawk_set *set) {
    return &pq_hawk_sampler_steps[set->log_n - 9];
}

static inline uint32_t pq_hawk_mod_add(uint32_t a, uint32_t b, uint32_t p) {
    const uint32_t sum = a + b - p;
    return sum + (p & (0u - (sum >> 31)));
}

static inline uint32_t pq_hawk_mod_subtract(uint32_t a, uint32_t b, uint32_t p) {
    const uint32_t difference = a - b;
    return difference + (p & (0u - (difference >> 31)));
}

/* a b / R mod p. */
static inline uint32_t pq_hawk_mod_multiply(uint32_t a, uint32_t b, const pq_hawk_prime *prime) {
    const uint64_t product = (uint64_t)a * b;
    const uint32_t m = (uint32_t)product * prime->minus_inverse;
    const uint32_t high = (uint32_t)((product + (uint64_t)m * prime->p) >> 32);
    return pq_hawk_mod_subtract(high, prime->p, prime->p);
}

/* a small signed value modulo p. */
static inline uint32_t pq_hawk_mod_set(int32_t value, uint32_t p) {
    return (uint32_t)value + (p & (uint32_t)(value >> 31));
}

/* 1/a for a times R, again times R: a^(p - 2). */
uint32_t pq_hawk_mod_invert(uint32_t a, const pq_hawk_prime *prime);

/* Coefficients to values at the roots, and back from values that stand for value / R: from products
 * of pq_hawk_mod_multiply(). */
void pq_hawk_mod_transform(const pq_hawk_set *set, uint32_t *a, const pq_hawk_prime *prime);
void pq_hawk_mod_transform_back(const pq_hawk_set *set, uint32_t *a, const pq_hawk_prime *prime);

/* Values of a real polynomial at half of the roots of X^n + 1 (the other half are conjugates), in
 * 64-bit fixed point. Before the transform coefficient i is the real part of point i, coefficient
 * i + n/2 its imaginary part. Each layer halves: the result is over n/2, and coefficients below 2^60
 * never overflow. The way back undoes it. */
typedef struct {
    int64_t re[HAWK_COMPLEX_MAX], im[HAWK_COMPLEX_MAX];
} pq_hawk_points;
/* a b + c d in units of 2^62, rounded. */
static inline int64_t pq_hawk_products62(int64_t a, int64_t b, int64_t c, int64_t d) {
    const int128 sum = int128_sum(int128_product(a, b), int128_product(c, d));
    return int128_shifted(int128_sum(sum, int128_product((int64_t)1 << 61, 1)), 62);
}

void pq_hawk_points_transform(pq_hawk_points *z, size_t count);
void pq_hawk_points_transform_back(pq_hawk_points *z, size_t count);

/* a b / R modulo q; |result| <= q/2 + |a b| / R. */
static inline int32_t pq_hawk_q_multiply(int32_t a, int32_t b) {
    const int32_t product = a * b;
    const int32_t m = (int16_t)(uint16_t)((uint32_t)product * HAWK_Q_INVERSE);
    return (product - m * HAWK_Q) >> 16;
}

/* From |a| <= 3q/2 to |a| <= q/2. */
static inline int32_t pq_hawk_q_centre(int32_t a) {
    a -= HAWK_Q & ((HAWK_Q / 2 - a) >> 31);
    a += HAWK_Q & ((HAWK_Q / 2 + a) >> 31);
    return a;
}

#endif
