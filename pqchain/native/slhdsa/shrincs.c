/* SHRINCS: WOTS+C, the stateful tree FXMSS, and the two kinds of signatures. */
#include "shrincs.h"

#include "sha2.h"
#include "tree.h"

enum {
    N = 16,
    TOP = 255,       /* height of the root: nodes are addressed by their height below it */
    CHAINS = 32,     /* WOTS+C has no checksum: */
    DIGIT_SUM = 240, /* the counter is chosen so that the digits have this sum */
    COUNTERS = 1 << 16,
    WOTS_BYTES = 2 + CHAINS * N
};

/* Types of addresses. */
enum { C_HASH = 16, C_KEY = 17, C_TREE = 18, C_PRF = 21, C_GRIND = 22 };

static const slh_set STATELESS = {
    .name = "SHRINCS", .hash = SLH_SHA2, .nist_level = 1, .n = N, .layers = 5, .height = 9,
    .fors_height = 13, .fors_trees = 10, .log_w = 4, .chains = 35, .digest_bytes = 24,
    .signature_bytes = SHRINCS_STATELESS_BYTES - 1};

/* A leaf of FXMSS, and how much of the index is in a signature. */
typedef struct {
    uint32_t depth; /* below the root */
    uint64_t index; /* from the left */
} leaf_position;

static size_t index_bytes(uint32_t depth) { return ((depth < 64 ? depth : 64) + 7) / 8; }

static size_t stateful_bytes(uint32_t depth) {
    return 1 + N + index_bytes(depth) + WOTS_BYTES + depth * N;
}

static int is_structure(const uint8_t structure[2]) {
    return structure[0] == SHRINCS_UNBALANCED ||
           (structure[0] == SHRINCS_BALANCED && structure[1] <= SHRINCS_MAX_BALANCED_DEPTH);
}

/* shrincs_sf_leaf_select of the draft. */
static int select_leaf(const uint8_t structure[2], uint64_t counter, leaf_position *leaf) {
    const uint32_t depth = structure[1];
    if (depth == 0 || !is_structure(structure)) {
        return 0;
    }
    if (structure[0] == SHRINCS_BALANCED) {
        *leaf = (leaf_position){depth, counter};
        return counter < (uint64_t)1 << depth;
    }
    *leaf = counter == depth ? (leaf_position){depth, 0} : (leaf_position){(uint32_t)counter + 1, 1};
    return counter <= depth;
}

size_t shrincs_stateful_bytes(const uint8_t structure[2], uint64_t counter) {
    leaf_position leaf;
    return select_leaf(structure, counter, &leaf) ? stateful_bytes(leaf.depth) : 0;
}

static slh_wots wots_of(const uint8_t structure[2]) {
    return (slh_wots){CHAINS, C_PRF, C_HASH, C_KEY,
                      (uint32_t)structure[0] << 24 | (uint32_t)structure[1] << 16};
}

static slh_address address_of(leaf_position leaf, uint32_t type) {
    return (slh_address){.layer = TOP - leaf.depth, .tree = leaf.index, .type = type};
}

/* The first nine bytes of an address: height and index. */
static void position_bytes(uint8_t to[9], leaf_position leaf) {
    to[0] = (uint8_t)(TOP - leaf.depth);
    slh_store_be64(to + 1, leaf.index);
}

/* H_grind: the digits of WOTS+C for a counter. Returns whether they have the required sum. */
static int constant_sum_digits(const slh_context *context, leaf_position leaf,
                               const uint8_t digest[32], uint32_t counter,
                               uint32_t digits[CHAINS]) {
    uint8_t input[48] = {0}, out[32];
    slh_sha2 hash;
    uint32_t sum = 0;
    position_bytes(input, leaf);
    input[9] = C_GRIND;
    memcpy(input + 10, digest, 32);
    input[46] = (uint8_t)(counter >> 8);
    input[47] = (uint8_t)counter;
    slh_sha2_start(&hash, 0);
    memcpy(hash.state_256, context->state_256, sizeof hash.state_256);
    hash.bytes = 64;
    slh_sha2_absorb(&hash, input, sizeof input);
    slh_sha2_finish(&hash, out);
    slh_split_bits(digits, CHAINS, out, 4);
    for (size_t i = 0; i < CHAINS; i++) {
        sum += digits[i];
    }
    return sum == DIGIT_SUM;
}

