/* SHAKE (FIPS 202) of several inputs side by side, one in each element of the compiler's vectors of
 * PQ_VECTOR_BYTES. To be included once in a file. x86 is little-endian, as Keccak. */
#ifndef PQ_SHAKE_LANES_H
#define PQ_SHAKE_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef PQ_VECTOR_BYTES
#define PQ_VECTOR_BYTES 32
#endif

enum { SHAKE_LANES = PQ_VECTOR_BYTES / 8, SHAKE_128 = 168, SHAKE_256 = 136 /* rates */ };

typedef uint64_t shake_vector __attribute__((vector_size(PQ_VECTOR_BYTES)));

#define LANE shake_vector
#define keccak shake_keccak
#define keccak_round shake_keccak_round
#define keccak_constants shake_keccak_constants
#include "keccak.h"
#undef LANE
#undef keccak
#undef keccak_round
#undef keccak_constants
#undef KECCAK_INLINE

/* A function of its own, so that its code is once in a library. */
static __attribute__((noinline)) void shake_permute(shake_vector state[25]) {
    shake_keccak(state);
}

/* An input in two parts. */
typedef struct {
    const uint8_t *part[2];
    size_t bytes[2];
} shake_input;

/* Copy at most `most` bytes of an input from a position; returns their number. */
static inline size_t shake_read(uint8_t *to, const shake_input *in, size_t from, size_t most) {
    size_t copied = 0;
    for (int i = 0; i < 2; i++) {
        if (from < in->bytes[i]) {
            const size_t left = in->bytes[i] - from, room = most - copied;
            const size_t taken = left < room ? left : room;
            memcpy(to + copied, in->part[i] + from, taken);
            copied += taken;
            from += taken;
        }
        from -= in->bytes[i] < from ? in->bytes[i] : from;
    }
    return copied;
}

/* The states of up to SHAKE_LANES inputs of any lengths, which begin with the first output block. */
static inline void shake_lanes(size_t rate, size_t count, const shake_input in[],
                               uint64_t states[][25]) {
    shake_vector state[25] = {{0}};
    size_t at[SHAKE_LANES] = {0}, unfinished = count;
    int last[SHAKE_LANES] = {0}, finished[SHAKE_LANES] = {0};
    while (unfinished > 0) {
        uint64_t block[SHAKE_LANES][SHAKE_128 / 8] = {{0}};
        for (size_t lane = 0; lane < count; lane++) {
            uint8_t *bytes = (uint8_t *)block[lane];
            if (!finished[lane]) {
                const size_t read = shake_read(bytes, &in[lane], at[lane], rate);
                at[lane] += read;
                if (read < rate) {
                    bytes[read] ^= 0x1f;
                    bytes[rate - 1] ^= 0x80;
                    last[lane] = 1;
                }
            }
        }
        for (size_t i = 0; i < rate / 8; i++) {
            uint64_t words[SHAKE_LANES];
            shake_vector next;
            for (size_t lane = 0; lane < SHAKE_LANES; lane++) {
                words[lane] = block[lane][i];
            }
            memcpy(&next, words, sizeof next);
            state[i] ^= next;
        }
        shake_permute(state);
        for (size_t lane = 0; lane < count; lane++) {
            if (last[lane] && !finished[lane]) {
                for (size_t i = 0; i < 25; i++) {
                    states[lane][i] = state[i][lane];
                }
                finished[lane] = 1;
                unfinished--;
            }
        }
    }
}

/* Permute, and write the next output block of each lane. */
static inline void shake_next(size_t rate, shake_vector state[25], uint8_t *const out[]) {
    shake_permute(state);
    for (size_t i = 0; i < rate / 8; i++) {
        uint64_t words[SHAKE_LANES];
        memcpy(words, &state[i], sizeof words);
        for (size_t lane = 0; lane < SHAKE_LANES; lane++) {
            memcpy(out[lane] + 8 * i, &words[lane], 8);
        }
    }
}

#endif
