// The generator of the signer's random bits: ChaCha20 in eight interleaved blocks.
//
// Word w of block b is at byte 32 w + 4 b, the layout that eight parallel lanes write. It determines
// the use of every random byte, so two signers agree only with the same layout.
#ifndef FALCON_GENERATOR_H
#define FALCON_GENERATOR_H

#include "fp.h"

namespace FALCON_NAMESPACE {

const unsigned GENERATOR_SEED_BYTES = 56;

struct Generator {
    uint32_t state[12];  // key of 256 bits, then the base of the counter words
    uint64_t counter;
    unsigned position;
    uint8_t buffer[512];
};

static inline uint32_t load_word(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

// Wide enough for eight lanes where the compiler has vectors of 32-bit words, a plain array in HLS.
#if defined(__GNUC__) && !defined(__SYNTHESIS__) && !defined(FALCON_PLAIN_LANES)
typedef uint32_t Lanes __attribute__((vector_size(32)));
#define FALCON_LANES(x) (x)
static inline void quarter_round(Lanes *s, unsigned a, unsigned b, unsigned c, unsigned d) {
    s[a] += s[b];
    s[d] ^= s[a];
    s[d] = s[d] << 16 | s[d] >> 16;
    s[c] += s[d];
    s[b] ^= s[c];
    s[b] = s[b] << 12 | s[b] >> 20;
    s[a] += s[b];
    s[d] ^= s[a];
    s[d] = s[d] << 8 | s[d] >> 24;
    s[c] += s[d];
    s[b] ^= s[c];
    s[b] = s[b] << 7 | s[b] >> 25;
}
#else
typedef uint32_t Lanes[8];
static inline void quarter_round(Lanes *s, unsigned a, unsigned b, unsigned c, unsigned d) {
    for (unsigned lane = 0; lane < 8; lane++) {
#pragma HLS PIPELINE
        uint32_t wa = s[a][lane], wb = s[b][lane], wc = s[c][lane], wd = s[d][lane];
        wa += wb;
        wd ^= wa;
        wd = wd << 16 | wd >> 16;
        wc += wd;
        wb ^= wc;
        wb = wb << 12 | wb >> 20;
        wa += wb;
        wd ^= wa;
        wd = wd << 8 | wd >> 24;
        wc += wd;
        wb ^= wc;
        wb = wb << 7 | wb >> 25;
        s[a][lane] = wa;
        s[b][lane] = wb;
        s[c][lane] = wc;
        s[d][lane] = wd;
    }
}
#endif

static inline void refill(Generator *generator) {
    FALCON_TALLY(generator_blocks, 8);
    const uint32_t constants[4] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u};
    Lanes start[16], s[16];
    for (unsigned w = 0; w < 16; w++) {
        for (unsigned lane = 0; lane < 8; lane++) {
#pragma HLS UNROLL
            const uint64_t counter = generator->counter + lane;
            uint32_t word = w < 4 ? constants[w] : generator->state[w - 4];
            word ^= w == 14 ? (uint32_t)counter : w == 15 ? (uint32_t)(counter >> 32) : 0;
            start[w][lane] = word;
            s[w][lane] = word;
        }
    }
    generator->counter += 8;
rounds:
    for (unsigned round = 0; round < 10; round++) {
        quarter_round(s, 0, 4, 8, 12);
        quarter_round(s, 1, 5, 9, 13);
        quarter_round(s, 2, 6, 10, 14);
        quarter_round(s, 3, 7, 11, 15);
        quarter_round(s, 0, 5, 10, 15);
        quarter_round(s, 1, 6, 11, 12);
        quarter_round(s, 2, 7, 8, 13);
        quarter_round(s, 3, 4, 9, 14);
    }
    for (unsigned w = 0; w < 16; w++) {
        for (unsigned lane = 0; lane < 8; lane++) {
#pragma HLS UNROLL
            const uint32_t word = s[w][lane] + start[w][lane];
            uint8_t *out = generator->buffer + 32 * w + 4 * lane;
            out[0] = (uint8_t)word;
            out[1] = (uint8_t)(word >> 8);
            out[2] = (uint8_t)(word >> 16);
            out[3] = (uint8_t)(word >> 24);
        }
    }
    generator->position = 0;
}

static inline void seed_generator(Generator *generator, const uint8_t *seed) {
    for (unsigned w = 0; w < 12; w++) {
        generator->state[w] = load_word(seed + 4 * w);
    }
    generator->counter = load_word(seed + 48) | (uint64_t)load_word(seed + 52) << 32;
    refill(generator);
}

static inline uint8_t next_byte(Generator *generator) {
    const uint8_t byte = generator->buffer[generator->position++];
    if (generator->position == 512) {
        refill(generator);
    }
    return byte;
}

// Up to nine bytes at the end are discarded, so that the byte after a word never needs a refill.
static inline uint64_t next_word(Generator *generator) {
    if (generator->position >= 512 - 9) {
        refill(generator);
    }
    const uint8_t *bytes = generator->buffer + generator->position;
    generator->position += 8;
    return load_word(bytes) | (uint64_t)load_word(bytes + 4) << 32;
}

}  // namespace FALCON_NAMESPACE

#endif
