/* Numbers of 128 bits, also for processors of 32 bits, whose compilers have none. The results are
 * the same, and only int128_quotient() branches on values. Sums and products wrap modulo 2^128. */
#ifndef PQ_INT128_H
#define PQ_INT128_H

#include <stdint.h>

#if defined(__SIZEOF_INT128__) && !defined(PQ_WITHOUT_INT128)

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 int128_bits;

static inline int128 int128_product(int64_t a, int64_t b) { return (int128)a * b; }
static inline int128 int128_multiple(int64_t a, uint64_t b) {
    return (int128)((int128_bits)(int128)a * b);
}
static inline int128 int128_unsigned_product(uint64_t a, uint64_t b) {
    return (int128)((int128_bits)a * b);
}
static inline int128 int128_sum(int128 a, int128 b) {
    return (int128)((int128_bits)a + (int128_bits)b);
}
static inline int128 int128_difference(int128 a, int128 b) {
    return (int128)((int128_bits)a - (int128_bits)b);
}

/* The low 64 bits of x >> by; `by` is from 0 to 127. */
static inline int64_t int128_shifted(int128 x, int by) { return (int64_t)(x >> by); }

/* x / by for x >= 0 and a result below 2^64. */
static inline uint64_t int128_quotient(int128 x, uint64_t by) {
    return (uint64_t)((int128_bits)x / by);
}

#else

typedef struct {
    uint64_t high, low;
} int128;

static inline int128 int128_sum(int128 a, int128 b) {
    const uint64_t low = a.low + b.low;
    const int128 sum = {a.high + b.high + (low < a.low), low};
    return sum;
}

static inline int128 int128_difference(int128 a, int128 b) {
    const int128 difference = {a.high - b.high - (a.low < b.low), a.low - b.low};
    return difference;
}

static inline int128 int128_unsigned_product(uint64_t a, uint64_t b) {
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, left = ah * bl, right = al * bh;
    const uint64_t middle = (low >> 32) + (uint32_t)left + (uint32_t)right;
    const int128 product = {ah * bh + (left >> 32) + (right >> 32) + (middle >> 32), a * b};
    return product;
}

/* A negative number, read as an unsigned one, is larger by 2^64. */
static inline int128 int128_multiple(int64_t a, uint64_t b) {
    int128 product = int128_unsigned_product((uint64_t)a, b);
    product.high -= b & (uint64_t)(a >> 63);
    return product;
}

static inline int128 int128_product(int64_t a, int64_t b) {
    int128 product = int128_multiple(a, (uint64_t)b);
    product.high -= (uint64_t)(a & (b >> 63));
    return product;
}

static inline int64_t int128_shifted(int128 x, int by) {
    return by >= 64 ? (int64_t)x.high >> (by - 64)
                    : (int64_t)(x.low >> by | x.high << 1 << (63 - by));
}

static inline uint64_t int128_quotient(int128 x, uint64_t by) {
    uint64_t rest = x.high, quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t carry = rest >> 63;
        rest = rest << 1 | (x.low >> bit & 1);
        quotient <<= 1;
        if (carry || rest >= by) {
            rest -= by;
            quotient |= 1;
        }
    }
    return quotient;
}

#endif

#endif
