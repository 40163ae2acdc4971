/* Products in F2[X]/(X^n + 1), portable. */
#include "../hawk.h"

#include <string.h>

/* a may be secret: each of its bits becomes a mask. b is shifted by one bit 64 times, and each
 * shifted copy is added where the words of a have that bit. */
void pq_hawk_binary_multiply_add(const pq_hawk_set *set, uint64_t *sum, const uint64_t *a,
                              const uint64_t *b) {
    enum { WORDS = PQ_HAWK_N_MAX / 64 };
    const size_t words = set->n / 64;
    uint64_t shifted[WORDS + 1], product[2 * WORDS] = {0};
    memcpy(shifted, b, words * sizeof *b);
    shifted[words] = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (size_t i = 0; i < words; i++) {
            const uint64_t mask = 0u - (a[i] >> bit & 1);
            for (size_t j = 0; j <= words; j++) {
                product[i + j] ^= shifted[j] & mask;
            }
        }
        for (size_t j = words; j > 0; j--) {
            shifted[j] = shifted[j] << 1 | shifted[j - 1] >> 63;
        }
        shifted[0] <<= 1;
    }
    for (size_t i = 0; i < words; i++) {
        sum[i] ^= product[i] ^ product[i + words];
    }
}
