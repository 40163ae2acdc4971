/* The tables: roots by integers when the library is loaded, the sampler's as the specification
 * prints them. */
#include "tables.h"

pq_hawk_prime pq_hawk_primes[PQ_HAWK_PRIMES] = {{.p = 2147473409u}, {.p = 2147389441u}};
int16_t pq_hawk_q_roots[PQ_HAWK_N_MAX], pq_hawk_q_scale[2];
int64_t pq_hawk_cos62[HAWK_COMPLEX_MAX], pq_hawk_sin62[HAWK_COMPLEX_MAX];
int32_t pq_hawk_cos31[HAWK_COMPLEX_MAX], pq_hawk_sin31[HAWK_COMPLEX_MAX];

const pq_hawk_steps pq_hawk_sampler_steps[2] = {
    {.high = {
         {0x580b, 0x1d34, 0x5b7, 0xa2, 0xa, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0},
         {0x35f9, 0xdd7, 0x20c, 0x2b, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0}},
     .low = {
         {0x0c27920a04f8f267, 0x1c4ff17c204aa058, 0x5e63263be0098ffd, 0x56aedfb0876a3bd8,
          0x061e21d588cc61cc, 0x2ba568d92eec18e7, 0x00cf0f8687d3b009, 0x000216a0c344eb45,
          0x000002edf0b98a84, 0x000000023af3b2e7, 0x0000000000ebcc6a, 0x00000000000034cf,
          0x0000000000000006},
         {0x3c689d9213449dc9, 0x7b908c81fce3524f, 0x4ebefd8ff4f07378, 0x4628bc6b23887196,
          0x7f769211f07b326f, 0x0668f461693dff8f, 0x001670db65964485, 0x00002ab6e11c2552,
          0x0000002c253c7e81, 0x0000000018c14abf, 0x000000000007876e, 0x000000000000013d,
          0x0000000000000000}}},
    {.high = {
         {0x58b0, 0x1e3a, 0x632, 0xbc, 0xc, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0},
         {0x36fe, 0xea0, 0x24a, 0x34, 0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0}},
     .low = {
         {0x3aaa2eb76504e560, 0x70e1c03e49bb683e, 0x55cda662ef2d1c48, 0x31e874b355421bb7,
          0x57c0676c029895a7, 0x3d4d67696e51f820, 0x014a1a8a93f20738, 0x0003daf47e8dfb21,
          0x000006634617b3ff, 0x00000005dbefb646, 0x0000000002f93038, 0x000000000000d5a7,
          0x0000000000000021},
         {0x01ae2b17728df2de, 0x6a00b82c69624c93, 0x2685db30348656a4, 0x430192770e205503,
          0x5353bd4091aa96db, 0x09915a53d8667bee, 0x0026670030160d5f, 0x0000557cd1c5f797,
          0x0000006965e15b13, 0x0000000047e9ab38, 0x00000000001b2445, 0x00000000000005aa,
          0x0000000000000000}}}
};

static unsigned reversed(unsigned value, unsigned bits) {
    unsigned result = 0;
    for (unsigned i = 0; i < bits; i++) {
        result |= (value >> i & 1) << (bits - 1 - i);
    }
    return result;
}

static uint32_t power(uint32_t base, uint32_t exponent, uint32_t p) {
    uint64_t result = 1, square = base;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            result = result * square % p;
        }
        square = square * square % p;
    }
    return (uint32_t)result;
}

/* A root of X^1024 + 1 modulo p: any element that is no square, to the right power. */
static uint32_t primitive_root(uint32_t p) {
    for (uint32_t x = 2;; x++) {
        const uint32_t root = power(x, (p - 1) / (2 * PQ_HAWK_N_MAX), p);
        if (power(root, PQ_HAWK_N_MAX, p) == p - 1) {
            return root;
        }
    }
}

uint32_t pq_hawk_mod_invert(uint32_t a, const pq_hawk_prime *prime) {
    uint32_t result = pq_hawk_mod_multiply(prime->r2, 1, prime); /* R */
    for (int bit = 30; bit >= 0; bit--) {
        result = pq_hawk_mod_multiply(result, result, prime);
        if ((prime->p - 2) >> bit & 1) {
            result = pq_hawk_mod_multiply(result, a, prime);
        }
    }
    return result;
}

