/* The hash, and the generator that expands a seed into a secret key, and a message into vinegars and
 * salts: with the processor's AES instructions, which take the same time for every key. */
#include "../slhdsa/sha2.h"
#include "rainbow.h"

#include <immintrin.h>

enum { ROUNDS = 14, BLOCK = 16 };

typedef struct {
    __m128i round[ROUNDS + 1];
} schedule;

/* The word in every position: the sum of all words of `previous` up to it, and `word`. */
static __m128i next_round_key(__m128i previous, __m128i word) {
    previous = _mm_xor_si128(previous, _mm_slli_si128(previous, 4));
    previous = _mm_xor_si128(previous, _mm_slli_si128(previous, 8));
    return _mm_xor_si128(previous, word);
}

/* The round constant is part of the instruction, hence a macro. */
#define EXPAND(k, i, constant)                                                                   \
    do {                                                                                         \
        (k)[i] = next_round_key(                                                                 \
            (k)[(i) - 2], _mm_shuffle_epi32(_mm_aeskeygenassist_si128((k)[(i) - 1], constant), 0xff)); \
        if ((i) < ROUNDS) {                                                                      \
            (k)[(i) + 1] = next_round_key(                                                       \
                (k)[(i) - 1], _mm_shuffle_epi32(_mm_aeskeygenassist_si128((k)[i], 0), 0xaa));      \
        }                                                                                        \
    } while (0)

static void expand_key(schedule *s, const uint8_t key[32]) {
    __m128i *k = s->round;
    k[0] = _mm_loadu_si128((const __m128i *)(const void *)key);
    k[1] = _mm_loadu_si128((const __m128i *)(const void *)(key + BLOCK));
    EXPAND(k, 2, 0x01);
    EXPAND(k, 4, 0x02);
    EXPAND(k, 6, 0x04);
    EXPAND(k, 8, 0x08);
    EXPAND(k, 10, 0x10);
    EXPAND(k, 12, 0x20);
    EXPAND(k, 14, 0x40);
}

/* The encryptions of the next values of the counter, a big-endian number; the last may be cut. */
static void stream(rainbow_drbg *drbg, uint8_t *out, size_t bytes) {
    schedule s;
    uint64_t high, low;
    expand_key(&s, drbg->key);
    memcpy(&high, drbg->counter, sizeof high);
    memcpy(&low, drbg->counter + sizeof high, sizeof low);
    high = __builtin_bswap64(high);
    low = __builtin_bswap64(low);
    while (bytes > 0) {
        low++;
        high += low == 0;
        __m128i block = _mm_set_epi64x((long long)__builtin_bswap64(low),
                                       (long long)__builtin_bswap64(high));
        block = _mm_xor_si128(block, s.round[0]);
        for (int i = 1; i < ROUNDS; i++) {
            block = _mm_aesenc_si128(block, s.round[i]);
        }
        block = _mm_aesenclast_si128(block, s.round[ROUNDS]);
        const size_t taken = bytes < BLOCK ? bytes : BLOCK;
        memcpy(out, &block, taken);
        out += taken;
        bytes -= taken;
    }
    high = __builtin_bswap64(high);
    low = __builtin_bswap64(low);
    memcpy(drbg->counter, &high, sizeof high);
    memcpy(drbg->counter + sizeof high, &low, sizeof low);
    wipe(&s, sizeof s);
}

/* A new key and counter, so that what was drawn cannot be computed from the state. */
static void update(rainbow_drbg *drbg, const uint8_t data[48]) {
    uint8_t fresh[48];
    stream(drbg, fresh, sizeof fresh);
    for (size_t i = 0; i < sizeof fresh; i++) {
        fresh[i] ^= data[i];
    }
    memcpy(drbg->key, fresh, sizeof drbg->key);
    memcpy(drbg->counter, fresh + sizeof drbg->key, sizeof drbg->counter);
    wipe(fresh, sizeof fresh);
}

void rainbow_sha256(uint8_t digest[HASH_BYTES], const uint8_t *first, size_t first_bytes,
                    const uint8_t *second, size_t second_bytes) {
    slh_sha2 hash;
    slh_sha2_start(&hash, 0);
    slh_sha2_absorb(&hash, first, first_bytes);
    slh_sha2_absorb(&hash, second, second_bytes);
    slh_sha2_finish(&hash, digest);
    wipe(&hash, sizeof hash);
}

void rainbow_drbg_seed(rainbow_drbg *drbg, const uint8_t seed[SEED_BYTES]) {
    uint8_t material[SEED_BYTES + HASH_BYTES];
    memcpy(material, seed, SEED_BYTES);
    rainbow_sha256(material + SEED_BYTES, seed, SEED_BYTES, NULL, 0);
    memset(drbg, 0, sizeof *drbg);
    update(drbg, material);
    wipe(material, sizeof material);
}

void rainbow_drbg_draw(rainbow_drbg *drbg, uint8_t *out, size_t bytes) {
    static const uint8_t nothing[48];
    stream(drbg, out, bytes);
    update(drbg, nothing);
}
