// Random numbers and digests for the benches, identical in every bit on every machine.
#ifndef CSIM_BITS_H
#define CSIM_BITS_H

#include <stdint.h>
#include <string.h>

// splitmix64
struct Numbers {
    uint64_t state;
    explicit Numbers(uint64_t seed) : state(seed) {}
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // Any binary64 between -4096 and 4096 with 53 random bits.
    double real() { return (double)(int64_t)(next() >> 11) * (1.0 / 1099511627776.0) - 4096.0; }
};

// Digest of the bits of the values, in which -0.0 and 0.0 differ.
struct Digest {
    uint64_t hash = 0xcbf29ce484222325u;
    void word(uint64_t bits) {
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    void reals(const double *values, unsigned count) {
        for (unsigned k = 0; k < count; k++) {
            uint64_t bits;
            memcpy(&bits, values + k, sizeof bits);
            word(bits);
        }
    }
};

#endif
