/* slh_thash with compiler vectors of SHA-256 or SHA-512. To be included with BITS (32 or 64) defined,
 * which it undefines. Defines vec, WIDTH, start() and compress() for the includer. */
#include "lanes.h"
#include "sha2.h"

#if BITS == 32
typedef slh_vector32 vec;
typedef uint32_t word;
enum { WIDTH = SLH_LANES_32, FEW = WIDTH / 4 };
#define STATE state_256
#define LOAD slh_load_be32
#define STORE slh_store_be32
#define COMPRESS_ONE slh_sha256_compress
#define THASH slh_sha256_thash
#else
typedef slh_vector64 vec;
typedef uint64_t word;
enum { WIDTH = SLH_LANES_64, FEW = 1 };
#define STATE state_512
#define LOAD slh_load_be64
#define STORE slh_store_be64
#define COMPRESS_ONE slh_sha512_compress
#define THASH slh_sha512_thash
#endif
/* FEW: so many lanes are faster one by one than in a vector of which most lanes are unused. */
enum { WORD_BYTES = sizeof(word), BLOCK_BYTES = 16 * WORD_BYTES };

#define WORD vec
#define COMPRESS compress
#include "sha2_rounds.h"

SLH_INLINE void start(vec state[8], const slh_context *context, const slh_address addresses[],
                      size_t first, size_t count) {
    word states[8][WIDTH] __attribute__((aligned(SLH_VECTOR_BYTES)));
    for (size_t lane = 0; lane < WIDTH; lane++) {
        const size_t from = first + lane < count ? first + lane : first;
        for (int i = 0; i < 8; i++) {
            states[i][lane] = context[addresses[from].key].STATE[i];
        }
    }
    memcpy(state, states, sizeof states);
}

static void hash_one(const slh_context *context, uint8_t *output, const slh_address *address,
                     const uint8_t *input, size_t input_bytes) {
    uint8_t block[BLOCK_BYTES], digest[8 * WORD_BYTES];
    word state[8];
    const size_t count = slh_sha2_block_count(input_bytes, BLOCK_BYTES);
    memcpy(state, context[address->key].STATE, sizeof state);
    for (size_t i = 0; i < count; i++) {
        slh_sha2_block(block, i, address, input, input_bytes, BLOCK_BYTES);
        COMPRESS_ONE(state, block);
    }
    for (int i = 0; i < 8; i++) {
        STORE(digest + WORD_BYTES * i, state[i]);
    }
    memcpy(output, digest, context->set->n);
}

void THASH(const slh_context *context, size_t count, uint8_t *const outputs[],
           const slh_address addresses[], const uint8_t *const inputs[], size_t input_bytes) {
    if (count <= FEW) {
        for (size_t i = 0; i < count; i++) {
            hash_one(context, outputs[i], &addresses[i], inputs[i], input_bytes);
        }
        return;
    }
    const uint32_t words = context->set->n / WORD_BYTES;
    const size_t block_count = slh_sha2_block_count(input_bytes, BLOCK_BYTES);
    for (size_t first = 0; first < count; first += WIDTH) {
        vec state[8], w[16];
        start(state, context, addresses, first, count);
        for (size_t index = 0; index < block_count; index++) {
            for (size_t lane = 0; lane < WIDTH; lane++) {
                const size_t from = first + lane < count ? first + lane : first; /* unused: repeat */
                uint8_t block[BLOCK_BYTES];
                slh_sha2_block(block, index, &addresses[from], inputs[from], input_bytes,
                               BLOCK_BYTES);
                for (int i = 0; i < 16; i++) {
                    w[i][lane] = LOAD(block + WORD_BYTES * i);
                }
            }
            compress(state, w);
        }
        for (size_t lane = 0; lane < WIDTH && first + lane < count; lane++) {
            for (uint32_t i = 0; i < words; i++) {
                STORE(outputs[first + lane] + WORD_BYTES * i, state[i][lane]);
            }
        }
    }
}

#undef STATE
#undef LOAD
#undef STORE
#undef COMPRESS_ONE
#undef THASH
