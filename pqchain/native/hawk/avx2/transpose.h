/* The last layers of a transform work inside vectors. Transposing blocks of as many vectors as a
 * vector has lanes makes them work between vectors again; values at the roots stay transposed, since
 * all that is done with them is done value by value. */
#ifndef HAWK_TRANSPOSE_H
#define HAWK_TRANSPOSE_H

#include "../hawk.h"

#include <immintrin.h>

static inline __m256i load(const void *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

static inline void store(void *to, __m256i value) { _mm256_storeu_si256((__m256i *)to, value); }

/* 8 x 8 values of 32 bits, in place. */
static inline void transpose32(void *block) {
    __m256i v[8], w[8];
    int32_t *values = block;
    for (int i = 0; i < 8; i++) {
        v[i] = load(values + 8 * i);
    }
    for (int i = 0; i < 4; i++) {
        w[i] = _mm256_permute2x128_si256(v[i], v[i + 4], 0x20);
        w[i + 4] = _mm256_permute2x128_si256(v[i], v[i + 4], 0x31);
    }
    for (int half = 0; half < 8; half += 4) {
        for (int i = 0; i < 2; i++) {
            v[half + 2 * i] = _mm256_unpacklo_epi32(w[half + i], w[half + i + 2]);
            v[half + 2 * i + 1] = _mm256_unpackhi_epi32(w[half + i], w[half + i + 2]);
        }
        for (int i = 0; i < 2; i++) {
            store(values + 8 * (half + 2 * i), _mm256_unpacklo_epi32(v[half + i], v[half + i + 2]));
            store(values + 8 * (half + 2 * i + 1),
                  _mm256_unpackhi_epi32(v[half + i], v[half + i + 2]));
        }
    }
}

/* 16 x 16 values of 16 bits, in place. */
static inline void transpose16(int16_t *values) {
    __m256i v[16], w[16];
    for (int i = 0; i < 16; i++) {
        v[i] = load(values + 16 * i);
    }
    for (int i = 0; i < 8; i++) {
        w[i] = _mm256_permute2x128_si256(v[i], v[i + 8], 0x20);
        w[i + 8] = _mm256_permute2x128_si256(v[i], v[i + 8], 0x31);
    }
    for (int half = 0; half < 16; half += 8) {
        for (int i = 0; i < 4; i++) {
            v[half + 2 * i] = _mm256_unpacklo_epi16(w[half + i], w[half + i + 4]);
            v[half + 2 * i + 1] = _mm256_unpackhi_epi16(w[half + i], w[half + i + 4]);
        }
        for (int i = 0; i < 4; i++) {
            w[half + 2 * i] = _mm256_unpacklo_epi16(v[half + i], v[half + i + 4]);
            w[half + 2 * i + 1] = _mm256_unpackhi_epi16(v[half + i], v[half + i + 4]);
        }
        for (int i = 0; i < 4; i++) {
            store(values + 16 * (half + 2 * i),
                  _mm256_unpacklo_epi16(w[half + i], w[half + i + 4]));
            store(values + 16 * (half + 2 * i + 1),
                  _mm256_unpackhi_epi16(w[half + i], w[half + i + 4]));
        }
    }
}

/* Where the roots of the last layers lie for transposed blocks of `lanes` squared values: for block
 * B and layer stride 1, 2, 4 .. lanes / 2, vector r of the layer has in lane s the root of block
 * stride (lanes B + s) + r. In all lanes - 1 vectors a block. */
#define HAWK_ARRANGE(to, from, count, lanes) \
    do { \
        size_t at_ = 0; \
        for (size_t block_ = 0; block_ < (count) / ((lanes) * (lanes)); block_++) { \
            for (size_t stride_ = 1; stride_ < (lanes); stride_ *= 2) { \
                const size_t layer_ = (count) / (lanes) * stride_; \
                for (size_t r_ = 0; r_ < stride_; r_++) { \
                    for (size_t s_ = 0; s_ < (lanes); s_++) { \
                        (to)[at_++] = from(layer_, stride_ * ((lanes) * block_ + s_) + r_); \
                    } \
                } \
            } \
        } \
    } while (0)

#endif
