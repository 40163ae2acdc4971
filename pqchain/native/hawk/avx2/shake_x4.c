/* Four streams of SHAKE256 side by side, one in each 64-bit lane. */
#include "../hawk.h"
#include "../shake.h"

#include <immintrin.h>
#include <string.h>

#define XOR _mm256_xor_si256
#define ROTATE(x, by) \
    XOR(_mm256_slli_epi64((x), (by)), _mm256_srli_epi64((x), 64 - (by)))

#define CHI(to, row, b0, b1, b2, b3, b4) \
    do { \
        const __m256i c0 = (b0), c1 = (b1), c2 = (b2), c3 = (b3), c4 = (b4); \
        to[5 * (row)] = XOR(c0, _mm256_andnot_si256(c1, c2)); \
        to[5 * (row) + 1] = XOR(c1, _mm256_andnot_si256(c2, c3)); \
        to[5 * (row) + 2] = XOR(c2, _mm256_andnot_si256(c3, c4)); \
        to[5 * (row) + 3] = XOR(c3, _mm256_andnot_si256(c4, c0)); \
        to[5 * (row) + 4] = XOR(c4, _mm256_andnot_si256(c0, c1)); \
    } while (0)

#define MIX(x, y, by) ROTATE(XOR(a[x], d[y]), by)

static inline void keccak_round(__m256i *to, const __m256i *a, uint64_t constant) {
    __m256i c[5], d[5];
    for (int x = 0; x < 5; x++) {
        c[x] = XOR(XOR(XOR(a[x], a[x + 5]), XOR(a[x + 10], a[x + 15])), a[x + 20]);
    }
    d[0] = XOR(c[4], ROTATE(c[1], 1));
    d[1] = XOR(c[0], ROTATE(c[2], 1));
    d[2] = XOR(c[1], ROTATE(c[3], 1));
    d[3] = XOR(c[2], ROTATE(c[4], 1));
    d[4] = XOR(c[3], ROTATE(c[0], 1));
    CHI(to, 0, XOR(a[0], d[0]), MIX(6, 1, 44), MIX(12, 2, 43), MIX(18, 3, 21), MIX(24, 4, 14));
    CHI(to, 1, MIX(3, 3, 28), MIX(9, 4, 20), MIX(10, 0, 3), MIX(16, 1, 45), MIX(22, 2, 61));
    CHI(to, 2, MIX(1, 1, 1), MIX(7, 2, 6), MIX(13, 3, 25), MIX(19, 4, 8), MIX(20, 0, 18));
    CHI(to, 3, MIX(4, 4, 27), MIX(5, 0, 36), MIX(11, 1, 10), MIX(17, 2, 15), MIX(23, 3, 56));
    CHI(to, 4, MIX(2, 2, 62), MIX(8, 3, 55), MIX(14, 4, 39), MIX(15, 0, 41), MIX(21, 1, 2));
    to[0] = XOR(to[0], _mm256_set1_epi64x((long long)constant));
}

static void keccak(__m256i state[25]) {
    __m256i other[25];
    for (int round = 0; round < 24; round += 2) {
        keccak_round(other, state, hawk_keccak_constants[round]);
        keccak_round(state, other, hawk_keccak_constants[round + 1]);
    }
}

void hawk_shake256_x4(uint64_t *words, size_t rows, const uint8_t *seed, size_t seed_bytes) {
    enum { LANES = HAWK_SHAKE_RATE / 8, BLOCKS_MAX = 2 };
    uint8_t padded[BLOCKS_MAX * HAWK_SHAKE_RATE] = {0};
    const size_t blocks = (seed_bytes + 1) / HAWK_SHAKE_RATE + 1;
    __m256i state[25];
    for (int i = 0; i < 25; i++) {
        state[i] = _mm256_setzero_si256();
    }
    memcpy(padded, seed, seed_bytes);
    padded[seed_bytes + 1] = 0x1f;
    padded[blocks * HAWK_SHAKE_RATE - 1] |= 0x80;
    for (size_t block = 0; block < blocks; block++) {
        if (block > 0) {
            keccak(state);
        }
        for (size_t i = 0; i < LANES; i++) {
            uint64_t word = 0;
            for (size_t j = 8; j-- > 0;) {
                word = word << 8 | padded[block * HAWK_SHAKE_RATE + 8 * i + j];
            }
            state[i] = XOR(state[i], _mm256_set1_epi64x((long long)word));
        }
        if (seed_bytes / HAWK_SHAKE_RATE == block) { /* the byte that tells the streams apart */
            const size_t at = seed_bytes % HAWK_SHAKE_RATE;
            const __m256i number = _mm256_set_epi64x(3, 2, 1, 0);
            state[at / 8] =
                XOR(state[at / 8], _mm256_slli_epi64(number, (int)(8 * (at % 8))));
        }
    }
    for (size_t row = 0; row < rows; row += LANES) {
        keccak(state);
        for (size_t i = 0; i < LANES; i++) {
            _mm256_storeu_si256((__m256i *)(void *)(words + 4 * (row + i)), state[i]);
        }
    }
}
