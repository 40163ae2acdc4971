/* Keccak-f[1600] (FIPS 202) on one state, or side by side on the states in the elements of vectors. To
 * be included after LANE, the type of a lane, is defined; defines keccak(). */
static const uint64_t keccak_constants[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

#define KECCAK_INLINE static inline __attribute__((always_inline))
#define ROTATE(x, by) ((x) << (by) | (x) >> (64 - (by)))
#define MIX(x, y, by) ROTATE(a[x] ^ d[y], by)

/* One row of chi from the five lanes that rho and pi bring together. */
#define CHI(row, b0, b1, b2, b3, b4) \
    do { \
        const LANE c0 = (b0), c1 = (b1), c2 = (b2), c3 = (b3), c4 = (b4); \
        to[5 * (row)] = c0 ^ (~c1 & c2); \
        to[5 * (row) + 1] = c1 ^ (~c2 & c3); \
        to[5 * (row) + 2] = c2 ^ (~c3 & c4); \
        to[5 * (row) + 3] = c3 ^ (~c4 & c0); \
        to[5 * (row) + 4] = c4 ^ (~c0 & c1); \
    } while (0)

KECCAK_INLINE void keccak_round(LANE *to, const LANE *a, uint64_t constant) {
    LANE c[5], d[5];
    for (int x = 0; x < 5; x++) {
        c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    d[0] = c[4] ^ ROTATE(c[1], 1);
    d[1] = c[0] ^ ROTATE(c[2], 1);
    d[2] = c[1] ^ ROTATE(c[3], 1);
    d[3] = c[2] ^ ROTATE(c[4], 1);
    d[4] = c[3] ^ ROTATE(c[0], 1);
    CHI(0, a[0] ^ d[0], MIX(6, 1, 44), MIX(12, 2, 43), MIX(18, 3, 21), MIX(24, 4, 14));
    CHI(1, MIX(3, 3, 28), MIX(9, 4, 20), MIX(10, 0, 3), MIX(16, 1, 45), MIX(22, 2, 61));
    CHI(2, MIX(1, 1, 1), MIX(7, 2, 6), MIX(13, 3, 25), MIX(19, 4, 8), MIX(20, 0, 18));
    CHI(3, MIX(4, 4, 27), MIX(5, 0, 36), MIX(11, 1, 10), MIX(17, 2, 15), MIX(23, 3, 56));
    CHI(4, MIX(2, 2, 62), MIX(8, 3, 55), MIX(14, 4, 39), MIX(15, 0, 41), MIX(21, 1, 2));
    to[0] ^= constant;
}

KECCAK_INLINE void keccak(LANE state[25]) {
    LANE other[25];
    for (int round = 0; round < 24; round += 2) {
        keccak_round(other, state, keccak_constants[round]);
        keccak_round(state, other, keccak_constants[round + 1]);
    }
}

#undef ROTATE
#undef MIX
#undef CHI
