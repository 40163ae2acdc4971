/* The SHA-256 kernels, with the SHA instructions of x86: two hashes at once, because each instruction
 * waits for the one before. */
#include "sha2.h"

#include <immintrin.h>

enum { WAYS = 2 };

/* State and message words as the instructions take them: abef and cdgh, four words a register. */
typedef struct {
    __m128i abef, cdgh;
} sha_state;

static inline sha_state load_state(const uint32_t state[8]) {
    const __m128i abcd = _mm_loadu_si128((const __m128i *)state);
    const __m128i efgh = _mm_loadu_si128((const __m128i *)(state + 4));
    const __m128i badc = _mm_shuffle_epi32(abcd, 0xb1), fehg = _mm_shuffle_epi32(efgh, 0xb1);
    /* Words are listed from the lowest: feba and hgdc. */
    return (sha_state){_mm_unpacklo_epi64(fehg, badc), _mm_unpackhi_epi64(fehg, badc)};
}

/* The words a b c d, and e f g h. */
static inline __m128i first_words(sha_state s) {
    return _mm_shuffle_epi32(_mm_unpackhi_epi64(s.abef, s.cdgh), 0xb1);
}

static inline __m128i last_words(sha_state s) {
    return _mm_shuffle_epi32(_mm_unpacklo_epi64(s.abef, s.cdgh), 0xb1);
}

/* Four rounds of every hash with the words m[index]. */
#define ROUNDS(i, index) \
    for (int way = 0; way < ways; way++) { \
        const __m128i sum = _mm_add_epi32( \
            m[way][index], _mm_loadu_si128((const __m128i *)(slh_sha256_constants + 4 * (i)))); \
        s[way].cdgh = _mm_sha256rnds2_epu32(s[way].cdgh, s[way].abef, sum); \
        s[way].abef = \
            _mm_sha256rnds2_epu32(s[way].abef, s[way].cdgh, _mm_shuffle_epi32(sum, 0x0e)); \
    }

/* Replace m[a] by the four words 16 after it; b, c, d follow a. */
#define EXPAND(a, b, c, d) \
    for (int way = 0; way < ways; way++) { \
        m[way][a] = _mm_sha256msg2_epu32( \
            _mm_add_epi32(_mm_sha256msg1_epu32(m[way][a], m[way][b]), \
                          _mm_alignr_epi8(m[way][d], m[way][c], 4)), \
            m[way][d]); \
    }

/* `ways`, at most WAYS, is a constant at each call. */
static inline __attribute__((always_inline)) void compress(sha_state state[], __m128i m[][4],
                                                           const int ways) {
    sha_state s[WAYS];
    for (int way = 0; way < ways; way++) {
        s[way] = state[way];
    }
    ROUNDS(0, 0)
    ROUNDS(1, 1)
    ROUNDS(2, 2)
    ROUNDS(3, 3)
#define SIXTEEN_ROUNDS(i) \
    EXPAND(0, 1, 2, 3) ROUNDS(i, 0) EXPAND(1, 2, 3, 0) ROUNDS((i) + 1, 1) EXPAND(2, 3, 0, 1) \
    ROUNDS((i) + 2, 2) EXPAND(3, 0, 1, 2) ROUNDS((i) + 3, 3)
    SIXTEEN_ROUNDS(4)
    SIXTEEN_ROUNDS(8)
    SIXTEEN_ROUNDS(12)
    for (int way = 0; way < ways; way++) {
        state[way].abef = _mm_add_epi32(state[way].abef, s[way].abef);
        state[way].cdgh = _mm_add_epi32(state[way].cdgh, s[way].cdgh);
    }
}

static inline __m128i swap_bytes(__m128i words) {
    return _mm_shuffle_epi8(words, _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
}

static inline void load_block(__m128i m[4], const uint8_t block[64]) {
    for (int i = 0; i < 4; i++) {
        m[i] = swap_bytes(_mm_loadu_si128((const __m128i *)(block + 16 * i)));
    }
}

static inline void store_node(uint8_t *to, sha_state s, uint32_t bytes) {
    uint8_t digest[32];
    _mm_storeu_si128((__m128i *)digest, swap_bytes(first_words(s)));
    _mm_storeu_si128((__m128i *)(digest + 16), swap_bytes(last_words(s)));
    memcpy(to, digest, bytes);
}

void slh_sha256_compress(uint32_t state[8], const uint8_t block[64]) {
    sha_state s[1] = {load_state(state)};
    __m128i m[1][4];
    load_block(m[0], block);
    compress(s, m, 1);
    _mm_storeu_si128((__m128i *)state, first_words(s[0]));
    _mm_storeu_si128((__m128i *)(state + 4), last_words(s[0]));
}

static inline __attribute__((always_inline)) void
thash_ways(const slh_context *context, uint8_t *const outputs[], const slh_address addresses[],
           const uint8_t *const inputs[], size_t input_bytes, const int ways) {
    const size_t count = slh_sha2_block_count(input_bytes, 64);
    sha_state s[WAYS];
    __m128i m[WAYS][4];
    uint8_t block[64];
    for (int way = 0; way < ways; way++) {
        s[way] = load_state(context[addresses[way].key].state_256);
    }
    for (size_t index = 0; index < count; index++) {
        for (int way = 0; way < ways; way++) {
            slh_sha2_block(block, index, &addresses[way], inputs[way], input_bytes, 64);
            load_block(m[way], block);
        }
        compress(s, m, ways);
    }
    for (int way = 0; way < ways; way++) {
        store_node(outputs[way], s[way], context->set->n);
    }
}

void slh_sha256_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes) {
    size_t i = 0;
    for (; i + WAYS <= count; i += WAYS) {
        thash_ways(context, outputs + i, addresses + i, inputs + i, input_bytes, WAYS);
    }
    for (; i < count; i++) {
        thash_ways(context, outputs + i, addresses + i, inputs + i, input_bytes, 1);
    }
}