/* The leaf that signs; signature is NULL for key generation. */
typedef struct {
    const uint8_t *structure;
    leaf_position leaf;
    const uint32_t *digits;
    uint8_t *signature;
} signing_leaf;

static void make_keys(const slh_context *context, const signing_leaf *signing, size_t count,
                      const leaf_position leaves[], uint8_t *const keys[]) {
    const slh_wots wots = wots_of(signing->structure);
    slh_address addresses[SLH_LANES] = {{0}};
    size_t signer = SLH_LANES;
    for (size_t lane = 0; lane < count; lane++) {
        addresses[lane] = address_of(leaves[lane], C_HASH);
        if (signing->signature != NULL && leaves[lane].depth == signing->leaf.depth &&
            leaves[lane].index == signing->leaf.index) {
            signer = lane;
        }
    }
    slh_wots_keys(context, &wots, count, addresses, keys, signer, signing->digits,
                  signing->signature);
}

static void make_balanced_leaves(const slh_context *context, void *argument, size_t count,
                                 const uint32_t indices[], uint8_t *const keys[]) {
    const signing_leaf *signing = argument;
    leaf_position leaves[SLH_LANES];
    for (size_t lane = 0; lane < count; lane++) {
        leaves[lane] = (leaf_position){signing->structure[1], indices[lane]};
    }
    make_keys(context, signing, count, leaves, keys);
}

/* Replace a node by its parent, of which `position` is that of the parent. */
static void parent(const slh_context *context, leaf_position position, const uint8_t *left,
                   const uint8_t *right, uint8_t *node) {
    uint8_t pair[2 * N];
    const uint8_t *const inputs[] = {pair};
    uint8_t *const outputs[] = {node};
    const slh_address address = address_of(position, C_TREE);
    memcpy(pair, left, N);
    memcpy(pair + N, right, N);
    slh_thash(context, 1, outputs, &address, inputs, sizeof pair);
}

/* The tree in which each left child is inner, down to two leaves: leaf d is the right child of depth
 * d, leaf 0 the left one at the bottom. */
static void unbalanced_root(const slh_context *context, signing_leaf *signing, uint8_t *path,
                            uint8_t *root) {
    const uint32_t depth = signing->structure[1];
    uint8_t keys[TOP + 1][N];
    for (uint32_t first = 0; first <= depth; first += SLH_LANES) {
        const uint32_t left = depth + 1 - first;
        const size_t count = left < SLH_LANES ? left : SLH_LANES;
        leaf_position leaves[SLH_LANES];
        uint8_t *outputs[SLH_LANES];
        for (size_t lane = 0; lane < count; lane++) {
            const uint32_t at = first + (uint32_t)lane;
            leaves[lane] = at == 0 ? (leaf_position){depth, 0} : (leaf_position){at, 1};
            outputs[lane] = keys[at];
        }
        make_keys(context, signing, count, leaves, outputs);
    }
    memcpy(root, keys[0], N);
    for (uint32_t at = depth; at > 0; at--) {
        if (path != NULL && at <= signing->leaf.depth) {
            const int right = at == signing->leaf.depth && signing->leaf.index == 1;
            memcpy(path + (signing->leaf.depth - at) * N, right ? root : keys[at], N);
        }
        parent(context, (leaf_position){at - 1, 0}, root, keys[at], root);
    }
}

