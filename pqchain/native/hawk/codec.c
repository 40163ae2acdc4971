/* Coding of public keys and signatures: Golomb-Rice codes in strings of bits, lowest bit first. */
#include "hawk.h"

#include <string.h>

/* A value x is coded by its sign s, and v = x or -x - 1 split into low bits and the rest in unary:
 * all signs, then all low parts, then all unary parts. */

typedef struct {
    uint8_t *bytes;
    size_t limit; /* in bits */
    size_t at;
} bit_writer;

/* Append `count` bits, at most 32; the bytes beyond must be zero before. 0 if there is no room. */
static int put(bit_writer *to, uint32_t bits, unsigned count) {
    if (count > to->limit - to->at) {
        return 0;
    }
    uint64_t word = (uint64_t)bits << (to->at & 7);
    uint8_t *byte = to->bytes + (to->at >> 3);
    to->at += count;
    while (word != 0) {
        *byte++ |= (uint8_t)word;
        word >>= 8;
    }
    return 1;
}

static int compress(bit_writer *to, const int32_t *values, size_t count, unsigned low,
                    unsigned high) {
    for (size_t i = 0; i < count; i++) {
        if (!put(to, (uint32_t)(values[i] < 0), 1)) {
            return 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t v = (uint32_t)(values[i] ^ (values[i] >> 31));
        if (v >> high != 0 || !put(to, v & ((1u << low) - 1), low)) {
            return 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t rest = (uint32_t)(values[i] ^ (values[i] >> 31)) >> low;
        if (!put(to, (uint32_t)1 << rest, rest + 1)) {
            return 0;
        }
    }
    return 1;
}

typedef struct {
    const uint8_t *bytes;
    size_t limit; /* in bits, a multiple of 8 */
} bit_string;

/* The bits from `at` on, at least 56 of them; zeros beyond the end. */
static inline uint64_t peek(const bit_string *from, size_t at) {
    const size_t byte = at >> 3, end = from->limit >> 3;
    uint64_t word = 0;
    if (byte + 8 <= end) {
        for (int i = 7; i >= 0; i--) {
            word = word << 8 | from->bytes[byte + (size_t)i];
        }
    } else {
        for (size_t i = byte; i < end; i++) {
            word |= (uint64_t)from->bytes[i] << (8 * (i - byte));
        }
    }
    return word >> (at & 7);
}

static inline unsigned trailing_zeros(uint64_t word) {
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(word);
#else
    unsigned count = 0;
    for (; (word & 1) == 0; word >>= 1) {
        count++;
    }
    return count;
#endif
}

/* Read `count` values from bit *at on and move *at behind them. 0 if that is no such code. */
static int decompress(const bit_string *from, size_t *at, int32_t *values, size_t count,
                      unsigned low, unsigned high) {
    const size_t signs = *at, lows = signs + count, limit = (size_t)1 << (high - low);
    size_t unary = lows + count * low;
    if (unary > from->limit) {
        return 0;
    }
    for (size_t i = 0; i < count; i += 8) {
        uint64_t sign = peek(from, signs + i);
        uint64_t v = peek(from, lows + i * low);
        for (size_t j = i; j < i + 8; j++, sign >>= 1) {
            if (j == i + 4) {
                v = peek(from, lows + j * low);
            }
            const int32_t part = (int32_t)(v & (((uint64_t)1 << low) - 1));
            values[j] = part << 1 | (int32_t)(sign & 1); /* the unary part comes between */
            v >>= low;
        }
    }
    uint64_t window = 0;
    unsigned held = 0; /* bits of the window that are real */
    for (size_t i = 0; i < count; i++) {
        size_t rest = 0;
        while (window == 0) {
            rest += held;
            unary += held;
            if (unary >= from->limit || rest >= limit) {
                return 0;
            }
            window = peek(from, unary) & (((uint64_t)1 << 56) - 1);
            held = 56;
        }
        const unsigned zeros = trailing_zeros(window);
        window >>= zeros;
        window >>= 1;
        held -= zeros + 1;
        rest += zeros;
        unary += zeros + 1;
        if (rest >= limit) {
            return 0;
        }
        const int32_t v = (int32_t)(rest << low) + (values[i] >> 1);
        values[i] = v ^ -(values[i] & 1);
    }
    *at = unary;
    return unary <= from->limit;
}

/* Whether all bits from `at` to the end are zero. */
static int zero_to_end(const bit_string *from, size_t at) {
    uint64_t any = 0;
    for (; at < from->limit; at += 56) {
        any |= peek(from, at) & (((uint64_t)1 << 56) - 1);
    }
    return any == 0;
}

int pq_hawk_encode_public(const pq_hawk_set *set, uint8_t *public_key, const int32_t *q00,
                       const int32_t *q01) {
    const unsigned tail = 16 - set->high_00; /* low bits of q00[0], the one large coefficient */
    int32_t half[PQ_HAWK_N_MAX / 2];
    bit_writer to = {public_key, 8 * set->public_key_bytes, 0};
    if (q00[0] < -32768 || q00[0] > 32767) {
        return 0;
    }
    memset(public_key, 0, set->public_key_bytes);
    memcpy(half, q00, set->n / 2 * sizeof half[0]);
    half[0] = q00[0] >> tail;
    if (!compress(&to, half, set->n / 2, set->low_00, set->high_00) ||
        !put(&to, (uint32_t)q00[0] & ((1u << tail) - 1), tail)) {
        return 0;
    }
    to.at = (to.at + 7) & ~(size_t)7;
    return to.at <= to.limit && compress(&to, q01, set->n, set->low_01, set->high_01);
}

int pq_hawk_decode_public(const pq_hawk_set *set, const uint8_t *public_key, int32_t *q00,
                       int32_t *q01) {
    const unsigned tail = 16 - set->high_00;
    const bit_string from = {public_key, 8 * set->public_key_bytes};
    const size_t n = set->n;
    size_t at = 0;
    if (!decompress(&from, &at, q00, n / 2, set->low_00, set->high_00) ||
        at + tail > from.limit) {
        return 0;
    }
    q00[0] = q00[0] * (1 << tail) + (int32_t)(peek(&from, at) & ((1u << tail) - 1));
    at += tail;
    if ((at & 7) != 0) {
        const unsigned padding = 8 - (at & 7);
        if ((peek(&from, at) & ((1u << padding) - 1)) != 0) {
            return 0;
        }
        at += padding;
    }
    q00[n / 2] = 0; /* q00 is its own adjoint */
    for (size_t i = n / 2 + 1; i < n; i++) {
        q00[i] = -q00[n - i];
    }
    return decompress(&from, &at, q01, n, set->low_01, set->high_01) && zero_to_end(&from, at);
}

int pq_hawk_encode_signature(const pq_hawk_set *set, uint8_t *signature, const uint8_t *salt,
                          const int32_t *s1) {
    bit_writer to = {signature + set->salt_bytes, 8 * (set->signature_bytes - set->salt_bytes), 0};
    memset(signature, 0, set->signature_bytes);
    memcpy(signature, salt, set->salt_bytes);
    return compress(&to, s1, set->n, set->low_s1, set->high_s1);
}

int pq_hawk_decode_signature(const pq_hawk_set *set, const uint8_t *signature, int32_t *s1) {
    const bit_string from = {signature + set->salt_bytes,
                             8 * (set->signature_bytes - set->salt_bytes)};
    size_t at = 0;
    return decompress(&from, &at, s1, set->n, set->low_s1, set->high_s1) &&
           zero_to_end(&from, at);
}