static void fill_prime(pq_hawk_prime *prime) {
    const uint32_t p = prime->p, root = primitive_root(p);
    const uint64_t r = ((uint64_t)1 << 32) % p;
    uint32_t inverse = 1; /* of p modulo 2^32: each step doubles the bits that are right */
    for (int i = 0; i < 5; i++) {
        inverse *= 2 - p * inverse;
    }
    prime->minus_inverse = 0u - inverse;
    prime->r2 = (uint32_t)(r * r % p);
    prime->inverse_r = power((uint32_t)r, p - 2, p);
    for (unsigned k = 0; k < PQ_HAWK_N_MAX; k++) {
        prime->roots[k] = (uint32_t)(power(root, reversed(k, 10), p) * r % p);
    }
}

/* value R modulo q, between -q/2 and q/2. */
static int16_t signed_q(uint32_t value, uint32_t r) {
    const int32_t x = (int32_t)(value * (uint64_t)r % HAWK_Q);
    return (int16_t)(x > HAWK_Q / 2 ? x - HAWK_Q : x);
}

static void fill_q(void) {
    const uint32_t root = primitive_root(HAWK_Q), r = 65536 % HAWK_Q;
    for (unsigned k = 0; k < PQ_HAWK_N_MAX; k++) {
        pq_hawk_q_roots[k] = signed_q(power(root, reversed(k, 10), HAWK_Q), r);
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t inverse_n = power(PQ_HAWK_N_MAX / 2 << i, HAWK_Q - 2, HAWK_Q);
        pq_hawk_q_scale[i] = signed_q((uint32_t)((uint64_t)inverse_n * r % HAWK_Q), r);
    }
}

/* The integer square root of x < 2^126, rounded down. */
static int64_t square_root(int128 x) {
    int64_t root = 0;
    for (int bit = 62; bit >= 0; bit--) {
        const int64_t next = root | (int64_t)1 << bit;
        if (int128_shifted(int128_difference(x, int128_product(next, next)), 64) >= 0) {
            root = next;
        }
    }
    return root;
}

static int32_t shorter(int64_t x) {
    const int64_t rounded = (x + ((int64_t)1 << 30)) >> 31;
    return (int32_t)(rounded > INT32_MAX ? INT32_MAX : rounded);
}

/* Roots of unity of order 4, 8 .. 2048 by halving the angle, the others as products of them. */
static void fill_complex(void) {
    enum { BITS = 11 };
    const int64_t one = (int64_t)1 << 62, half = one / 2;
    int64_t c[BITS], s[BITS]; /* of 2 pi 2^i / 2048 */
    c[BITS - 1] = -one;
    s[BITS - 1] = 0;
    c[BITS - 2] = 0;
    s[BITS - 2] = one;
    for (int i = BITS - 3; i >= 0; i--) {
        c[i] = square_root(int128_product(one + c[i + 1], half));
        s[i] = (int64_t)int128_quotient(int128_product(s[i + 1], half), (uint64_t)c[i]);
    }
    for (unsigned m = 1, bits = 0; m <= HAWK_COMPLEX_MAX / 2; m *= 2, bits++) {
        for (unsigned u = 0; u < m; u++) {
            const unsigned angle = (1 + 4 * reversed(u, bits)) * (HAWK_COMPLEX_MAX / 2 / m);
            int64_t re = one, im = 0;
            for (int i = 0; i < BITS; i++) {
                if (angle >> i & 1) {
                    const int64_t old = re;
                    re = pq_hawk_products62(re, c[i], -im, s[i]);
                    im = pq_hawk_products62(old, s[i], im, c[i]);
                }
            }
            pq_hawk_cos62[m + u] = re;
            pq_hawk_sin62[m + u] = im;
            pq_hawk_cos31[m + u] = shorter(re);
            pq_hawk_sin31[m + u] = shorter(im);
        }
    }
}

__attribute__((constructor(101))) static void fill_tables(void) {
    for (unsigned i = 0; i < PQ_HAWK_PRIMES; i++) {
        fill_prime(&pq_hawk_primes[i]);
    }
    fill_q();
    fill_complex();
}