static void stateful_root(const slh_context *context, signing_leaf *signing, uint8_t *path,
                          uint8_t *root) {
    if (signing->structure[0] == SHRINCS_UNBALANCED || signing->structure[1] == 0) {
        unbalanced_root(context, signing, path, root);
        return;
    }
    const uint32_t depth = signing->structure[1];
    const slh_tree_plan plan = {.address = {.layer = TOP - depth, .type = C_TREE},
                                .height = depth, .target = (uint32_t)signing->leaf.index,
                                .path = path, .in_prefix = 1};
    slh_tree_root(context, &plan, make_balanced_leaves, signing, root);
}

int shrincs_keypair(uint8_t *public_key, uint8_t *secret_key, const uint8_t *seed,
                    const uint8_t structure[2]) {
    slh_context context;
    uint8_t stateless_key[2 * N];
    signing_leaf none = {.structure = structure};
    if (!is_structure(structure)) {
        return 0;
    }
    slh_keypair(&STATELESS, stateless_key, secret_key, seed);
    slh_context_start(&context, &STATELESS, secret_key + 2 * N, secret_key);
    memcpy(secret_key + 4 * N, structure, 2);
    stateful_root(&context, &none, NULL, secret_key + 4 * N + 2);
    DECLASSIFY(secret_key + 4 * N + 2, N);
    memcpy(public_key, stateless_key, 2 * N);
    memcpy(public_key + 2 * N, secret_key + 4 * N + 2, N);
    return 1;
}

/* What precedes the message: 0, the context, its length, and the root of the other tree. */
enum { MAX_PREFIX = 2 + SHRINCS_MAX_CONTEXT + N };

static slh_message bind(uint8_t prefix[MAX_PREFIX], const slh_message *message,
                        const uint8_t *context, size_t context_bytes, const uint8_t *root) {
    prefix[0] = 0;
    prefix[1] = (uint8_t)context_bytes;
    if (context_bytes > 0) {
        memcpy(prefix + 2, context, context_bytes);
    }
    memcpy(prefix + 2 + context_bytes, root, N);
    return (slh_message){prefix, 2 + context_bytes + N, message->message, message->message_bytes};
}

/* H_msg_sf */
static void stateful_digest(uint8_t digest[32], const uint8_t *randomizer, const uint8_t *seed,
                            const uint8_t *root, leaf_position leaf, const slh_message *message) {
    uint8_t position[9], inner[32];
    slh_sha2 hash;
    position_bytes(position, leaf);
    slh_sha2_start(&hash, 0);
    slh_sha2_absorb(&hash, randomizer, N);
    slh_sha2_absorb(&hash, seed, N);
    slh_sha2_absorb(&hash, root, N);
    slh_sha2_absorb(&hash, position, sizeof position);
    slh_sha2_absorb(&hash, message->prefix, message->prefix_bytes);
    slh_sha2_absorb(&hash, message->message, message->message_bytes);
    slh_sha2_finish(&hash, inner);
    slh_sha2_start(&hash, 0);
    slh_sha2_absorb(&hash, randomizer, N);
    slh_sha2_absorb(&hash, seed, N);
    slh_sha2_absorb(&hash, inner, sizeof inner);
    slh_sha2_absorb(&hash, position, sizeof position);
    slh_sha2_finish(&hash, digest);
}

