/* SHAKE and SHA-3 (FIPS 202) for mldsa-native and mlkem-native, one state or four side by side. Their
 * headers define FAMILY(name), which puts their prefix before a name. */
#ifndef PQCP_SPONGE_H
#define PQCP_SPONGE_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHAKE128_RATE 168
#define SHAKE256_RATE 136
#define SHA3_256_RATE 136
#define SHA3_384_RATE 104
#define SHA3_512_RATE 72

#define SPONGE_INLINE static inline __attribute__((unused))

enum { SPONGE_SHAKE = 0x1f, SPONGE_SHA3 = 0x06 };

typedef struct {
    uint64_t state[25];
    size_t at; /* bytes absorbed into, or squeezed from, the present block */
} sponge;

typedef struct {
    __m256i state[25];
} sponge_x4;

void pqcp_keccak(uint64_t state[25]);
void pqcp_keccak_x4(__m256i state[25]);

SPONGE_INLINE void sponge_absorb(sponge *s, size_t rate, const uint8_t *data, size_t bytes) {
    uint8_t *state = (uint8_t *)s->state; /* x86 is little-endian, as Keccak */
    while (bytes > 0) {
        const size_t room = rate - s->at, count = bytes < room ? bytes : room;
        size_t i = 0;
        for (; i + 8 <= count; i += 8) {
            uint64_t word, old;
            memcpy(&word, data + i, 8);
            memcpy(&old, state + s->at + i, 8);
            word ^= old;
            memcpy(state + s->at + i, &word, 8);
        }
        for (; i < count; i++) {
            state[s->at + i] ^= data[i];
        }
        s->at += count;
        data += count;
        bytes -= count;
        if (s->at == rate) {
            pqcp_keccak(s->state);
            s->at = 0;
        }
    }
}

SPONGE_INLINE void sponge_finish(sponge *s, size_t rate, uint8_t suffix) {
    ((uint8_t *)s->state)[s->at] ^= suffix;
    ((uint8_t *)s->state)[rate - 1] ^= 0x80;
    s->at = rate; /* the first byte that is squeezed permutes */
}

SPONGE_INLINE void sponge_squeeze(sponge *s, size_t rate, uint8_t *out, size_t bytes) {
    while (bytes > 0) {
        if (s->at == rate) {
            pqcp_keccak(s->state);
            s->at = 0;
        }
        const size_t count = bytes < rate - s->at ? bytes : rate - s->at;
        memcpy(out, (const uint8_t *)s->state + s->at, count);
        s->at += count;
        out += count;
        bytes -= count;
    }
}

SPONGE_INLINE void sponge_hash(size_t rate, uint8_t suffix, uint8_t *out, size_t out_bytes,
                               const uint8_t *in, size_t in_bytes) {
    sponge s = {{0}, 0};
    sponge_absorb(&s, rate, in, in_bytes);
    sponge_finish(&s, rate, suffix);
    sponge_squeeze(&s, rate, out, out_bytes);
}

/* Absorb four inputs of one length, and pad. */
SPONGE_INLINE void sponge_absorb_x4(sponge_x4 *s, size_t rate, const uint8_t *in0,
                                    const uint8_t *in1, const uint8_t *in2, const uint8_t *in3,
                                    size_t bytes) {
    const uint8_t *in[4] = {in0, in1, in2, in3};
    memset(s->state, 0, sizeof s->state);
    for (int last = 0; !last;) {
        uint64_t block[4][SHAKE128_RATE / 8] = {{0}};
        const size_t count = bytes < rate ? bytes : rate;
        last = bytes < rate;
        for (int lane = 0; lane < 4; lane++) {
            memcpy(block[lane], in[lane], count);
            if (last) {
                ((uint8_t *)block[lane])[count] ^= SPONGE_SHAKE;
                ((uint8_t *)block[lane])[rate - 1] ^= 0x80;
            }
            in[lane] += count;
        }
        bytes -= count;
        for (size_t i = 0; i < rate / 8; i++) {
            s->state[i] = _mm256_xor_si256(
                s->state[i], _mm256_set_epi64x((int64_t)block[3][i], (int64_t)block[2][i],
                                               (int64_t)block[1][i], (int64_t)block[0][i]));
        }
        if (!last) {
            pqcp_keccak_x4(s->state);
        }
    }
}

SPONGE_INLINE void sponge_squeeze_x4(sponge_x4 *s, size_t rate, uint8_t *out0, uint8_t *out1,
                                     uint8_t *out2, uint8_t *out3, size_t blocks) {
    uint8_t *out[4] = {out0, out1, out2, out3};
    for (; blocks > 0; blocks--) {
        pqcp_keccak_x4(s->state);
        size_t i = 0;
        for (; i + 4 <= rate / 8; i += 4) { /* transpose four by four words */
            const __m256i a = _mm256_unpacklo_epi64(s->state[i], s->state[i + 1]);
            const __m256i b = _mm256_unpackhi_epi64(s->state[i], s->state[i + 1]);
            const __m256i c = _mm256_unpacklo_epi64(s->state[i + 2], s->state[i + 3]);
            const __m256i d = _mm256_unpackhi_epi64(s->state[i + 2], s->state[i + 3]);
            const __m256i rows[4] = {
                _mm256_permute2x128_si256(a, c, 0x20), _mm256_permute2x128_si256(b, d, 0x20),
                _mm256_permute2x128_si256(a, c, 0x31), _mm256_permute2x128_si256(b, d, 0x31)};
            for (int lane = 0; lane < 4; lane++) {
                _mm256_storeu_si256((__m256i *)(void *)(out[lane] + 8 * i), rows[lane]);
            }
        }
        for (; i < rate / 8; i++) {
            uint64_t words[4];
            memcpy(words, &s->state[i], sizeof words);
            for (int lane = 0; lane < 4; lane++) {
                memcpy(out[lane] + 8 * i, &words[lane], 8);
            }
        }
        for (int lane = 0; lane < 4; lane++) {
            out[lane] += rate;
        }
    }
}