/* The compressed address has 22 bytes, so that the node begins in the middle of word 5: words are
 * combined from halves. `end` is 0x80 after the node, and the length in bits. */
static inline __attribute__((always_inline)) void
chain_ways(const slh_context *context, uint8_t *const nodes[], const slh_address addresses[],
           uint32_t steps, const int ways) {
    const uint32_t n = context->set->n;
    const int length = (int)(8 * (64 + SLH_SHA2_ADDRESS_BYTES + n));
    const __m128i kept = n == 16   ? _mm_setzero_si128()
                         : n == 24 ? _mm_set_epi32(0, 0, -1, -1)
                                   : _mm_set1_epi32(-1);
    const __m128i end_2 = n == 16   ? _mm_set_epi32(0, 0, 0x8000, 0)
                          : n == 24 ? _mm_set_epi32(0x8000, 0, 0, 0)
                                    : _mm_setzero_si128();
    const __m128i end_3 = _mm_set_epi32(length, 0, n == 32 ? 0x8000 : 0, 0);
    __m128i first[WAYS], last[WAYS], fixed_0[WAYS], fixed_1[WAYS], m[WAYS][4];
    sha_state start[WAYS];
    for (int way = 0; way < ways; way++) {
        uint8_t node[32] = {0}, address[32] = {0};
        slh_address from = addresses[way];
        start[way] = load_state(context[from.key].state_256);
        memcpy(node, nodes[way], n);
        slh_sha2_address(address, &from);
        first[way] = swap_bytes(_mm_loadu_si128((const __m128i *)node));
        last[way] = swap_bytes(_mm_loadu_si128((const __m128i *)(node + 16)));
        fixed_0[way] = swap_bytes(_mm_loadu_si128((const __m128i *)address));
        fixed_1[way] = swap_bytes(_mm_loadu_si128((const __m128i *)(address + 16)));
    }
    for (uint32_t step = 0; step < steps; step++) {
        sha_state s[WAYS];
        for (int way = 0; way < ways; way++) {
            const __m128i high_0 = _mm_srli_epi32(first[way], 16);
            const __m128i low_0 = _mm_slli_epi32(first[way], 16);
            const __m128i high_1 = _mm_srli_epi32(last[way], 16);
            const __m128i low_1 = _mm_slli_epi32(last[way], 16);
            m[way][0] = fixed_0[way];
            m[way][1] = _mm_or_si128(fixed_1[way], _mm_or_si128(_mm_slli_si128(high_0, 4),
                                                                _mm_slli_si128(low_0, 8)));
            m[way][2] = _mm_or_si128(end_2, _mm_or_si128(_mm_alignr_epi8(high_1, high_0, 12),
                                                         _mm_alignr_epi8(low_1, low_0, 8)));
            m[way][3] = _mm_or_si128(
                end_3, _mm_or_si128(_mm_srli_si128(high_1, 12), _mm_srli_si128(low_1, 8)));
            s[way] = start[way];
            /* The hash address is the upper half of word 5. */
            fixed_1[way] = _mm_add_epi32(fixed_1[way], _mm_set_epi32(0, 0, 0x10000, 0));
        }
        compress(s, m, ways);
        for (int way = 0; way < ways; way++) {
            first[way] = first_words(s[way]);
            last[way] = _mm_and_si128(kept, last_words(s[way]));
        }
    }
    for (int way = 0; way < ways; way++) {
        uint8_t node[32];
        _mm_storeu_si128((__m128i *)node, swap_bytes(first[way]));
        _mm_storeu_si128((__m128i *)(node + 16), swap_bytes(last[way]));
        memcpy(nodes[way], node, n);
    }
}

void slh_sha256_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
                      slh_address addresses[], uint32_t steps) {
    size_t i = 0;
    for (; i + WAYS <= count; i += WAYS) {
        chain_ways(context, nodes + i, addresses + i, steps, WAYS);
    }
    for (; i < count; i++) {
        chain_ways(context, nodes + i, addresses + i, steps, 1);
    }
    for (i = 0; i < count; i++) {
        addresses[i].hash_or_index += steps;
    }
}
