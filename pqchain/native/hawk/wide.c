/* Long integers for the NTRU equation: plain methods, because the numbers are short. The
 * coefficients double in length at each of log2 n halvings of the degree, to 2600 bits (Hawk-512)
 * or 6200 (Hawk-1024), so that a polynomial never has more than a few hundred limbs' worth of bits
 * and schoolbook products take about a millisecond in all. */
#include "wide.h"

#include <string.h>

static uint32_t sign_of(const uint32_t *a, size_t length) { return 0u - (a[length - 1] >> 31); }

static size_t bit_length(uint32_t x) {
    size_t bits = 0;
    for (; x != 0; x >>= 1) {
        bits++;
    }
    return bits;
}

size_t pq_hawk_wide_bits(const pq_hawk_wide *a) {
    size_t most = 0; /* the highest limb that differs from the sign, plus one */
    uint32_t top = 0;
    for (size_t i = 0; i < a->count; i++) {
        const uint32_t *x = a->limbs + i * a->stride, sign = sign_of(x, a->length);
        size_t used = a->length;
        while (used > most && x[used - 1] == sign) {
            used--;
        }
        if (used > most) {
            most = used;
            top = x[used - 1] ^ sign;
        } else if (used == most && most > 0) {
            top |= x[most - 1] ^ sign;
        }
    }
    return most == 0 ? 0 : 32 * (most - 1) + bit_length(top);
}

/* Limb i of x shifted left by `bits`, where x is extended by zeros and by its sign. */
static uint32_t limb_at(const uint32_t *x, size_t length, long i) {
    return i < 0 ? 0 : (size_t)i < length ? x[i] : sign_of(x, length);
}

int64_t pq_hawk_wide_top(const pq_hawk_wide *a, size_t i, long shift) {
    const uint32_t *x = a->limbs + i * a->stride;
    const long words = shift >= 0 ? shift / 32 : -((31 - shift) / 32);
    const unsigned bits = (unsigned)(shift - 32 * words);
    const uint64_t low = limb_at(x, a->length, words), middle = limb_at(x, a->length, words + 1),
                   high = limb_at(x, a->length, words + 2);
    const uint64_t both = low | middle << 32;
    return (int64_t)(bits == 0 ? both : both >> bits | high << (64 - bits));
}

/* d += or -= a b for magnitudes a and b, modulo 2^(32 length). */
static void multiply_add(uint32_t *d, size_t length, const uint32_t *a, size_t a_length,
                         const uint32_t *b, size_t b_length, int negative) {
    for (size_t i = 0; i < a_length && i < length; i++) {
        uint64_t carry = 0;
        size_t j = 0;
        const size_t room = length - i;
        if (negative) {
            for (; j < b_length && j < room; j++) {
                const uint64_t t = (uint64_t)a[i] * b[j] + carry;
                carry = (t >> 32) + (d[i + j] < (uint32_t)t);
                d[i + j] -= (uint32_t)t;
            }
            for (; carry != 0 && j < room; j++) {
                const uint32_t before = d[i + j];
                d[i + j] -= (uint32_t)carry;
                carry = before < (uint32_t)carry;
            }
        } else {
            for (; j < b_length && j < room; j++) {
                const uint64_t t = (uint64_t)a[i] * b[j] + d[i + j] + carry;
                d[i + j] = (uint32_t)t;
                carry = t >> 32;
            }
            for (; carry != 0 && j < room; j++) {
                const uint64_t t = d[i + j] + carry;
                d[i + j] = (uint32_t)t;
                carry = t >> 32;
            }
        }
    }
}

/* The magnitude of x to `out`; returns its length without leading zeros. */
static size_t magnitude(uint32_t *out, const uint32_t *x, size_t length) {
    const uint32_t sign = sign_of(x, length);
    uint64_t carry = sign & 1;
    for (size_t i = 0; i < length; i++) {
        carry += x[i] ^ sign;
        out[i] = (uint32_t)carry;
        carry >>= 32;
    }
    while (length > 0 && out[length - 1] == 0) {
        length--;
    }
    return length;
}

