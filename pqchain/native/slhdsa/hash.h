/* The hash functions of FIPS 205, section 11, on up to SLH_LANES independent inputs at once.
 *
 * PRF, F, H and T_l are one function in FIPS 205: the hash of PK.seed, an address and some bytes
 * (slh_thash). slh_chain iterates F and keeps the node in registers between the steps. The kernels
 * exist with compiler vectors (sha256_lanes.c, sha512_lanes.c, keccak_lanes.c) and with the SHA
 * instructions of x86 (sha256_ni.c); the build selects them.
 */
#ifndef SLHDSA_HASH_H
#define SLHDSA_HASH_H

#include "slhdsa.h"

#include <string.h>

#ifndef SLH_VECTOR_BYTES
#define SLH_VECTOR_BYTES 16
#endif

/* At least as many lanes as a vector has 32-bit words. */
enum { SLH_LOG_LANES = SLH_VECTOR_BYTES > 32 ? 4 : 3, SLH_LANES = 1 << SLH_LOG_LANES };

/* The types of addresses, FIPS 205, section 4.2. */
enum {
    SLH_WOTS_HASH = 0,
    SLH_WOTS_PK = 1,
    SLH_TREE = 2,
    SLH_FORS_TREE = 3,
    SLH_FORS_ROOTS = 4,
    SLH_WOTS_PRF = 5,
    SLH_FORS_PRF = 6
};

/* An address ADRS. The last three words have the meaning of the type. */
typedef struct {
    uint32_t layer;
    uint32_t type;
    uint64_t tree;
    uint32_t key_pair;
    uint32_t chain_or_height; /* chain address, or height in a tree */
    uint32_t hash_or_index;   /* hash address, or index in a tree */
    uint32_t key;             /* not hashed: the number of the lane's key among the contexts */
} slh_address;

/* Everything that depends on the key only. The functions below take one context, or an array of them,
 * of the same set, from which each lane's address takes its key. */
typedef struct {
    const slh_set *set;
    const uint8_t *public_seed;
    const uint8_t *secret_seed; /* NULL in verification */
    uint32_t state_256[8];      /* SHA-256 after the block of PK.seed and zeros */
    uint64_t state_512[8];      /* SHA-512, likewise */
} slh_context;

typedef uint8_t slh_node[SLH_MAX_N];

void slh_context_start(slh_context *context, const slh_set *set, const uint8_t *public_seed,
                       const uint8_t *secret_seed);

/* For each lane below count, at most SLH_LANES: output = hash(PK.seed, address, input), n bytes. */
void slh_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
               const slh_address addresses[], const uint8_t *const inputs[], size_t input_bytes);

/* Apply F the same number of times to each lane's node, in place, from hash address
 * addresses[lane].hash_or_index, which is advanced. */
void slh_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
               slh_address addresses[], uint32_t steps);

/* HMAC (FIPS 198-1) of first and message, with SHA-512 if wide, truncated; the key fits a block. */
void slh_hmac(int wide, uint8_t *out, size_t out_bytes, const uint8_t *key, size_t key_bytes,
              const uint8_t *first, size_t first_bytes, const slh_message *message);

/* PRF_msg and H_msg of FIPS 205, section 11. */
void slh_message_randomizer(const slh_context *context, uint8_t *randomizer,
                            const uint8_t *secret_prf, const uint8_t *randomness,
                            const slh_message *message);
void slh_message_digest(const slh_context *context, uint8_t digest[SLH_MAX_DIGEST],
                        const uint8_t *randomizer, const uint8_t *public_root,
                        const slh_message *message);

/* The kernels. SHA-256 is used for F, PRF and, if n = 16, for all; SHA-512 for H and T_l else. */
enum { SLH_SHA2_ADDRESS_BYTES = 22, SLH_SHAKE_ADDRESS_BYTES = 32 };
void slh_sha256_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes);
void slh_sha256_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
                      slh_address addresses[], uint32_t steps);
void slh_sha512_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes);
void slh_keccak_thash(const slh_context *context, size_t count, uint8_t *const outputs[],
                      const slh_address addresses[], const uint8_t *const inputs[],
                      size_t input_bytes);
void slh_keccak_chain(const slh_context *context, size_t count, uint8_t *const nodes[],
                      slh_address addresses[], uint32_t steps);

static inline void slh_store_be32(uint8_t *to, uint32_t word) {
    to[0] = (uint8_t)(word >> 24);
    to[1] = (uint8_t)(word >> 16);
    to[2] = (uint8_t)(word >> 8);
    to[3] = (uint8_t)word;
}

static inline void slh_store_be64(uint8_t *to, uint64_t word) {
    slh_store_be32(to, (uint32_t)(word >> 32));
    slh_store_be32(to + 4, (uint32_t)word);
}

static inline uint32_t slh_load_be32(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline uint64_t slh_load_be64(const uint8_t *from) {
    return (uint64_t)slh_load_be32(from) << 32 | slh_load_be32(from + 4);
}

/* Overwrite a secret; the empty assembly keeps the compiler from leaving it out. */
static inline void slh_wipe(void *memory, size_t bytes) {
    memset(memory, 0, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/* The compressed address of SHA-2, FIPS 205, section 11.2. */
static inline void slh_sha2_address(uint8_t to[SLH_SHA2_ADDRESS_BYTES], const slh_address *from) {
    to[0] = (uint8_t)from->layer;
    slh_store_be64(to + 1, from->tree);
    to[9] = (uint8_t)from->type;
    slh_store_be32(to + 10, from->key_pair);
    slh_store_be32(to + 14, from->chain_or_height);
    slh_store_be32(to + 18, from->hash_or_index);
}

#endif
