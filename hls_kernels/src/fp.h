// Every floating-point operation of the signer, by name: the only place for the adder, multiplier and
// divider of the hardware, and for counting operations.
//
// The arithmetic is IEEE binary64, rounded to nearest even, one rounding per operation. A fused
// multiply-add rounds once where two operations round twice and so changes bits: compile with
// -ffp-contract=off, never with -ffast-math.
#ifndef FALCON_FP_H
#define FALCON_FP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// The counting build has the same code in another namespace, so that both can be linked together.
#ifdef FALCON_CENSUS
#define FALCON_NAMESPACE falcon_counted
#else
#define FALCON_NAMESPACE falcon
#endif

// One engine per chip, but one per thread if software simulates the chip.
#ifdef __SYNTHESIS__
#define FALCON_ON_CHIP static
#else
#define FALCON_ON_CHIP static thread_local
#endif

namespace FALCON_NAMESPACE {

enum Operation { ADD, MUL, DIV, SQRT, FROM_INTEGER, RINT, TRUNCATE, FLOOR, HALVE, EXPM, OPERATIONS };

enum Phase { TRANSFORM, SPLIT_MERGE, LDL, POLYNOMIAL, LEAF, SAMPLER, OTHER, PHASES };

#ifdef FALCON_CENSUS
struct Census {
    uint64_t operations[PHASES][OPERATIONS];
    uint64_t samples, attempts, acceptance_bytes, generator_blocks;
};
extern thread_local Census census;
extern thread_local Phase phase;
#define FALCON_COUNT(operation) (census.operations[phase][operation]++)
#define FALCON_TALLY(field, amount) (census.field += (amount))
#define FALCON_PHASE(name) (phase = (name))
#else
#define FALCON_COUNT(operation) ((void)0)
#define FALCON_TALLY(field, amount) ((void)0)
#define FALCON_PHASE(name) ((void)0)
#endif

static inline double add(double x, double y) {
    FALCON_COUNT(ADD);
    return x + y;
}

static inline double sub(double x, double y) {
    FALCON_COUNT(ADD);
    return x - y;
}

static inline double mul(double x, double y) {
    FALCON_COUNT(MUL);
    return x * y;
}

static inline double divide(double x, double y) {
    FALCON_COUNT(DIV);
    return x / y;
}

static inline double square_root(double x) {
    FALCON_COUNT(SQRT);
    return sqrt(x);
}

// Flips a sign bit; not counted, because it costs no arithmetic unit.
static inline double negate(double x) { return -x; }

// An exact division by two: hardware lowers the exponent by one.
static inline double halve(double x) {
    FALCON_COUNT(HALVE);
    return x * 0.5;
}

static inline double from_integer(int64_t x) {
    FALCON_COUNT(FROM_INTEGER);
    return (double)x;
}

// Toward zero. An invalid key can give NaN and values beyond 64 bits, whose conversion C++ leaves
// undefined: they become INT64_MIN on every processor, as x86 has it.
static inline int64_t to_integer(double x) {
    const double two_63 = 9223372036854775808.0;
    return x >= -two_63 && x < two_63 ? (int64_t)x : INT64_MIN;
}

// To the nearest integer, ties to even, for |x| < 2^51: the sum has no bits for a fraction.
static inline int64_t round_to_even(double x) {
    FALCON_COUNT(RINT);
    const double room = 6755399441055744.0;  // 1.5 * 2^52
    return to_integer((x + room) - room);
}

static inline int64_t truncate(double x) {
    FALCON_COUNT(TRUNCATE);
    return to_integer(x);
}

static inline int64_t floor_to_integer(double x) {
    FALCON_COUNT(FLOOR);
    const int64_t whole = to_integer(x);
    return whole - (whole != INT64_MIN && x < (double)whole);
}

// The high 64 bits of a product of 128.
static inline uint64_t high_product(uint64_t x, uint64_t y) {
#ifdef __SIZEOF_INT128__
    return (uint64_t)(((unsigned __int128)x * y) >> 64);
#else
    const uint64_t xl = (uint32_t)x, xh = x >> 32, yl = (uint32_t)y, yh = y >> 32;
    const uint64_t low = xl * yl, left = xh * yl, right = xl * yh;
    const uint64_t middle = (low >> 32) + (uint32_t)left + (uint32_t)right;
    return xh * yh + (left >> 32) + (right >> 32) + (middle >> 32);
#endif
}

}  // namespace FALCON_NAMESPACE

#endif
