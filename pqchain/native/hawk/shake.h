/* SHAKE256 (FIPS 202). */
#ifndef HAWK_SHAKE_H
#define HAWK_SHAKE_H

#include <stddef.h>
#include <stdint.h>

enum { HAWK_SHAKE_RATE = 136 };

typedef struct {
    uint64_t state[25];
    size_t at; /* bytes absorbed into, or squeezed from, the present block */
} hawk_shake;

void hawk_keccak(uint64_t state[25]);
void hawk_shake_start(hawk_shake *shake);
void hawk_shake_absorb(hawk_shake *shake, const uint8_t *data, size_t bytes);
void hawk_shake_finish(hawk_shake *shake);
void hawk_shake_squeeze(hawk_shake *shake, uint8_t *out, size_t bytes);

extern const uint64_t hawk_keccak_constants[24];

#endif
