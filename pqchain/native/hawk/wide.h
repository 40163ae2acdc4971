/* Polynomials whose coefficients are long integers, for key generation only: not constant time. */
#ifndef HAWK_WIDE_H
#define HAWK_WIDE_H

#include "tables.h"

/* `count` coefficients, coefficient i in the limbs i * stride .. i * stride + length - 1: base 2^32,
 * lowest limb first, two's complement. */
typedef struct {
    uint32_t *limbs;
    size_t count, stride, length;
} hawk_wide;

/* The least b with -2^b <= x < 2^b for every coefficient x. */
size_t hawk_wide_bits(const hawk_wide *a);

/* The limbs that hold coefficients of so many bits with two bits to spare. */
static inline size_t hawk_wide_length(size_t bits) { return (bits + 2) / 32 + 1; }

/* floor(x / 2^shift) for coefficient i; the result must fit. Shift may be negative. */
int64_t hawk_wide_top(const hawk_wide *a, size_t i, long shift);

/* d += +-a(X^spread) b(X or -X) X^offset modulo X^count + 1. */
typedef struct {
    size_t spread, offset;
    int alternate, negative;
} hawk_wide_form;
void hawk_wide_multiply_add(hawk_wide *d, const hawk_wide *a, const hawk_wide *b,
                            hawk_wide_form form);

/* d -= 2^shift k f modulo X^count + 1, for |k_i| <= 2^(30 - log2 count). */
void hawk_wide_reduce(hawk_wide *d, const int32_t *k, const hawk_wide *f, size_t shift);

/* u f + v g = 1 for positive single coefficients f and g; 0 if they have a common factor. */
int hawk_wide_bezout(hawk_wide *u, hawk_wide *v, const hawk_wide *f, const hawk_wide *g);

/* What honest keys need, and a quarter more; a candidate that needs more is given up. */
enum {
    HAWK_LEVEL_MAX = 1280, /* limbs of f or g at one level of the tower */
    HAWK_WIDE_MAX = 1280,  /* limbs of F or G before its reduction */
    HAWK_TOWER_MAX = 8704, /* limbs of all levels */
    HAWK_LIMBS_MAX = 232   /* limbs of one resultant */
};

#endif
