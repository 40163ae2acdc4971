// SamplerZ (specification, section 3.9.3, algorithms 12 to 15) in steps, one attempt at a time.
//
// An attempt takes its random bytes as arguments, so that it has no loop over rejections: the caller
// draws from the generator and repeats until the verdict is final.
#ifndef FALCON_SAMPLER_H
#define FALCON_SAMPLER_H

#include "fp.h"
#include "tables.h"

namespace FALCON_NAMESPACE {

enum Verdict { REJECTED = 0, ACCEPTED = 1, UNDECIDED = 2 };  // undecided: one more byte is needed

struct Sampler {
    int64_t centre_floor;
    double centre_fraction;
    double half_inverse_variance;  // 1 / (2 sigma'^2)
    double acceptance_scale;       // sigma_min / sigma'
    int64_t candidate;
    uint64_t threshold;  // 2^64 times the probability of acceptance
    unsigned shift;      // position of the byte of the threshold that is compared next
};

// 2^63 * scale * exp(-x) for 0 <= x < log 2 (algorithm 13).
static inline uint64_t exponential(double x, double acceptance_scale) {
    static const uint64_t coefficients[13] = {
        0x00000004741183A3u, 0x00000036548CFC06u, 0x0000024FDCBF140Au, 0x0000171D939DE045u,
        0x0000D00CF58F6F84u, 0x000680681CF796E3u, 0x002D82D8305B0FEAu, 0x011111110E066FD0u,
        0x0555555555070F00u, 0x155555555581FF00u, 0x400000000002B400u, 0x7FFFFFFFFFFF4800u,
        0x8000000000000000u,
    };
    const double two_63 = 9223372036854775808.0;
    FALCON_COUNT(EXPM);
    uint64_t y = coefficients[0];
    const uint64_t z = (uint64_t)truncate(mul(x, two_63)) << 1;
horner:
    for (unsigned k = 1; k < 13; k++) {
#pragma HLS PIPELINE
        y = coefficients[k] - high_product(z, y);
    }
    // An invalid key's scale of 1 or more becomes 0.
    return high_product((uint64_t)truncate(mul(acceptance_scale, two_63)) << 1, y);
}

// A draw from the half Gaussian of deviation 1.8205 out of 72 random bits; every entry of the table
// is compared, so that the time does not depend on the result (algorithm 12).
static inline int64_t base_sample(uint64_t low, uint8_t high) {
    int64_t z = 0;
entries:
    for (unsigned k = 0; k < 18; k++) {
#pragma HLS UNROLL
        const unsigned borrow = low < falcon_tables::base_low[k];
        z += (unsigned)high < (unsigned)falcon_tables::base_high[k] + borrow;
    }
    return z;
}

// Start a sample around `centre` with deviation 1 / inverse_deviation.
static inline void begin_sample(Sampler *s, double centre, double inverse_deviation,
                                double sigma_min) {
    FALCON_PHASE(SAMPLER);
    FALCON_TALLY(samples, 1);
    s->centre_floor = floor_to_integer(centre);
    s->centre_fraction = sub(centre, from_integer(s->centre_floor));
    s->half_inverse_variance = halve(mul(inverse_deviation, inverse_deviation));
    s->acceptance_scale = mul(inverse_deviation, sigma_min);
}

// The rejection test with one more random byte, most significant byte of the threshold first.
static inline Verdict compare_byte(Sampler *s, uint8_t random) {
    FALCON_TALLY(acceptance_bytes, 1);
    const int difference = (int)random - (int)((s->threshold >> s->shift) & 0xff);
    if (difference != 0) {
        return difference < 0 ? ACCEPTED : REJECTED;
    }
    if (s->shift == 0) {
        return REJECTED;
    }
    s->shift -= 8;
    return UNDECIDED;
}

// Draw a candidate and begin its rejection test with one byte.
static inline Verdict attempt(Sampler *s, uint64_t low, uint8_t high, uint8_t sign, uint8_t random) {
    FALCON_PHASE(SAMPLER);
    FALCON_TALLY(attempts, 1);
    const int64_t z0 = base_sample(low, high);
    const int64_t b = sign & 1;
    s->candidate = b + (2 * b - 1) * z0;
    const double distance = sub(from_integer(s->candidate), s->centre_fraction);
    double x = mul(mul(distance, distance), s->half_inverse_variance);
    x = sub(x, mul(from_integer(z0 * z0), falcon_tables::inverse_2_sigma0_squared));
    const int64_t halvings = truncate(mul(x, falcon_tables::inverse_log_2));
    const double rest = sub(x, mul(from_integer(halvings), falcon_tables::log_2));
    // Beyond 63 halvings the probability is below 2^-63; a shift must stay below 64. An invalid key
    // can give negative halvings, of which the low bits count, as in a shift by a register of x86.
    const unsigned bounded = halvings > 63 ? 63 : (unsigned)halvings & 63;
    s->threshold = ((exponential(rest, s->acceptance_scale) << 1) - 1) >> bounded;
    s->shift = 56;
    return compare_byte(s, random);
}

// Without the overflow of signed integers, for the centre of an invalid key.
static inline int64_t sample_value(const Sampler *s) {
    return (int64_t)((uint64_t)s->centre_floor + (uint64_t)s->candidate);
}

}  // namespace FALCON_NAMESPACE

#endif
