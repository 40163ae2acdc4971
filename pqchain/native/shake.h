/* SHAKE256 (FIPS 202): absorb any number of times, then pq_shake_finish() once, then squeeze. */
#ifndef PQ_SHAKE_H
#define PQ_SHAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PQ_SHAKE_RATE = 136 };

typedef struct {
    uint64_t state[25];
    size_t at; /* bytes absorbed into, or squeezed from, the present block */
} pq_shake;

void pq_keccak(uint64_t state[25]);
void pq_shake_start(pq_shake *shake);
void pq_shake_absorb(pq_shake *shake, const uint8_t *data, size_t bytes);
void pq_shake_finish(pq_shake *shake);
void pq_shake_squeeze(pq_shake *shake, uint8_t *out, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
