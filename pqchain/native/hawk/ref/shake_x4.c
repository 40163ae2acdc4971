/* Four streams of SHAKE256, one after the other. */
#include "../hawk.h"
#include "../../shake.h"

void pq_hawk_shake256_x4(uint64_t *words, size_t rows, const uint8_t *seed, size_t seed_bytes) {
    for (uint8_t stream = 0; stream < 4; stream++) {
        pq_shake shake;
        pq_shake_start(&shake);
        pq_shake_absorb(&shake, seed, seed_bytes);
        pq_shake_absorb(&shake, &stream, 1);
        pq_shake_finish(&shake);
        for (size_t row = 0; row < rows; row++) {
            const size_t at = row % (PQ_SHAKE_RATE / 8);
            if (at == 0) {
                pq_keccak(shake.state);
            }
            words[4 * row + stream] = shake.state[at];
        }
    }
}
