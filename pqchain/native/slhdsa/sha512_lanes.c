/* The SHA-512 kernel, with compiler vectors. */
#include "lanes.h"
#include "sha2.h"

typedef slh_vector64 vec;
#define ROTATE SLH_ROTATE_RIGHT

enum { WIDTH = SLH_LANES_64 };

#define ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        h += (ROTATE(e, 14) ^ ROTATE(e, 18) ^ ROTATE(e, 41)) + (g ^ (e & (f ^ g))) + \
             (w[(i) & 15] + slh_sha512_constants[i]); \
        d += h; \
        h += (ROTATE(a, 28) ^ ROTATE(a, 34) ^ ROTATE(a, 39)) + ((a & b) | (c & (a | b))); \
    } while (0)

#define EXPAND(i) \
    (w[(i) & 15] += (ROTATE(w[((i) + 1) & 15], 1) ^ ROTATE(w[((i) + 1) & 15], 8) ^ \
                     w[((i) + 1) & 15] >> 7) + \
                    w[((i) + 9) & 15] + \
                    (ROTATE(w[((i) + 14) & 15], 19) ^ ROTATE(w[((i) + 14) & 15], 61) ^ \
                     w[((i) + 14) & 15] >> 6))

static void compress(vec state[8], vec w[16]) {
    vec a = state[0], b = state[1], c = state[2], d = state[3];
    vec e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 80; i += 8) {
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

static void hash_one(const slh_context *context, uint8_t *output, const slh_address *address,
                     const uint8_t *input, size_t input_bytes) {
    uint8_t block[128], digest[64];
    uint64_t state[8];
    const size_t count = slh_sha2_block_count(input_bytes, 128);
    memcpy(state, context->state_512, sizeof state);
    for (size_t i = 0; i < count; i++) {
        slh_sha2_block(block, i, address, input, input_bytes, 128);
        slh_sha512_compress(state, block);
    }
    for (int i = 0; i < 8; i++) {
        slh_store_be64(digest + 8 * i, state[i]);
    }
    memcpy(output, digest, context->set->n);
}

void slh_sha512_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes) {
    if (count == 1) {
        hash_one(context, outputs[0], &addresses[0], inputs[0], input_bytes);
        return;
    }
    const size_t block_count = slh_sha2_block_count(input_bytes, 128);
    for (size_t first = 0; first < count; first += WIDTH) {
        vec state[8], w[16];
        for (int i = 0; i < 8; i++) {
            state[i] = (vec){0} + context->state_512[i];
        }
        for (size_t index = 0; index < block_count; index++) {
            for (size_t lane = 0; lane < WIDTH; lane++) {
                const size_t from = first + lane < count ? first + lane : first; /* unused: repeat */
                uint8_t block[128];
                slh_sha2_block(block, index, &addresses[from], inputs[from], input_bytes, 128);
                for (int i = 0; i < 16; i++) {
                    w[i][lane] = slh_load_be64(block + (int)sizeof(uint64_t) * i);
                }
            }
            compress(state, w);
        }
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (uint32_t i = 0; i < context->set->n / 8; i++) {
                slh_store_be64(outputs[first + lane] + 8 * i, state[i][lane]);
            }
        }
    }
}
