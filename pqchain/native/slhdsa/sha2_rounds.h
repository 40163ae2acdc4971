/* The compression function of SHA-256 or SHA-512 (FIPS 180-4, sections 6.2.2 and 6.4.2), on words or
 * on vectors of words. To be included once for each type, with WORD, BITS (32 or 64) and COMPRESS
 * (the name of the function) defined, which it undefines. */
#define ROTATE(x, by) ((x) >> (by) | (x) << (BITS - (by)))
#if BITS == 32
#define CONSTANTS slh_sha256_constants
#define SUM_A(x) (ROTATE(x, 2) ^ ROTATE(x, 13) ^ ROTATE(x, 22))
#define SUM_E(x) (ROTATE(x, 6) ^ ROTATE(x, 11) ^ ROTATE(x, 25))
#define NEXT_0(x) (ROTATE(x, 7) ^ ROTATE(x, 18) ^ (x) >> 3)
#define NEXT_1(x) (ROTATE(x, 17) ^ ROTATE(x, 19) ^ (x) >> 10)
#else
#define CONSTANTS slh_sha512_constants
#define SUM_A(x) (ROTATE(x, 28) ^ ROTATE(x, 34) ^ ROTATE(x, 39))
#define SUM_E(x) (ROTATE(x, 14) ^ ROTATE(x, 18) ^ ROTATE(x, 41))
#define NEXT_0(x) (ROTATE(x, 1) ^ ROTATE(x, 8) ^ (x) >> 7)
#define NEXT_1(x) (ROTATE(x, 19) ^ ROTATE(x, 61) ^ (x) >> 6)
#endif

#define EXPAND(i) \
    (w[(i) & 15] += NEXT_0(w[((i) + 1) & 15]) + w[((i) + 9) & 15] + NEXT_1(w[((i) + 14) & 15]))

#define ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        h += SUM_E(e) + (g ^ (e & (f ^ g))) + (w[(i) & 15] + CONSTANTS[i]); \
        d += h; \
        h += SUM_A(a) + ((a & b) | (c & (a | b))); \
    } while (0)

/* All rounds on a state and 16 words, which are overwritten. */
SLH_INLINE void COMPRESS(WORD state[8], WORD w[16]) {
    WORD a = state[0], b = state[1], c = state[2], d = state[3];
    WORD e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < (BITS == 32 ? 64 : 80); i += 8) {
        if (i >= 16) {
            for (int j = i; j < i + 8; j++) {
                EXPAND(j);
            }
        }
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

#undef ROTATE
#undef CONSTANTS
#undef SUM_A
#undef SUM_E
#undef NEXT_0
#undef NEXT_1
#undef EXPAND
#undef ROUND
#undef WORD
#undef BITS
#undef COMPRESS
