/* SHAKE256 (FIPS 202). */
#include "falcon_host.h"

#include <string.h>

enum { RATE = 136 };

static const uint64_t round_constants[24] = {
    0x0000000000000001u, 0x0000000000008082u, 0x800000000000808au, 0x8000000080008000u,
    0x000000000000808bu, 0x0000000080000001u, 0x8000000080008081u, 0x8000000000008009u,
    0x000000000000008au, 0x0000000000000088u, 0x0000000080008009u, 0x000000008000000au,
    0x000000008000808bu, 0x800000000000008bu, 0x8000000000008089u, 0x8000000000008003u,
    0x8000000000008002u, 0x8000000000000080u, 0x000000000000800au, 0x800000008000000au,
    0x8000000080008081u, 0x8000000000008080u, 0x0000000080000001u, 0x8000000080008008u,
};

static inline uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

/* Theta, then rho and pi lane by lane into b, then chi and iota back into a. Lane (x, y) is
 * a[x + 5 y]; pi moves it to (y, 2 x + 3 y). */
static void permute(uint64_t a[25]) {
    for (unsigned round = 0; round < 24; round++) {
        uint64_t c[5], d[5], b[25];
        for (unsigned x = 0; x < 5; x++) {
            c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        }
        for (unsigned x = 0; x < 5; x++) {
            d[x] = c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1);
        }
#define LANE(from, to, bits) b[to] = rotate(a[from] ^ d[(from) % 5], bits)
        b[0] = a[0] ^ d[0];
        LANE(1, 10, 1);
        LANE(2, 20, 62);
        LANE(3, 5, 28);
        LANE(4, 15, 27);
        LANE(5, 16, 36);
        LANE(6, 1, 44);
        LANE(7, 11, 6);
        LANE(8, 21, 55);
        LANE(9, 6, 20);
        LANE(10, 7, 3);
        LANE(11, 17, 10);
        LANE(12, 2, 43);
        LANE(13, 12, 25);
        LANE(14, 22, 39);
        LANE(15, 23, 41);
        LANE(16, 8, 45);
        LANE(17, 18, 15);
        LANE(18, 3, 21);
        LANE(19, 13, 8);
        LANE(20, 14, 18);
        LANE(21, 24, 2);
        LANE(22, 9, 61);
        LANE(23, 19, 56);
        LANE(24, 4, 14);
#undef LANE
        for (unsigned y = 0; y < 25; y += 5) {
            a[y] = b[y] ^ (~b[y + 1] & b[y + 2]);
            a[y + 1] = b[y + 1] ^ (~b[y + 2] & b[y + 3]);
            a[y + 2] = b[y + 2] ^ (~b[y + 3] & b[y + 4]);
            a[y + 3] = b[y + 3] ^ (~b[y + 4] & b[y]);
            a[y + 4] = b[y + 4] ^ (~b[y] & b[y + 1]);
        }
        a[0] ^= round_constants[round];
    }
}

static inline void mix_byte(falcon_shake *shake, size_t at, uint8_t byte) {
    shake->lanes[at / 8] ^= (uint64_t)byte << (8 * (at % 8));
}

void falcon_shake_start(falcon_shake *shake) { memset(shake, 0, sizeof *shake); }

void falcon_shake_absorb(falcon_shake *shake, const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        mix_byte(shake, shake->position++, data[i]);
        if (shake->position == RATE) {
            permute(shake->lanes);
            shake->position = 0;
        }
    }
}

void falcon_shake_finish(falcon_shake *shake) {
    mix_byte(shake, shake->position, 0x1f);
    mix_byte(shake, RATE - 1, 0x80);
    shake->position = RATE; /* the first squeeze permutes */
}

void falcon_shake_squeeze(falcon_shake *shake, uint8_t *out, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (shake->position == RATE) {
            permute(shake->lanes);
            shake->position = 0;
        }
        out[i] = (uint8_t)(shake->lanes[shake->position / 8] >> (8 * (shake->position % 8)));
        shake->position++;
    }
}

void falcon_wipe(void *memory, size_t bytes) {
    memset(memory, 0, bytes);
    __asm__ __volatile__("" : : "r"(memory) : "memory");
}
