/* SHA3-256 (FIPS 202) of many strings at once: eight states in generic vectors, which the compiler
 * maps to the vector registers of the processor. */
#include "block.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "lanes are little-endian"
#endif

/* Compiled for several processors; the loader selects the version. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

enum { WIDE = 8, LANES = 25, RATE = 136, DIGEST = 32 };

typedef uint64_t lane __attribute__((vector_size(8 * WIDE)));

#define LANE lane
#include "../keccak.h"

FOR_EACH_PROCESSOR
static void permute(lane *state) { keccak(state); }

/* Two concatenated strings. */
typedef struct {
    const uint8_t *first, *second;
    uint64_t first_bytes, second_bytes;
} strings;

/* Copy the bytes from `at` on, RATE of them or with the padding of SHA-3; return whether they are the
 * last. */
static int next_block(const strings *s, uint64_t at, uint8_t *block) {
    const uint64_t total = s->first_bytes + s->second_bytes;
    const uint64_t count = total - at < RATE ? total - at : RATE;
    uint64_t filled = 0;
    if (at < s->first_bytes) {
        filled = s->first_bytes - at < count ? s->first_bytes - at : count;
        memcpy(block, s->first + at, filled);
    }
    if (filled < count) {
        memcpy(block + filled, s->second + (at + filled - s->first_bytes), count - filled);
    }
    if (count == RATE) {
        return 0;
    }
    memset(block + count, 0, RATE - count);
    block[count] = 0x06;
    block[RATE - 1] |= 0x80;
    return 1;
}

/* Hash at most WIDE strings. */
static void hash_some(uint8_t *digests, const strings *each, int count) {
    lane state[LANES];
    uint64_t *words = (uint64_t *)state;
    int ended[WIDE] = {0}, left = count;
    memset(state, 0, sizeof state);
    for (uint64_t at = 0; left > 0; at += RATE) {
        int last[WIDE] = {0};
        for (int i = 0; i < count; i++) {
            uint64_t block[RATE / 8];
            if (ended[i]) {
                continue;
            }
            last[i] = next_block(&each[i], at, (uint8_t *)block);
            for (int w = 0; w < RATE / 8; w++) {
                words[WIDE * w + i] ^= block[w];
            }
        }
        permute(state);
        for (int i = 0; i < count; i++) {
            if (!last[i]) {
                continue;
            }
            ended[i] = 1;
            left--;
            for (int w = 0; w < DIGEST / 8; w++) {
                memcpy(digests + DIGEST * i + 8 * w, &words[WIDE * w + i], 8);
            }
        }
    }
}

PQB_API int64_t pqb_hash(uint8_t *digests, const uint8_t *prefix, int64_t prefix_bytes,
                         const uint8_t *data, const uint64_t *starts, const uint64_t *ends,
                         int64_t count) {
    for (int64_t from = 0; from < count; from += WIDE) {
        strings each[WIDE];
        const int some = count - from < WIDE ? (int)(count - from) : WIDE;
        for (int i = 0; i < some; i++) {
            const uint64_t start = starts[from + i];
            each[i] = (strings){prefix, data + start, (uint64_t)prefix_bytes,
                                ends[from + i] - start};
        }
        hash_some(digests + DIGEST * from, each, some);
    }
    return 0;
}
