/* Encodings of keys and signatures, and the hash of a message (specification, sections 3.7 and
 * 3.11). Bits are packed most significant first. */
#include "falcon_host.h"

#include <string.h>

size_t falcon_secret_key_bytes(unsigned logn) {
    const size_t n = (size_t)1 << logn;
    return 1 + 2 * n * (logn == 9 ? 6 : 5) / 8 + n;
}

void falcon_hash_to_point(uint16_t *point, const uint8_t *nonce, const uint8_t *message,
                          size_t message_bytes, unsigned logn) {
    pq_shake shake;
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, nonce, FALCON_NONCE_BYTES);
    pq_shake_absorb(&shake, message, message_bytes);
    pq_shake_finish(&shake);
    for (unsigned k = 0; k < 1u << logn;) {
        uint8_t two[2];
        pq_shake_squeeze(&shake, two, sizeof two);
        const uint32_t value = (uint32_t)two[0] << 8 | two[1];
        if (value < 5 * FALCON_Q) { /* the largest multiple of q below 2^16 */
            point[k++] = (uint16_t)(value % FALCON_Q);
        }
    }
}

/* Read n signed numbers of `bits` bits; -2^(bits-1) is not allowed. */
static int read_signed(int8_t *out, unsigned bits, const uint8_t **in, unsigned logn) {
    uint32_t window = 0;
    unsigned held = 0, forbidden = 0;
    for (unsigned k = 0; k < 1u << logn; k++) {
        while (held < bits) {
            window = window << 8 | *(*in)++;
            held += 8;
        }
        held -= bits;
        const uint32_t value = window >> held & ((1u << bits) - 1);
        const uint32_t sign = value >> (bits - 1);
        forbidden |= value == 1u << (bits - 1);
        out[k] = (int8_t)((int32_t)value - (int32_t)(sign << bits));
    }
    return forbidden ? -1 : 0;
}

int falcon_decode_secret_key(int8_t *key, const uint8_t *secret_key, unsigned logn) {
    const unsigned n = 1u << logn, bits = logn == 9 ? 6 : 5;
    const uint8_t *in = secret_key + 1;
    if (secret_key[0] != 0x50 + logn) {
        return -1;
    }
    const int wrong = read_signed(key, bits, &in, logn) | read_signed(key + n, bits, &in, logn) |
                      read_signed(key + 2 * n, 8, &in, logn);
    return wrong ? -1 : 0;
}

int falcon_decode_public_key(uint16_t *h, const uint8_t *public_key, unsigned logn) {
    const uint8_t *in = public_key + 1;
    uint32_t window = 0;
    unsigned held = 0;
    if (public_key[0] != logn) {
        return -1;
    }
    for (unsigned k = 0; k < 1u << logn; k++) {
        while (held < 14) {
            window = window << 8 | *in++;
            held += 8;
        }
        held -= 14;
        h[k] = (uint16_t)(window >> held & 0x3fff);
        if (h[k] >= FALCON_Q) {
            return -1;
        }
    }
    return 0;
}

void falcon_encode_public_key(uint8_t *public_key, const uint16_t *h, unsigned logn) {
    uint32_t window = 0;
    unsigned held = 0;
    *public_key++ = (uint8_t)logn;
    for (unsigned k = 0; k < 1u << logn; k++) {
        window = window << 14 | h[k];
        held += 14;
        while (held >= 8) {
            held -= 8;
            *public_key++ = (uint8_t)(window >> held);
        }
    }
}

size_t falcon_compress(uint8_t *out, size_t capacity, const int16_t *s2, unsigned logn) {
    uint64_t window = 0;
    unsigned held = 0;
    size_t written = 0;
    for (unsigned k = 0; k < 1u << logn; k++) {
        const unsigned sign = s2[k] < 0;
        const unsigned size = (unsigned)(sign ? -s2[k] : s2[k]);
        if (size > 2047) {
            return 0;
        }
        /* sign, seven low bits, then as many zeros as the high bits say, then a one */
        const unsigned zeros = size >> 7;
        window = (window << 8 | sign << 7 | (size & 127)) << (zeros + 1) | 1;
        held += 9 + zeros;
        while (held >= 8) {
            if (written == capacity) {
                return 0;
            }
            held -= 8;
            out[written++] = (uint8_t)(window >> held);
        }
    }
    if (held > 0) {
        if (written == capacity) {
            return 0;
        }
        out[written++] = (uint8_t)(window << (8 - held));
    }
    return written;
}

size_t falcon_decompress(int16_t *s2, const uint8_t *in, size_t bytes, unsigned logn) {
    uint32_t window = 0;
    unsigned held = 0;
    size_t read = 0;
    for (unsigned k = 0; k < 1u << logn; k++) {
        if (read == bytes) {
            return 0;
        }
        window = window << 8 | in[read++];
        const unsigned head = window >> held & 0xff;
        unsigned size = head & 127;
        for (;;) {
            if (held == 0) {
                if (read == bytes) {
                    return 0;
                }
                window = window << 8 | in[read++];
                held = 8;
            }
            held--;
            if (window >> held & 1) {
                break;
            }
            size += 128;
            if (size > 2047) {
                return 0;
            }
        }
        if (head >> 7 && size == 0) { /* zero has one encoding only */
            return 0;
        }
        s2[k] = (int16_t)(head >> 7 ? -(int32_t)size : (int32_t)size);
    }
    return window & ((1u << held) - 1) ? 0 : read;
}
