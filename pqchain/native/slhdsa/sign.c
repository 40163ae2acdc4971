/* Keys, signing and verification, FIPS 205, sections 7 and 9. */
#include "tree.h"

/* The parts of the message digest, algorithm 19, steps 6 to 10. */
typedef struct {
    uint8_t digest[SLH_MAX_DIGEST]; /* for FORS, from its first byte */
    uint64_t tree;
    uint32_t leaf;
} signed_digest;

static uint64_t big_endian(const uint8_t *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

static void hash_message(const slh_context *context, signed_digest *to, const uint8_t *randomizer,
                         const uint8_t *public_root, const slh_message *message) {
    const slh_set *set = context->set;
    const uint32_t tree_bits = (set->layers - 1) * set->height;
    const size_t tree_bytes = (tree_bits + 7) / 8;
    const uint8_t *at = to->digest + (set->fors_trees * set->fors_height + 7) / 8;
    slh_message_digest(context, to->digest, randomizer, public_root, message);
    to->tree = big_endian(at, tree_bytes);
    if (tree_bits < 64) {
        to->tree &= ((uint64_t)1 << tree_bits) - 1;
    }
    to->leaf = (uint32_t)big_endian(at + tree_bytes, (set->height + 7) / 8) &
               ((1u << set->height) - 1);
}

/* Ascend from a tree to its parent: leaf and tree of the next layer. */
static void ascend(const slh_set *set, uint64_t *tree, uint32_t *leaf) {
    *leaf = (uint32_t)(*tree & ((1u << set->height) - 1));
    *tree >>= set->height;
}

void slh_keypair(const slh_set *set, uint8_t *public_key, uint8_t *secret_key,
                 const uint8_t *seeds) {
    const uint32_t n = set->n;
    slh_context context;
    memcpy(secret_key, seeds, 3 * n);
    slh_context_start(&context, set, secret_key + 2 * n, secret_key);
    slh_xmss(&context, set->layers - 1, 0, secret_key + 3 * n, 0, NULL, NULL);
    DECLASSIFY(secret_key + 3 * n, n);
    memcpy(public_key, secret_key + 2 * n, 2 * n);
}

int slh_sign(const slh_set *set, uint8_t *signature, const slh_message *message,
             const uint8_t *secret_key, const uint8_t *randomness) {
    const uint32_t n = set->n;
    const uint8_t *public_root = secret_key + 3 * n;
    uint8_t *at = signature + n;
    slh_context context;
    signed_digest digest;
    slh_node root, next;
    slh_context_start(&context, set, secret_key + 2 * n, secret_key);
    slh_message_randomizer(&context, signature, secret_key + n, randomness, message);
    DECLASSIFY(signature, n);
    hash_message(&context, &digest, signature, public_root, message);

    slh_fors_sign(&context, digest.tree, digest.leaf, digest.digest, at, root);
    at += set->fors_trees * (set->fors_height + 1) * n;
    uint64_t tree = digest.tree;
    uint32_t leaf = digest.leaf;
    for (uint32_t layer = 0; layer < set->layers; layer++) {
        DECLASSIFY(root, n); /* the signature reveals it */
        slh_xmss(&context, layer, tree, next, leaf, root, at);
        memcpy(root, next, n);
        at += (set->chains + set->height) * n;
        ascend(set, &tree, &leaf);
    }
    DECLASSIFY(root, n);
    return memcmp(root, public_root, n) == 0;
}

void slh_verify_group(const slh_set *set, size_t count, const slh_message messages[],
                      const uint8_t *const signatures[], const uint8_t *const public_keys[],
                      int valid[]) {
    const uint32_t n = set->n;
    slh_context contexts[SLH_LANES] = {{NULL}};
    signed_digest digests[SLH_LANES];
    slh_address addresses[SLH_LANES] = {{0}};
    slh_node roots[SLH_LANES];
    uint8_t *nodes[SLH_LANES] = {NULL};
    const uint8_t *at[SLH_LANES] = {NULL}, *hashed[SLH_LANES] = {NULL};
    for (size_t i = 0; i < count; i++) {
        slh_context_start(&contexts[i], set, public_keys[i], NULL);
        hash_message(&contexts[i], &digests[i], signatures[i], public_keys[i] + n, &messages[i]);
        addresses[i] = (slh_address){.tree = digests[i].tree, .key_pair = digests[i].leaf,
                                     .key = (uint32_t)i};
        hashed[i] = digests[i].digest;
        nodes[i] = roots[i];
        at[i] = signatures[i] + n;
    }
    slh_fors_roots(contexts, count, addresses, hashed, at, nodes);
    for (uint32_t layer = 0; layer < set->layers; layer++) {
        for (size_t i = 0; i < count; i++) {
            at[i] += (layer == 0 ? set->fors_trees * (set->fors_height + 1)
                                 : set->chains + set->height) * n;
            addresses[i] = (slh_address){.layer = layer, .tree = digests[i].tree,
                                         .key_pair = digests[i].leaf, .key = (uint32_t)i};
            ascend(set, &digests[i].tree, &digests[i].leaf);
        }
        slh_xmss_roots(contexts, count, addresses, nodes, at);
    }
    for (size_t i = 0; i < count; i++) {
        valid[i] = memcmp(roots[i], public_keys[i] + n, n) == 0;
    }
}

int slh_verify(const slh_set *set, const slh_message *message, const uint8_t *signature,
               const uint8_t *public_key) {
    int valid;
    slh_verify_group(set, 1, message, &signature, &public_key, &valid);
    return valid;
}