int shrincs_sign_stateful(uint8_t *signature, const slh_message *message, const uint8_t *context,
                          size_t context_bytes, const uint8_t *secret_key, uint64_t counter) {
    const uint8_t *seed = secret_key + 2 * N, *structure = secret_key + 4 * N;
    const uint8_t *root = structure + 2;
    uint8_t prefix[MAX_PREFIX], digest[32], key[64], first[N + 9], made[N], *at = signature;
    uint32_t digits[CHAINS], found = 0;
    leaf_position leaf;
    slh_context hashes;
    if (!select_leaf(structure, counter, &leaf)) {
        return 0;
    }
    slh_context_start(&hashes, &STATELESS, seed, secret_key);
    const slh_message bound = bind(prefix, message, context, context_bytes, secret_key + 3 * N);

    /* PRF_msg_sf: HMAC with the key SK.prf || 0xff^48 of PK.seed, the position and the message. */
    memcpy(key, secret_key + N, N);
    memset(key + N, 0xff, sizeof key - N);
    memcpy(first, seed, N);
    position_bytes(first + N, leaf);
    *at++ = first[N];
    slh_hmac(0, at, N, key, sizeof key, first, sizeof first, &bound);
    slh_wipe(key, sizeof key);
    DECLASSIFY(at, N);
    stateful_digest(digest, at, seed, root, leaf, &bound);
    at += N;
    for (size_t left = index_bytes(leaf.depth); left > 0; left--) {
        *at++ = (uint8_t)(leaf.index >> (8 * (left - 1)));
    }
    while (!constant_sum_digits(&hashes, leaf, digest, found, digits)) {
        if (++found == COUNTERS) {
            return 0; /* one of 65 counters succeeds: practically impossible */
        }
    }
    *at++ = (uint8_t)(found >> 8);
    *at++ = (uint8_t)found;
    signing_leaf signing = {structure, leaf, digits, at};
    stateful_root(&hashes, &signing, at + CHAINS * N, made);
    DECLASSIFY(made, N);
    return memcmp(made, root, N) == 0;
}

int shrincs_sign_stateless(uint8_t *signature, const slh_message *message, const uint8_t *context,
                           size_t context_bytes, const uint8_t *secret_key,
                           const uint8_t *randomness) {
    uint8_t prefix[MAX_PREFIX];
    const slh_message bound = bind(prefix, message, context, context_bytes, secret_key + 4 * N + 2);
    signature[0] = TOP;
    return slh_sign(&STATELESS, signature + 1, &bound, secret_key, randomness);
}

int shrincs_verify(const slh_message *message, const uint8_t *signature, size_t signature_bytes,
                   const uint8_t *context, size_t context_bytes, const uint8_t *public_key) {
    uint8_t prefix[MAX_PREFIX], digest[32], root[N], *const node = root;
    uint32_t digits[1][SLH_MAX_CHAINS];
    if (signature_bytes == 0) {
        return 0;
    }
    if (signature[0] == TOP) {
        const slh_message bound = bind(prefix, message, context, context_bytes, public_key + 2 * N);
        return signature_bytes == SHRINCS_STATELESS_BYTES &&
               slh_verify(&STATELESS, &bound, signature + 1, public_key);
    }
    leaf_position leaf = {(uint32_t)(TOP - signature[0]), 0};
    if (signature_bytes != stateful_bytes(leaf.depth)) {
        return 0;
    }
    const uint8_t *at = signature + 1 + N;
    for (size_t i = 0; i < index_bytes(leaf.depth); i++) {
        leaf.index = leaf.index << 8 | *at++;
    }
    if (leaf.depth < 64 && leaf.index >> leaf.depth != 0) {
        return 0;
    }
    const slh_message bound = bind(prefix, message, context, context_bytes, public_key + N);
    slh_context hashes;
    slh_context_start(&hashes, &STATELESS, public_key, NULL);
    stateful_digest(digest, signature + 1, public_key, public_key + 2 * N, leaf, &bound);
    if (!constant_sum_digits(&hashes, leaf, digest, (uint32_t)at[0] << 8 | at[1], digits[0])) {
        return 0;
    }
    static const uint8_t any_structure[2] = {0, 0}; /* only PRF depends on it */
    const slh_wots wots = wots_of(any_structure);
    slh_address address = address_of(leaf, C_HASH);
    at += 2;
    slh_wots_keys_of(&hashes, &wots, 1, &address, digits, &at, &node);
    at += CHAINS * N;
    while (leaf.depth > 0) {
        const int right = leaf.index & 1;
        leaf = (leaf_position){leaf.depth - 1, leaf.index >> 1};
        parent(&hashes, leaf, right ? at : node, right ? node : at, node);
        at += N;
    }
    return memcmp(node, public_key + 2 * N, N) == 0;
}
