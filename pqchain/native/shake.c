/* SHAKE256, portable. */
#include "shake.h"

#include <string.h>

#define LANE uint64_t
#include "keccak.h"

void pq_keccak(uint64_t state[25]) { keccak(state); }

void pq_shake_start(pq_shake *shake) { memset(shake, 0, sizeof *shake); }

void pq_shake_absorb(pq_shake *shake, const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        shake->state[shake->at >> 3] ^= (uint64_t)data[i] << (8 * (shake->at & 7));
        if (++shake->at == PQ_SHAKE_RATE) {
            pq_keccak(shake->state);
            shake->at = 0;
        }
    }
}

void pq_shake_finish(pq_shake *shake) {
    shake->state[shake->at >> 3] ^= (uint64_t)0x1f << (8 * (shake->at & 7));
    shake->state[PQ_SHAKE_RATE / 8 - 1] ^= (uint64_t)1 << 63;
    shake->at = PQ_SHAKE_RATE; /* the first byte that is squeezed permutes */
}

void pq_shake_squeeze(pq_shake *shake, uint8_t *out, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (shake->at == PQ_SHAKE_RATE) {
            pq_keccak(shake->state);
            shake->at = 0;
        }
        out[i] = (uint8_t)(shake->state[shake->at >> 3] >> (8 * (shake->at & 7)));
        shake->at++;
    }
}
