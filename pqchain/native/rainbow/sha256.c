/* SHA-256 (FIPS 180-4), portable: the few short inputs that a signature hashes. */
#include "rainbow.h"

static const uint32_t CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static uint32_t big_endian(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return __builtin_bswap32(word);
}

static void compress(uint32_t state[8], const uint8_t block[64]) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        w[i] = big_endian(block + 4 * i);
    }
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t first = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                               ((e & s[5]) ^ (~e & s[6])) + CONSTANTS[i] + w[i];
        const uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                                ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += s[i];
    }
}

/* A hash in progress: the state, and the beginning of a block. */
typedef struct {
    uint32_t state[8];
    uint8_t block[64];
    size_t filled;
} hash;

static void absorb(hash *h, const uint8_t *data, size_t bytes) {
    while (bytes > 0) {
        if (h->filled == 0 && bytes >= sizeof h->block) {
            compress(h->state, data);
            data += sizeof h->block;
            bytes -= sizeof h->block;
            continue;
        }
        const size_t room = sizeof h->block - h->filled;
        const size_t taken = bytes < room ? bytes : room;
        memcpy(h->block + h->filled, data, taken);
        h->filled += taken;
        data += taken;
        bytes -= taken;
        if (h->filled == sizeof h->block) {
            compress(h->state, h->block);
            h->filled = 0;
        }
    }
}

void rainbow_sha256(uint8_t digest[HASH_BYTES], const uint8_t *first, size_t first_bytes,
                    const uint8_t *second, size_t second_bytes) {
    hash h = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
               0x5be0cd19},
              {0},
              0};
    absorb(&h, first, first_bytes);
    absorb(&h, second, second_bytes);

    const uint64_t bits = __builtin_bswap64(8 * ((uint64_t)first_bytes + second_bytes));
    static const uint8_t padding[64] = {0x80};
    const size_t length_at = sizeof h.block - sizeof bits;
    absorb(&h, padding, 1 + (sizeof h.block + length_at - h.filled - 1) % sizeof h.block);
    absorb(&h, (const uint8_t *)&bits, sizeof bits);
    for (int i = 0; i < 8; i++) {
        const uint32_t word = __builtin_bswap32(h.state[i]);
        memcpy(digest + 4 * i, &word, sizeof word);
    }
    wipe(&h, sizeof h);
}
