/* SHAKE256, portable. */
#include "shake.h"

#include <string.h>

const uint64_t hawk_keccak_constants[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

#define ROTATE(x, by) (((x) << (by)) | ((x) >> (64 - (by))))

/* One row of chi from the five lanes that rho and pi bring together. */
#define CHI(to, row, b0, b1, b2, b3, b4) \
    do { \
        const uint64_t c0 = (b0), c1 = (b1), c2 = (b2), c3 = (b3), c4 = (b4); \
        to[5 * (row)] = c0 ^ (~c1 & c2); \
        to[5 * (row) + 1] = c1 ^ (~c2 & c3); \
        to[5 * (row) + 2] = c2 ^ (~c3 & c4); \
        to[5 * (row) + 3] = c3 ^ (~c4 & c0); \
        to[5 * (row) + 4] = c4 ^ (~c0 & c1); \
    } while (0)

static inline void keccak_round(uint64_t *to, const uint64_t *a, uint64_t constant) {
    uint64_t c[5], d[5];
    for (int x = 0; x < 5; x++) {
        c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    d[0] = c[4] ^ ROTATE(c[1], 1);
    d[1] = c[0] ^ ROTATE(c[2], 1);
    d[2] = c[1] ^ ROTATE(c[3], 1);
    d[3] = c[2] ^ ROTATE(c[4], 1);
    d[4] = c[3] ^ ROTATE(c[0], 1);
    CHI(to, 0, a[0] ^ d[0], ROTATE(a[6] ^ d[1], 44), ROTATE(a[12] ^ d[2], 43),
        ROTATE(a[18] ^ d[3], 21), ROTATE(a[24] ^ d[4], 14));
    CHI(to, 1, ROTATE(a[3] ^ d[3], 28), ROTATE(a[9] ^ d[4], 20), ROTATE(a[10] ^ d[0], 3),
        ROTATE(a[16] ^ d[1], 45), ROTATE(a[22] ^ d[2], 61));
    CHI(to, 2, ROTATE(a[1] ^ d[1], 1), ROTATE(a[7] ^ d[2], 6), ROTATE(a[13] ^ d[3], 25),
        ROTATE(a[19] ^ d[4], 8), ROTATE(a[20] ^ d[0], 18));
    CHI(to, 3, ROTATE(a[4] ^ d[4], 27), ROTATE(a[5] ^ d[0], 36), ROTATE(a[11] ^ d[1], 10),
        ROTATE(a[17] ^ d[2], 15), ROTATE(a[23] ^ d[3], 56));
    CHI(to, 4, ROTATE(a[2] ^ d[2], 62), ROTATE(a[8] ^ d[3], 55), ROTATE(a[14] ^ d[4], 39),
        ROTATE(a[15] ^ d[0], 41), ROTATE(a[21] ^ d[1], 2));
    to[0] ^= constant;
}

void hawk_keccak(uint64_t state[25]) {
    uint64_t other[25];
    for (int round = 0; round < 24; round += 2) {
        keccak_round(other, state, hawk_keccak_constants[round]);
        keccak_round(state, other, hawk_keccak_constants[round + 1]);
    }
}

void hawk_shake_start(hawk_shake *shake) { memset(shake, 0, sizeof *shake); }

void hawk_shake_absorb(hawk_shake *shake, const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        shake->state[shake->at >> 3] ^= (uint64_t)data[i] << (8 * (shake->at & 7));
        if (++shake->at == HAWK_SHAKE_RATE) {
            hawk_keccak(shake->state);
            shake->at = 0;
        }
    }
}

void hawk_shake_finish(hawk_shake *shake) {
    shake->state[shake->at >> 3] ^= (uint64_t)0x1f << (8 * (shake->at & 7));
    shake->state[HAWK_SHAKE_RATE / 8 - 1] ^= (uint64_t)1 << 63;
    shake->at = HAWK_SHAKE_RATE; /* the first byte that is squeezed permutes */
}

void hawk_shake_squeeze(hawk_shake *shake, uint8_t *out, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (shake->at == HAWK_SHAKE_RATE) {
            hawk_keccak(shake->state);
            shake->at = 0;
        }
        out[i] = (uint8_t)(shake->state[shake->at >> 3] >> (8 * (shake->at & 7)));
        shake->at++;
    }
}
