/* Polynomials whose coefficients are long integers, for key generation only: not constant time. */
#ifndef HAWK_WIDE_H
#define HAWK_WIDE_H

#include "tables.h"

/* `count` coefficients, coefficient i in the limbs i * stride .. i * stride + length - 1: base 2^32,
 * lowest limb first, two's complement. */
typedef struct {
    uint32_t *limbs;
    size_t count, stride, length;
} pq_hawk_wide;

/* The least b with -2^b <= x < 2^b for every coefficient x. */
size_t pq_hawk_wide_bits(const pq_hawk_wide *a);

/* The limbs that hold coefficients of so many bits with two bits to spare. */
static inline size_t pq_hawk_wide_length(size_t bits) { return (bits + 2) / 32 + 1; }

/* floor(x / 2^shift) for coefficient i; the result must fit. Shift may be negative. */
int64_t pq_hawk_wide_top(const pq_hawk_wide *a, size_t i, long shift);

/* d += +-a(X^spread) b(X or -X) X^offset modulo X^count + 1. */
typedef struct {
    size_t spread, offset;
    int alternate, negative;
} pq_hawk_wide_form;
void pq_hawk_wide_multiply_add(pq_hawk_wide *d, const pq_hawk_wide *a, const pq_hawk_wide *b,
                            pq_hawk_wide_form form);

/* d -= 2^shift k f modulo X^count + 1, for |k_i| <= 2^(30 - log2 count). */
void pq_hawk_wide_reduce(pq_hawk_wide *d, const int32_t *k, const pq_hawk_wide *f, size_t shift);

/* u f + v g = 1 for positive single coefficients f and g; 0 if they have a common factor. */
int pq_hawk_wide_bezout(pq_hawk_wide *u, pq_hawk_wide *v, const pq_hawk_wide *f,
                        const pq_hawk_wide *g);

/* What honest keys need, and a quarter more; a candidate that needs more is given up. */
enum {
    HAWK_LEVEL_MAX = 1280, /* limbs of f or g at one level of the tower */
    HAWK_WIDE_MAX = 1280,  /* limbs of F or G before its reduction */
    HAWK_TOWER_MAX = 8704, /* limbs of all levels */
    HAWK_LIMBS_MAX = 232   /* limbs of one resultant */
};

#endif
