/* Four streams of SHAKE256 side by side, one in each 64-bit lane. */
#include "../hawk.h"
#include "../../shake.h"

#include <string.h>

typedef uint64_t vec __attribute__((vector_size(32)));

#define LANE vec
#include "../../keccak.h"

static void permute(vec state[25]) { keccak(state); }

void pq_hawk_shake256_x4(uint64_t *words, size_t rows, const uint8_t *seed, size_t seed_bytes) {
    enum { LANES = PQ_SHAKE_RATE / 8, BLOCKS_MAX = 2 };
    uint8_t padded[BLOCKS_MAX * PQ_SHAKE_RATE] = {0};
    const size_t blocks = (seed_bytes + 1) / PQ_SHAKE_RATE + 1;
    vec state[25] = {{0}};
    memcpy(padded, seed, seed_bytes);
    padded[seed_bytes + 1] = 0x1f;
    padded[blocks * PQ_SHAKE_RATE - 1] |= 0x80;
    for (size_t block = 0; block < blocks; block++) {
        if (block > 0) {
            permute(state);
        }
        for (size_t i = 0; i < LANES; i++) {
            uint64_t word = 0;
            for (size_t j = 8; j-- > 0;) {
                word = word << 8 | padded[block * PQ_SHAKE_RATE + 8 * i + j];
            }
            state[i] ^= word;
        }
        if (seed_bytes / PQ_SHAKE_RATE == block) { /* the byte that tells the streams apart */
            const size_t at = seed_bytes % PQ_SHAKE_RATE;
            state[at / 8] ^= (vec){0, 1, 2, 3} << (8 * (at % 8));
        }
    }
    for (size_t row = 0; row < rows; row += LANES) {
        permute(state);
        memcpy(words + 4 * row, state, LANES * sizeof state[0]);
    }
}
