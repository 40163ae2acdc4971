/* SHA-256 and SHA-512 (FIPS 180-4) of one input. */
#ifndef SLHDSA_SHA2_H
#define SLHDSA_SHA2_H

#include "hash.h"

extern const uint32_t slh_sha256_constants[64];
extern const uint64_t slh_sha512_constants[80];

/* One block of SHA-256: in sha2.c, or with the SHA instructions in sha256_ni.c. */
void slh_sha256_compress(uint32_t state[8], const uint8_t block[64]);
void slh_sha512_compress(uint64_t state[8], const uint8_t block[128]);

/* The blocks that follow the first one, of PK.seed, in a hash of PK.seed, address and input: address,
 * input and padding, in blocks of 64 or 128 bytes. */
size_t slh_sha2_block_count(size_t input_bytes, size_t block_bytes);
void slh_sha2_block(uint8_t *to, size_t index, const slh_address *address, const uint8_t *input,
                    size_t input_bytes, size_t block_bytes);

/* A hash in progress; wide selects SHA-512. */
typedef struct {
    int wide;
    uint32_t state_256[8];
    uint64_t state_512[8];
    uint8_t block[128];
    uint64_t bytes;
} slh_sha2;

void slh_sha2_start(slh_sha2 *hash, int wide);
void slh_sha2_absorb(slh_sha2 *hash, const uint8_t *data, size_t bytes);
void slh_sha2_finish(slh_sha2 *hash, uint8_t *digest); /* 32 or 64 bytes */

#endif
