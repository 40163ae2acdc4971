/* The SHA-256 kernels, with compiler vectors. */
#include "lanes.h"
#include "sha2.h"

typedef slh_vector32 vec;
#define ROTATE SLH_ROTATE_RIGHT

enum { WIDTH = SLH_LANES_32 };

#define ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        h += (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + (g ^ (e & (f ^ g))) + \
             (w[(i) & 15] + slh_sha256_constants[i]); \
        d += h; \
        h += (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) | (c & (a | b))); \
    } while (0)

#define EXPAND(i) \
    (w[(i) & 15] += (ROTATE(w[((i) + 1) & 15], 7) ^ ROTATE(w[((i) + 1) & 15], 18) ^ \
                     w[((i) + 1) & 15] >> 3) + \
                    w[((i) + 9) & 15] + \
                    (ROTATE(w[((i) + 14) & 15], 17) ^ ROTATE(w[((i) + 14) & 15], 19) ^ \
                     w[((i) + 14) & 15] >> 10))

/* The 64 rounds on a state and 16 words, which are overwritten. */
SLH_INLINE void compress(vec state[8], vec w[16]) {
    vec a = state[0], b = state[1], c = state[2], d = state[3];
    vec e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i += 8) {
        if (i >= 16) {
            for (int j = i; j < i + 8; j++) {
                EXPAND(j);
            }
        }
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

SLH_INLINE void start(vec state[8], const slh_context *context) {
    for (int i = 0; i < 8; i++) {
        state[i] = (vec){0} + context->state_256[i];
    }
}

/* A few lanes are faster one by one than in a vector of which most lanes are unused. */
enum { FEW = WIDTH / 4 };

static void hash_one(const slh_context *context, uint8_t *output, const slh_address *address,
                     const uint8_t *input, size_t input_bytes) {
    uint8_t block[64], digest[32];
    uint32_t state[8];
    const size_t count = slh_sha2_block_count(input_bytes, 64);
    memcpy(state, context->state_256, sizeof state);
    for (size_t i = 0; i < count; i++) {
        slh_sha2_block(block, i, address, input, input_bytes, 64);
        slh_sha256_compress(state, block);
    }
    for (int i = 0; i < 8; i++) {
        slh_store_be32(digest + 4 * i, state[i]);
    }
    memcpy(output, digest, context->set->n);
}

void slh_sha256_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes) {
    if (count <= FEW) {
        for (size_t i = 0; i < count; i++) {
            hash_one(context, outputs[i], &addresses[i], inputs[i], input_bytes);
        }
        return;
    }
    const uint32_t words = context->set->n / 4;
    const size_t block_count = slh_sha2_block_count(input_bytes, 64);
    for (size_t first = 0; first < count; first += WIDTH) {
        vec state[8], w[16];
        start(state, context);
        for (size_t index = 0; index < block_count; index++) {
            for (size_t lane = 0; lane < WIDTH; lane++) {
                const size_t from = first + lane < count ? first + lane : first; /* unused: repeat */
                uint8_t block[64];
                slh_sha2_block(block, index, &addresses[from], inputs[from], input_bytes, 64);
                for (int i = 0; i < 16; i++) {
                    w[i][lane] = slh_load_be32(block + (int)sizeof(uint32_t) * i);
                }
            }
            compress(state, w);
        }
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (uint32_t i = 0; i < words; i++) {
                slh_store_be32(outputs[first + lane] + 4 * i, state[i][lane]);
            }
        }
    }
}

/* Chains of nodes of a fixed number of words, which the compiler unrolls. The compressed address has
 * 22 bytes, so that the node begins in the middle of word 5. */
SLH_INLINE void chain_words(const slh_context *context, size_t count, uint8_t *const nodes[],
                            const slh_address addresses[], uint32_t steps, const int words) {
    for (size_t first = 0; first < count; first += WIDTH) {
        vec fixed[5], hash, node[8], w[16], state[8];
        for (size_t lane = 0; lane < WIDTH; lane++) {
            const size_t i = first + lane < count ? first + lane : first;
            uint8_t address[SLH_SHA2_ADDRESS_BYTES];
            slh_sha2_address(address, &addresses[i]);
            for (int word = 0; word < 5; word++) {
                fixed[word][lane] = slh_load_be32(address + 4 * word);
            }
            hash[lane] = addresses[i].hash_or_index;
            for (int word = 0; word < words; word++) {
                node[word][lane] = slh_load_be32(nodes[i] + 4 * word);
            }
        }
        for (uint32_t step = 0; step < steps; step++) {
            for (int word = 0; word < 5; word++) {
                w[word] = fixed[word]; /* a hash address is below 2^16 */
            }
            w[5] = hash << 16 | node[0] >> 16;
            for (int word = 1; word < words; word++) {
                w[5 + word] = node[word - 1] << 16 | node[word] >> 16;
            }
            w[5 + words] = node[words - 1] << 16 | 0x8000;
            for (int word = 6 + words; word < 15; word++) {
                w[word] = (vec){0};
            }
            w[15] = (vec){0} + 8 * (64 + SLH_SHA2_ADDRESS_BYTES + 4 * (uint32_t)words);
            start(state, context);
            compress(state, w);
            for (int word = 0; word < words; word++) {
                node[word] = state[word];
            }
            hash += 1;
        }
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (int word = 0; word < words; word++) {
                slh_store_be32(nodes[first + lane] + 4 * word, node[word][lane]);
            }
        }
    }
}

void slh_sha256_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
                      slh_address addresses[], uint32_t steps) {
    if (count <= FEW) {
        for (size_t i = 0; i < count; i++) {
            slh_address address = addresses[i];
            for (uint32_t step = 0; step < steps; step++) {
                hash_one(context, nodes[i], &address, nodes[i], context->set->n);
                address.hash_or_index++;
            }
        }
    } else if (context->set->n == 16) {
        chain_words(context, count, nodes, addresses, steps, 4);
    } else if (context->set->n == 24) {
        chain_words(context, count, nodes, addresses, steps, 6);
    } else {
        chain_words(context, count, nodes, addresses, steps, 8);
    }
    for (size_t i = 0; i < count; i++) {
        addresses[i].hash_or_index += steps;
    }
}
