/* The SHA-256 kernels, with compiler vectors. */
#define BITS 32
#include "sha2_lanes.h"

/* Chains of nodes of a fixed number of words, which the compiler unrolls. The compressed address has
 * 22 bytes, so that the node begins in the middle of word 5. */
SLH_INLINE void chain_words(const slh_context *context, size_t count, uint8_t *const nodes[],
                            const slh_address addresses[], uint32_t steps, const int words) {
    for (size_t first = 0; first < count; first += WIDTH) {
        vec fixed[5], hash, node[8], w[16], begin[8], state[8];
        start(begin, context, addresses, first, count);
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
            memcpy(state, begin, sizeof state);
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
