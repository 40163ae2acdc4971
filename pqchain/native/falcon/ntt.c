/* Polynomials modulo q = 12289 and x^n + 1: completion of the secret key, and verification. */
#include "falcon_host.h"

#include "roots.h"

enum { Q = FALCON_Q };

static inline uint32_t add_q(uint32_t a, uint32_t b) {
    const uint32_t sum = a + b - Q;
    return sum + (Q & -(sum >> 31));
}

static inline uint32_t sub_q(uint32_t a, uint32_t b) {
    const uint32_t difference = a - b;
    return difference + (Q & -(difference >> 31));
}

static inline uint32_t mul_q(uint32_t a, uint32_t b) { return a * b % Q; }

/* Entry k of the tables is a power of a 2048th root with its exponent reversed in ten bits, so the
 * first n entries serve every n. */
static void forward(uint16_t *a, unsigned logn) {
    const unsigned n = 1u << logn;
    for (unsigned groups = 1, width = n / 2; groups < n; groups *= 2, width /= 2) {
        for (unsigned group = 0; group < groups; group++) {
            const uint32_t root = ntt_roots[groups + group];
            uint16_t *x = a + 2 * group * width, *y = x + width;
            for (unsigned k = 0; k < width; k++) {
                const uint32_t t = mul_q(y[k], root), u = x[k];
                x[k] = (uint16_t)add_q(u, t);
                y[k] = (uint16_t)sub_q(u, t);
            }
        }
    }
}

static void inverse(uint16_t *a, unsigned logn) {
    const unsigned n = 1u << logn;
    for (unsigned groups = n / 2, width = 1; groups > 0; groups /= 2, width *= 2) {
        for (unsigned group = 0; group < groups; group++) {
            const uint32_t root = ntt_inverse_roots[groups + group];
            uint16_t *x = a + 2 * group * width, *y = x + width;
            for (unsigned k = 0; k < width; k++) {
                const uint32_t u = x[k], v = y[k];
                x[k] = (uint16_t)add_q(u, v);
                y[k] = (uint16_t)mul_q(sub_q(u, v), root);
            }
        }
    }
    const uint32_t inverse_n = Q - (Q - 1) / n;
    for (unsigned k = 0; k < n; k++) {
        a[k] = (uint16_t)mul_q(a[k], inverse_n);
    }
}

static inline uint16_t residue(int32_t value) {
    return (uint16_t)(value + (Q & -((uint32_t)value >> 31)));
}

static inline int32_t centred(uint32_t value) {
    return (int32_t)value - (int32_t)(Q & -((uint32_t)(Q / 2 - value) >> 31));
}

/* a^(q-2), by squaring; the exponent is public. */
static uint32_t invert(uint32_t a) {
    uint32_t result = 1;
    for (unsigned exponent = Q - 2; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            result = mul_q(result, a);
        }
        a = mul_q(a, a);
    }
    return result;
}

/* Whether f G - g F = q, and not only modulo q: with F = 0, or F = f, G is short too, and the signer
 * would search forever. Compared modulo another prime, at a root of x^n + 1. */
static int solves_equation(const int8_t *key, const int8_t *capital_g, unsigned logn) {
    enum { P = 18433 };
    const unsigned n = 1u << logn;
    const uint32_t root = logn == 10 ? 17660 : 7673;
    uint32_t f = 0, g = 0, capital_f = 0, big_g = 0;
    for (unsigned k = n; k-- > 0;) {
        f = (f * root + P + (uint32_t)(int32_t)key[k]) % P;
        g = (g * root + P + (uint32_t)(int32_t)key[n + k]) % P;
        capital_f = (capital_f * root + P + (uint32_t)(int32_t)key[2 * n + k]) % P;
        big_g = (big_g * root + P + (uint32_t)(int32_t)capital_g[k]) % P;
    }
    return (f * big_g % P + P - g * capital_f % P) % P == Q;
}

/* All inverses out of one: products of everything before, then back. True if a value is 0. */
static uint32_t invert_all(uint16_t *a, unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t before[FALCON_MAX_N];
    uint32_t product = 1, zero = 0;
    for (unsigned k = 0; k < n; k++) {
        zero |= a[k] == 0;
        before[k] = (uint16_t)product;
        product = mul_q(product, a[k]);
    }
    uint32_t running = invert(product);
    for (unsigned k = n; k-- > 0;) {
        const uint32_t inverse_a = mul_q(running, before[k]);
        running = mul_q(running, a[k]);
        a[k] = (uint16_t)inverse_a;
    }
    falcon_wipe(before, sizeof before);
    return zero;
}