/* The product of small coefficients, in 64-bit sums. */
static void multiply_add_short(pq_hawk_wide *d, const pq_hawk_wide *a, const pq_hawk_wide *b,
                               pq_hawk_wide_form form) {
    int64_t sums[2 * PQ_HAWK_N_MAX] = {0};
    int32_t values[PQ_HAWK_N_MAX];
    const size_t n = d->count;
    for (size_t j = 0; j < b->count; j++) {
        const int32_t value = (int32_t)b->limbs[j * b->stride];
        values[j] = form.alternate && (j & 1) ? -value : value;
    }
    for (size_t i = 0; i < a->count; i++) {
        const int32_t value = (int32_t)a->limbs[i * a->stride];
        int64_t *to = sums + i * form.spread + form.offset;
        for (size_t j = 0; j < b->count; j++) {
            to[j] += (int64_t)value * values[j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        int64_t sum = sums[i] - sums[i + n];
        uint32_t *x = d->limbs + i * d->stride;
        sum = form.negative ? -sum : sum;
        uint64_t carry = 0;
        for (size_t l = 0; l < d->length; l++) {
            carry += (uint64_t)x[l] + (uint32_t)sum;
            x[l] = (uint32_t)carry;
            carry >>= 32;
            sum >>= 32;
        }
    }
}

void pq_hawk_wide_multiply_add(pq_hawk_wide *d, const pq_hawk_wide *a, const pq_hawk_wide *b,
                            pq_hawk_wide_form form) {
    const size_t n = d->count;
    if (a->length == 1 && b->length == 1 && pq_hawk_wide_bits(a) + pq_hawk_wide_bits(b) <= 52) {
        multiply_add_short(d, a, b, form);
        return;
    }
    uint32_t a_magnitude[HAWK_LIMBS_MAX], b_magnitudes[HAWK_LEVEL_MAX];
    size_t b_lengths[PQ_HAWK_N_MAX];
    for (size_t j = 0; j < b->count; j++) {
        b_lengths[j] =
            magnitude(b_magnitudes + j * b->length, b->limbs + j * b->stride, b->length);
    }
    for (size_t i = 0; i < a->count; i++) {
        const uint32_t *x = a->limbs + i * a->stride;
        const size_t a_length = magnitude(a_magnitude, x, a->length);
        const uint32_t a_sign = sign_of(x, a->length);
        for (size_t j = 0; j < b->count; j++) {
            const size_t at = i * form.spread + j + form.offset;
            const uint32_t sign = a_sign ^ sign_of(b->limbs + j * b->stride, b->length);
            const int negative = (int)((sign & 1) ^ (uint32_t)form.negative ^
                                       ((uint32_t)form.alternate & (uint32_t)j & 1) ^
                                       ((at / n) & 1));
            multiply_add(d->limbs + at % n * d->stride, d->length, a_magnitude, a_length,
                         b_magnitudes + j * b->length, b_lengths[j], negative);
        }
    }
}

void pq_hawk_wide_reduce(pq_hawk_wide *d, const int32_t *k, const pq_hawk_wide *f, size_t shift) {
    const size_t n = d->count, length = f->length, words = shift / 32;
    const unsigned bits = shift % 32;
    /* f in digits from -2^31 to 2^31 - 1, so that n products of digits fit in a signed word */
    int32_t digits[HAWK_LEVEL_MAX];
    int64_t sums[2 * HAWK_LEVEL_MAX];
    for (size_t i = 0; i < n; i++) {
        uint32_t carry = 0;
        for (size_t l = 0; l < length; l++) {
            const uint64_t digit = (uint64_t)f->limbs[i * f->stride + l] + carry;
            digits[i * length + l] = (int32_t)(uint32_t)digit;
            carry = (uint32_t)((digit + 0x80000000u) >> 32);
        }
    }
    memset(sums, 0, 2 * n * length * sizeof sums[0]);
    for (size_t i = 0; i < n; i++) {
        const int64_t factor = k[i];
        int64_t *to = sums + i * length;
        for (size_t t = 0; t < n * length; t++) {
            to[t] += factor * digits[t];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t *low = sums + i * length, *high = low + n * length;
        uint32_t *x = d->limbs + i * d->stride, before = 0, borrow = 0;
        int64_t carry = 0;
        for (size_t l = 0; l + words < d->length; l++) {
            if (l < length) {
                carry += low[l] - high[l];
            }
            const uint32_t limb = (uint32_t)carry;
            carry >>= 32;
            const uint32_t part = bits == 0 ? limb : limb << bits | before >> (32 - bits);
            before = limb;
            const uint64_t difference = (uint64_t)x[l + words] - part - borrow;
            x[l + words] = (uint32_t)difference;
            borrow = (uint32_t)(difference >> 32) & 1;
        }
    }
}

/* The state of the Euclidean algorithm: a = ua f + va g, b = ub f + vb g, a >= b >= 0. */
typedef struct {
    uint32_t x[HAWK_LIMBS_MAX], u[HAWK_LIMBS_MAX], v[HAWK_LIMBS_MAX];
    size_t bits; /* of x */
} remainder_row;

static void measure(remainder_row *row, size_t length) {
    const pq_hawk_wide x = {row->x, 1, length, length};
    row->bits = pq_hawk_wide_bits(&x);
}

/* (a, b) <- (m0 a + m1 b, m2 a + m3 b), entries below 2^30. */
static void combine(uint32_t *a, uint32_t *b, size_t length, const int64_t m[4]) {
    int64_t carry_a = 0, carry_b = 0;
    for (size_t l = 0; l < length; l++) {
        const int64_t x = a[l], y = b[l];
        carry_a += m[0] * x + m[1] * y;
        carry_b += m[2] * x + m[3] * y;
        a[l] = (uint32_t)carry_a;
        b[l] = (uint32_t)carry_b;
        carry_a >>= 32;
        carry_b >>= 32;
    }
}

/* a -= b 2^shift. */
static void subtract_shifted(uint32_t *a, const uint32_t *b, size_t length, size_t shift) {
    const size_t words = shift / 32;
    const unsigned bits = shift % 32;
    uint32_t before = 0, borrow = 0;
    for (size_t l = 0; l + words < length; l++) {
        const uint32_t part = bits == 0 ? b[l] : b[l] << bits | before >> (32 - bits);
        before = b[l];
        const uint64_t difference = (uint64_t)a[l + words] - part - borrow;
        a[l + words] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 32) & 1;
    }
}

static int less(const uint32_t *a, const uint32_t *b, size_t length) {
    while (length > 0 && a[length - 1] == b[length - 1]) {
        length--;
    }
    return length > 0 && a[length - 1] < b[length - 1];
}

/* Steps of the Euclidean algorithm on the leading 62 bits, as long as they are certain (Knuth,
 * The Art of Computer Programming 2, section 4.5.2, algorithm L). Returns 0 if not even one is. */
static int leading_steps(int64_t m[4], int64_t x, int64_t y) {
    const int64_t limit = (int64_t)1 << 30;
    int64_t a = 1, b = 0, c = 0, d = 1;
    while (y + c != 0 && y + d != 0) {
        const int64_t q = (x + a) / (y + c);
        if (q != (x + b) / (y + d) || q >= limit) {
            break;
        }
        const int64_t next_c = a - q * c, next_d = b - q * d, rest = x - q * y;
        if (next_c >= limit || next_c <= -limit || next_d >= limit || next_d <= -limit) {
            break;
        }
        a = c;
        b = d;
        c = next_c;
        d = next_d;
        x = y;
        y = rest;
    }
    m[0] = a;
    m[1] = b;
    m[2] = c;
    m[3] = d;
    return b != 0;
}

int pq_hawk_wide_bezout(pq_hawk_wide *u, pq_hawk_wide *v, const pq_hawk_wide *f,
                        const pq_hawk_wide *g) {
    remainder_row rows[2], *a = &rows[0], *b = &rows[1];
    size_t length = (f->length > g->length ? f->length : g->length) + 1;
    const size_t all = length;
    if (length > HAWK_LIMBS_MAX || u->length < length || v->length < length) {
        return 0;
    }
    memset(rows, 0, sizeof rows);
    memcpy(a->x, f->limbs, f->length * sizeof *f->limbs);
    memcpy(b->x, g->limbs, g->length * sizeof *g->limbs);
    a->u[0] = 1;
    b->v[0] = 1;
    if (less(a->x, b->x, length)) {
        remainder_row *const other = a;
        a = b;
        b = other;
    }
    measure(a, length);
    measure(b, length);
    while (b->bits != 0) {
        const pq_hawk_wide x = {a->x, 1, length, length}, y = {b->x, 1, length, length};
        const long shift = a->bits > 62 ? (long)(a->bits - 62) : 0;
        int64_t m[4];
        if (leading_steps(m, pq_hawk_wide_top(&x, 0, shift), pq_hawk_wide_top(&y, 0, shift))) {
            combine(a->x, b->x, length, m);
            combine(a->u, b->u, all, m);
            combine(a->v, b->v, all, m);
        } else { /* one subtraction; rare, when a quotient is too large for the matrix */
            size_t by = a->bits - b->bits;
            uint32_t shifted[HAWK_LIMBS_MAX] = {0}, negated[HAWK_LIMBS_MAX] = {0};
            subtract_shifted(negated, b->x, length, by);
            subtract_shifted(shifted, negated, length, 0);
            if (less(a->x, shifted, length)) {
                by--;
            }
            subtract_shifted(a->x, b->x, length, by);
            subtract_shifted(a->u, b->u, all, by);
            subtract_shifted(a->v, b->v, all, by);
        }
        if (less(a->x, b->x, length)) {
            remainder_row *const other = a;
            a = b;
            b = other;
        }
        measure(a, length);
        measure(b, length);
        length = pq_hawk_wide_length(a->bits);
    }
    if (a->bits != 1) { /* the greatest common divisor is not 1 */
        return 0;
    }
    memset(u->limbs, a->u[all - 1] >> 31 ? 0xff : 0, u->length * sizeof *u->limbs);
    memset(v->limbs, a->v[all - 1] >> 31 ? 0xff : 0, v->length * sizeof *v->limbs);
    memcpy(u->limbs, a->u, all * sizeof a->u[0]);
    memcpy(v->limbs, a->v, all * sizeof a->v[0]);
    return 1;
}