SPONGE_INLINE void sponge_shake256_x4(uint8_t *out0, uint8_t *out1, uint8_t *out2, uint8_t *out3,
                                      size_t out_bytes, const uint8_t *in0, const uint8_t *in1,
                                      const uint8_t *in2, const uint8_t *in3, size_t in_bytes) {
    const size_t blocks = out_bytes / SHAKE256_RATE, rest = out_bytes % SHAKE256_RATE;
    sponge_x4 s;
    sponge_absorb_x4(&s, SHAKE256_RATE, in0, in1, in2, in3, in_bytes);
    sponge_squeeze_x4(&s, SHAKE256_RATE, out0, out1, out2, out3, blocks);
    if (rest > 0) {
        uint8_t last[4][SHAKE256_RATE];
        uint8_t *const out[4] = {out0, out1, out2, out3};
        sponge_squeeze_x4(&s, SHAKE256_RATE, last[0], last[1], last[2], last[3], 1);
        for (int lane = 0; lane < 4; lane++) {
            memcpy(out[lane] + blocks * SHAKE256_RATE, last[lane], rest);
        }
    }
}

#endif

/* The functions by their names in both projects. */
#if defined(FAMILY) && !defined(PQCP_SPONGE_NAMES)
#define PQCP_SPONGE_NAMES
#define SPONGE_XOF(bits, rate) \
    SPONGE_INLINE void FAMILY(shake##bits##_init)(sponge *s) { memset(s, 0, sizeof *s); } \
    SPONGE_INLINE void FAMILY(shake##bits##_release)(sponge *s) { (void)s; } \
    SPONGE_INLINE void FAMILY(shake##bits##_absorb)(sponge *s, const uint8_t *in, size_t bytes) { \
        sponge_absorb(s, rate, in, bytes); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##_finalize)(sponge *s) { \
        sponge_finish(s, rate, SPONGE_SHAKE); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##_absorb_once)(sponge *s, const uint8_t *in, \
                                                         size_t bytes) { \
        sponge_absorb(s, rate, in, bytes); \
        sponge_finish(s, rate, SPONGE_SHAKE); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##_squeeze)(uint8_t *out, size_t bytes, sponge *s) { \
        sponge_squeeze(s, rate, out, bytes); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##_squeezeblocks)(uint8_t *out, size_t blocks, \
                                                           sponge *s) { \
        sponge_squeeze(s, rate, out, blocks * (rate)); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##x4_init)(sponge_x4 *s) { (void)s; } \
    SPONGE_INLINE void FAMILY(shake##bits##x4_release)(sponge_x4 *s) { (void)s; } \
    SPONGE_INLINE void FAMILY(shake##bits##x4_absorb_once)( \
        sponge_x4 *s, const uint8_t *in0, const uint8_t *in1, const uint8_t *in2, \
        const uint8_t *in3, size_t bytes) { \
        sponge_absorb_x4(s, rate, in0, in1, in2, in3, bytes); \
    } \
    SPONGE_INLINE void FAMILY(shake##bits##x4_squeezeblocks)( \
        uint8_t *out0, uint8_t *out1, uint8_t *out2, uint8_t *out3, size_t blocks, \
        sponge_x4 *s) { \
        sponge_squeeze_x4(s, rate, out0, out1, out2, out3, blocks); \
    }

SPONGE_XOF(128, SHAKE128_RATE)
SPONGE_XOF(256, SHAKE256_RATE)

SPONGE_INLINE void FAMILY(shake256)(uint8_t *out, size_t out_bytes, const uint8_t *in,
                                    size_t in_bytes) {
    sponge_hash(SHAKE256_RATE, SPONGE_SHAKE, out, out_bytes, in, in_bytes);
}
SPONGE_INLINE void FAMILY(shake256x4)(uint8_t *out0, uint8_t *out1, uint8_t *out2, uint8_t *out3,
                                      size_t out_bytes, uint8_t *in0, uint8_t *in1, uint8_t *in2,
                                      uint8_t *in3, size_t in_bytes) {
    sponge_shake256_x4(out0, out1, out2, out3, out_bytes, in0, in1, in2, in3, in_bytes);
}
SPONGE_INLINE void FAMILY(sha3_256)(uint8_t *out, const uint8_t *in, size_t bytes) {
    sponge_hash(SHA3_256_RATE, SPONGE_SHA3, out, 32, in, bytes);
}
SPONGE_INLINE void FAMILY(sha3_512)(uint8_t *out, const uint8_t *in, size_t bytes) {
    sponge_hash(SHA3_512_RATE, SPONGE_SHA3, out, 64, in, bytes);
}
#endif