int falcon_complete_key(int8_t *capital_g, const int8_t *key, unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t f[FALCON_MAX_N], g[FALCON_MAX_N], capital_f[FALCON_MAX_N];
    for (unsigned k = 0; k < n; k++) {
        f[k] = residue(key[k]);
        g[k] = residue(key[n + k]);
        capital_f[k] = residue(key[2 * n + k]);
    }
    forward(f, logn);
    forward(g, logn);
    forward(capital_f, logn);
    uint32_t damaged = invert_all(f, logn);
    for (unsigned k = 0; k < n; k++) {
        g[k] = (uint16_t)mul_q(mul_q(g[k], capital_f[k]), f[k]);
    }
    inverse(g, logn);
    for (unsigned k = 0; k < n; k++) {
        const int32_t value = centred(g[k]);
        damaged |= value < -127 || value > 127;
        capital_g[k] = (int8_t)value;
    }
    falcon_wipe(f, sizeof f);
    falcon_wipe(g, sizeof g);
    falcon_wipe(capital_f, sizeof capital_f);
    return damaged || !solves_equation(key, capital_g, logn) ? -1 : 0;
}

int falcon_derive_public(uint16_t *h, const int8_t *key, unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t f[FALCON_MAX_N];
    for (unsigned k = 0; k < n; k++) {
        f[k] = residue(key[k]);
        h[k] = residue(key[n + k]);
    }
    forward(f, logn);
    forward(h, logn);
    const uint32_t damaged = invert_all(f, logn);
    for (unsigned k = 0; k < n; k++) {
        h[k] = (uint16_t)mul_q(h[k], f[k]);
    }
    inverse(h, logn);
    falcon_wipe(f, sizeof f);
    return damaged ? -1 : 0;
}

void falcon_transform_key(uint16_t *h, unsigned logn) { forward(h, logn); }

static void first_half(int16_t *s1, const uint16_t *point, const int16_t *s2, const uint16_t *key,
                       unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t product[FALCON_MAX_N];
    for (unsigned k = 0; k < n; k++) {
        product[k] = residue(s2[k]);
    }
    forward(product, logn);
    for (unsigned k = 0; k < n; k++) {
        product[k] = (uint16_t)mul_q(product[k], key[k]);
    }
    inverse(product, logn);
    for (unsigned k = 0; k < n; k++) {
        s1[k] = (int16_t)centred(sub_q(point[k], product[k]));
    }
}

void falcon_first_half(int16_t *s1, const uint16_t *point, const int16_t *s2, const uint16_t *h,
                       unsigned logn) {
    uint16_t key[FALCON_MAX_N];
    for (unsigned k = 0; k < 1u << logn; k++) {
        key[k] = h[k];
    }
    forward(key, logn);
    first_half(s1, point, s2, key, logn);
}

int falcon_is_short(const int16_t *s1, const int16_t *s2, unsigned logn) {
    uint64_t norm = 0;
    for (unsigned k = 0; k < 1u << logn; k++) {
        norm += (uint64_t)((int64_t)s1[k] * s1[k]) + (uint64_t)((int64_t)s2[k] * s2[k]);
    }
    return norm <= (logn == 9 ? 34034726u : 70265242u);
}

int falcon_is_valid(const uint16_t *point, const int16_t *s2, const uint16_t *key, unsigned logn) {
    int16_t s1[FALCON_MAX_N];
    first_half(s1, point, s2, key, logn);
    return falcon_is_short(s1, s2, logn);
}

int falcon_is_invertible(const int16_t *s2, unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t values[FALCON_MAX_N];
    uint32_t zero = 0;
    for (unsigned k = 0; k < n; k++) {
        values[k] = residue(s2[k]);
    }
    forward(values, logn);
    for (unsigned k = 0; k < n; k++) {
        zero |= values[k] == 0;
    }
    return !zero;
}

int falcon_divide_halves(uint16_t *h, const uint16_t *point, const int16_t *s1, const int16_t *s2,
                         unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t divisor[FALCON_MAX_N];
    for (unsigned k = 0; k < n; k++) {
        divisor[k] = residue(s2[k]);
        h[k] = (uint16_t)sub_q(point[k], residue(s1[k]));
    }
    forward(divisor, logn);
    forward(h, logn);
    if (invert_all(divisor, logn)) {
        return -1;
    }
    for (unsigned k = 0; k < n; k++) {
        h[k] = (uint16_t)mul_q(h[k], divisor[k]);
    }
    inverse(h, logn);
    return 0;
}
