/* SHA-256 and SHA-512, portable. */
#include "sha2.h"
#include "lanes.h"

#include <string.h>

const uint32_t slh_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

const uint64_t slh_sha512_constants[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

static const uint32_t INITIAL_256[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint64_t INITIAL_512[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

#define WORD uint32_t
#define BITS 32
#define COMPRESS rounds_256
#include "sha2_rounds.h"

#define WORD uint64_t
#define BITS 64
#define COMPRESS rounds_512
#include "sha2_rounds.h"

#ifndef SLH_SHA_NI
void slh_sha256_compress(uint32_t state[8], const uint8_t block[64]) {
    uint32_t w[16];
    for (int i = 0; i < 16; i++) {
        w[i] = slh_load_be32(block + 4 * i);
    }
    rounds_256(state, w);
}
#endif

void slh_sha512_compress(uint64_t state[8], const uint8_t block[128]) {
    uint64_t w[16];
    for (int i = 0; i < 16; i++) {
        w[i] = slh_load_be64(block + 8 * i);
    }
    rounds_512(state, w);
}

static size_t block_bytes(const slh_sha2 *hash) { return hash->wide ? 128 : 64; }

static void compress(slh_sha2 *hash, const uint8_t *block) {
    if (hash->wide) {
        slh_sha512_compress(hash->state_512, block);
    } else {
        slh_sha256_compress(hash->state_256, block);
    }
}

void slh_sha2_start(slh_sha2 *hash, int wide) {
    hash->wide = wide;
    hash->bytes = 0;
    memcpy(hash->state_256, INITIAL_256, sizeof hash->state_256);
    memcpy(hash->state_512, INITIAL_512, sizeof hash->state_512);
}

void slh_sha2_absorb(slh_sha2 *hash, const uint8_t *data, size_t bytes) {
    while (bytes > 0) {
        const size_t filled = hash->bytes % block_bytes(hash), room = block_bytes(hash) - filled;
        const size_t taken = bytes < room ? bytes : room;
        if (taken == block_bytes(hash)) {
            compress(hash, data);
        } else {
            memcpy(hash->block + filled, data, taken);
            if (taken == room) {
                compress(hash, hash->block);
            }
        }
        hash->bytes += taken;
        data += taken;
        bytes -= taken;
    }
}

/* The padding of a message of some bytes whose last block begins with `filled` bytes. */
static size_t padding_bytes(size_t filled, size_t block) {
    const size_t length_bytes = block / 8;
    return block - (filled + length_bytes) % block + length_bytes;
}

void slh_sha2_finish(slh_sha2 *hash, uint8_t *digest) {
    uint8_t padding[256] = {0x80};
    const size_t bytes = padding_bytes(hash->bytes % block_bytes(hash), block_bytes(hash));
    slh_store_be64(padding + bytes - 8, 8 * hash->bytes);
    slh_sha2_absorb(hash, padding, bytes);
    for (int i = 0; i < 8; i++) {
        if (hash->wide) {
            slh_store_be64(digest + 8 * i, hash->state_512[i]);
        } else {
            slh_store_be32(digest + 4 * i, hash->state_256[i]);
        }
    }
}

size_t slh_sha2_block_count(size_t input_bytes, size_t block) {
    const size_t filled = SLH_SHA2_ADDRESS_BYTES + input_bytes;
    return (filled + padding_bytes(filled, block)) / block;
}

void slh_sha2_block(uint8_t *to, size_t index, const slh_address *address, const uint8_t *input,
                    size_t input_bytes, size_t block) {
    const size_t end = SLH_SHA2_ADDRESS_BYTES + input_bytes; /* of the hashed bytes */
    const size_t from = index * block;
    size_t at = 0; /* in this block */
    if (index == 0) {
        slh_sha2_address(to, address);
        at = SLH_SHA2_ADDRESS_BYTES;
    }
    if (from + at < end) {
        const size_t left = end - from - at, room = block - at, taken = left < room ? left : room;
        memcpy(to + at, input + from + at - SLH_SHA2_ADDRESS_BYTES, taken);
        at += taken;
    }
    memset(to + at, 0, block - at);
    if (end >= from && end < from + block) {
        to[end - from] = 0x80;
    }
    if (index + 1 == slh_sha2_block_count(input_bytes, block)) {
        slh_store_be64(to + block - 8, 8 * (uint64_t)(block + end));
    }
}
