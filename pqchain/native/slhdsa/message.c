/* The hash functions of the message, FIPS 205, section 11, and the choice of the kernel. */
#include "../shake.h"
#include "hash.h"
#include "sha2.h"

void slh_context_start(slh_context *context, const slh_set *set, const uint8_t *public_seed,
                       const uint8_t *secret_seed) {
    *context = (slh_context){.set = set, .public_seed = public_seed, .secret_seed = secret_seed};
    if (set->hash == SLH_SHA2) {
        uint8_t block[128] = {0};
        slh_sha2 hash;
        memcpy(block, public_seed, set->n);
        slh_sha2_start(&hash, 0);
        slh_sha2_absorb(&hash, block, 64);
        memcpy(context->state_256, hash.state_256, sizeof context->state_256);
        slh_sha2_start(&hash, 1);
        slh_sha2_absorb(&hash, block, 128);
        memcpy(context->state_512, hash.state_512, sizeof context->state_512);
    }
}

void slh_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
               const slh_address addresses[], const uint8_t *const inputs[], size_t input_bytes) {
    const uint32_t n = context->set->n;
    if (context->set->hash == SLH_SHAKE) {
        slh_keccak_thash(context, count, outputs, addresses, inputs, input_bytes);
    } else if (n == 16 || input_bytes == n) {
        slh_sha256_thash(context, count, outputs, addresses, inputs, input_bytes);
    } else {
        slh_sha512_thash(context, count, outputs, addresses, inputs, input_bytes);
    }
}

void slh_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
               slh_address addresses[], uint32_t steps) {
    if (steps == 0) {
        return;
    }
    (context->set->hash == SLH_SHAKE ? slh_keccak_chain : slh_sha256_chain)(context, count, nodes,
                                                                            addresses, steps);
}

enum { MAX_BLOCK = 128, MAX_HASH = 64 };

static void absorb_message(slh_sha2 *hash, const slh_message *message) {
    slh_sha2_absorb(hash, message->prefix, message->prefix_bytes);
    slh_sha2_absorb(hash, message->message, message->message_bytes);
}

void slh_hmac(int wide, uint8_t *out, size_t out_bytes, const uint8_t *key, size_t key_bytes,
              const uint8_t *first, size_t first_bytes, const slh_message *message) {
    const size_t block_bytes = wide ? 128 : 64;
    uint8_t block[MAX_BLOCK] = {0}, digest[MAX_HASH];
    slh_sha2 hash;
    memcpy(block, key, key_bytes);
    for (size_t i = 0; i < block_bytes; i++) {
        block[i] ^= 0x36;
    }
    slh_sha2_start(&hash, wide);
    slh_sha2_absorb(&hash, block, block_bytes);
    slh_sha2_absorb(&hash, first, first_bytes);
    absorb_message(&hash, message);
    slh_sha2_finish(&hash, digest);
    for (size_t i = 0; i < block_bytes; i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }
    slh_sha2_start(&hash, wide);
    slh_sha2_absorb(&hash, block, block_bytes);
    slh_sha2_absorb(&hash, digest, wide ? 64 : 32);
    slh_sha2_finish(&hash, digest);
    memcpy(out, digest, out_bytes);
    slh_wipe(block, sizeof block);
    slh_wipe(&hash, sizeof hash);
}

void slh_message_randomizer(const slh_context *context, uint8_t *randomizer,
                            const uint8_t *secret_prf, const uint8_t *randomness,
                            const slh_message *message) {
    const uint32_t n = context->set->n;
    if (context->set->hash == SLH_SHA2) {
        slh_hmac(n > 16, randomizer, n, secret_prf, n, randomness, n, message);
        return;
    }
    pq_shake shake;
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, secret_prf, n);
    pq_shake_absorb(&shake, randomness, n);
    pq_shake_absorb(&shake, message->prefix, message->prefix_bytes);
    pq_shake_absorb(&shake, message->message, message->message_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, randomizer, n);
    slh_wipe(&shake, sizeof shake);
}

void slh_message_digest(const slh_context *context, uint8_t digest[SLH_MAX_DIGEST],
                        const uint8_t *randomizer, const uint8_t *public_root,
                        const slh_message *message) {
    const slh_set *set = context->set;
    const uint32_t n = set->n;
    if (set->hash == SLH_SHAKE) {
        pq_shake shake;
        pq_shake_start(&shake);
        pq_shake_absorb(&shake, randomizer, n);
        pq_shake_absorb(&shake, context->public_seed, n);
        pq_shake_absorb(&shake, public_root, n);
        pq_shake_absorb(&shake, message->prefix, message->prefix_bytes);
        pq_shake_absorb(&shake, message->message, message->message_bytes);
        pq_shake_finish(&shake);
        pq_shake_squeeze(&shake, digest, set->digest_bytes);
        return;
    }
    const int wide = n > 16;
    const size_t hash_bytes = wide ? 64 : 32;
    uint8_t inner[MAX_HASH], block[MAX_HASH];
    slh_sha2 hash;
    slh_sha2_start(&hash, wide);
    slh_sha2_absorb(&hash, randomizer, n);
    slh_sha2_absorb(&hash, context->public_seed, n);
    slh_sha2_absorb(&hash, public_root, n);
    absorb_message(&hash, message);
    slh_sha2_finish(&hash, inner);
    /* MGF1 of RFC 8017, appendix B.2.1 */
    for (uint32_t counter = 0; counter * hash_bytes < set->digest_bytes; counter++) {
        const size_t at = counter * hash_bytes, left = set->digest_bytes - at;
        uint8_t counter_bytes[4];
        slh_store_be32(counter_bytes, counter);
        slh_sha2_start(&hash, wide);
        slh_sha2_absorb(&hash, randomizer, n);
        slh_sha2_absorb(&hash, context->public_seed, n);
        slh_sha2_absorb(&hash, inner, hash_bytes);
        slh_sha2_absorb(&hash, counter_bytes, sizeof counter_bytes);
        slh_sha2_finish(&hash, block);
        memcpy(digest + at, block, left < hash_bytes ? left : hash_bytes);
    }
}
