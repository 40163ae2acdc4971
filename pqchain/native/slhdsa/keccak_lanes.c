/* The SHAKE256 kernels, with compiler vectors. All inputs but those of T_l fit into one block. */
#include "../shake.h"
#include "lanes.h"

typedef slh_vector64 vec;

enum { WIDTH = SLH_LANES_64, RATE = PQ_SHAKE_RATE };

#define LANE vec
#include "../keccak.h"

static void permute(vec state[25]) { keccak(state); }

static uint64_t load_le64(const uint8_t *from) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word |= (uint64_t)from[i] << (8 * i);
    }
    return word;
}

static void store_le64(uint8_t *to, uint64_t word) {
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(word >> (8 * i));
    }
}

/* The address of FIPS 205, section 4.2, as four lanes of Keccak. */
static void address_lanes(uint64_t to[4], const slh_address *from) {
    uint8_t bytes[SLH_SHAKE_ADDRESS_BYTES] = {0};
    slh_store_be32(bytes, from->layer);
    slh_store_be64(bytes + 8, from->tree);
    slh_store_be32(bytes + 16, from->type);
    slh_store_be32(bytes + 20, from->key_pair);
    slh_store_be32(bytes + 24, from->chain_or_height);
    slh_store_be32(bytes + 28, from->hash_or_index);
    for (int i = 0; i < 4; i++) {
        to[i] = load_le64(bytes + 8 * i);
    }
}

/* Absorb lane by lane of Keccak: PK.seed, address, input (all of whole lanes) and padding. */
void slh_keccak_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes) {
    const size_t seed_lanes = context->set->n / 8, input_lanes = input_bytes / 8;
    const size_t total = seed_lanes + 4 + input_lanes;
    for (size_t first = 0; first < count; first += WIDTH) {
        vec state[25] = {{0}};
        uint64_t address[WIDTH][4];
        for (size_t lane = 0; lane < WIDTH; lane++) {
            address_lanes(address[lane], &addresses[first + lane < count ? first + lane : first]);
        }
        size_t at = 0; /* in the block */
        for (size_t i = 0; i < total; i++) {
            vec next;
            for (size_t lane = 0; lane < WIDTH; lane++) {
                const size_t from = first + lane < count ? first + lane : first;
                next[lane] = i < seed_lanes ? load_le64(context[addresses[from].key].public_seed + 8 * i)
                             : i < seed_lanes + 4
                                 ? address[lane][i - seed_lanes]
                                 : load_le64(inputs[from] + 8 * (i - seed_lanes - 4));
            }
            state[at] ^= next;
            if (++at == RATE / 8) {
                permute(state);
                at = 0;
            }
        }
        state[at] ^= 0x1f;
        state[RATE / 8 - 1] ^= (uint64_t)1 << 63;
        permute(state);
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (size_t i = 0; i < seed_lanes; i++) {
                store_le64(outputs[first + lane] + 8 * i, state[i][lane]);
            }
        }
    }
}

void slh_keccak_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
                      slh_address addresses[], uint32_t steps) {
    const size_t node_lanes = context->set->n / 8;
    for (size_t first = 0; first < count; first += WIDTH) {
        vec seed[4], fixed[4], node[4], state[25];
        for (size_t lane = 0; lane < WIDTH; lane++) {
            const size_t from = first + lane < count ? first + lane : first;
            uint64_t address[4];
            address_lanes(address, &addresses[from]);
            for (int i = 0; i < 4; i++) {
                fixed[i][lane] = address[i];
            }
            for (size_t i = 0; i < node_lanes; i++) {
                seed[i][lane] = load_le64(context[addresses[from].key].public_seed + 8 * i);
                node[i][lane] = load_le64(nodes[from] + 8 * i);
            }
        }
        for (uint32_t step = 0; step < steps; step++) {
            memset(state, 0, sizeof state);
            for (size_t i = 0; i < node_lanes; i++) {
                state[i] = seed[i];
                state[node_lanes + 4 + i] = node[i];
            }
            for (size_t i = 0; i < 4; i++) {
                state[node_lanes + i] = fixed[i];
            }
            state[2 * node_lanes + 4] = (vec){0} + 0x1f;
            state[RATE / 8 - 1] ^= (uint64_t)1 << 63;
            permute(state);
            memcpy(node, state, sizeof node);
            /* The hash address, below 2^8, is the last byte of the address. */
            fixed[3] += (uint64_t)1 << 56;
        }
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (size_t i = 0; i < node_lanes; i++) {
                store_le64(nodes[first + lane] + 8 * i, node[i][lane]);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        addresses[i].hash_or_index += steps;
    }
}
