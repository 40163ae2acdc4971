/* FORS, FIPS 205, section 8. */
#include "tree.h"

/* The leaves of one tree of FORS; the secret value of the opened leaf goes to the signature. */
typedef struct {
    slh_address address; /* tree and key pair */
    uint32_t first_leaf;
    uint32_t opened;
    uint8_t *signature;
} fors_leaves;

static void make_fors_leaves(const slh_context *context, void *argument, size_t count,
                             const uint32_t indices[], uint8_t *const leaves[]) {
    const fors_leaves *fors = argument;
    const uint32_t n = context->set->n;
    slh_node secrets[SLH_LANES];
    uint8_t *outputs[SLH_LANES] = {NULL};
    const uint8_t *inputs[SLH_LANES] = {NULL}, *seeds[SLH_LANES] = {NULL};
    slh_address addresses[SLH_LANES] = {{0}};
    for (size_t lane = 0; lane < count; lane++) {
        addresses[lane] = fors->address;
        addresses[lane].type = SLH_FORS_PRF;
        addresses[lane].hash_or_index = fors->first_leaf + indices[lane];
        seeds[lane] = context->secret_seed;
        inputs[lane] = outputs[lane] = secrets[lane];
    }
    slh_thash(context, count, outputs, addresses, seeds, n);
    for (size_t lane = 0; lane < count; lane++) {
        addresses[lane].type = SLH_FORS_TREE;
        if (indices[lane] == fors->opened) {
            memcpy(fors->signature, secrets[lane], n);
        }
    }
    slh_thash(context, count, leaves, addresses, inputs, n);
    slh_wipe(secrets, sizeof secrets);
}

/* Up to SLH_LANES public keys from the roots of all trees of each. */
static void hash_roots(const slh_context *context, size_t count, const slh_address addresses[],
                       const uint8_t *const roots[], uint8_t *const public_keys[]) {
    slh_address last[SLH_LANES];
    for (size_t lane = 0; lane < count; lane++) {
        last[lane] = addresses[lane];
        last[lane].type = SLH_FORS_ROOTS;
    }
    slh_thash(context, count, public_keys, last, roots, context->set->fors_trees * context->set->n);
}

void slh_fors_sign(const slh_context *context, uint64_t tree, uint32_t key_pair,
                   const uint8_t *digest, uint8_t *signature, uint8_t *public_key) {
    const slh_set *set = context->set;
    const slh_address address = {.tree = tree, .type = SLH_FORS_TREE, .key_pair = key_pair};
    uint32_t opened[SLH_MAX_TREES];
    uint8_t roots[SLH_MAX_TREES * SLH_MAX_N];
    slh_split_bits(opened, set->fors_trees, digest, set->fors_height);
    for (uint32_t i = 0; i < set->fors_trees; i++) {
        const uint32_t first_leaf = i << set->fors_height;
        fors_leaves leaves = {address, first_leaf, opened[i], signature};
        const slh_tree_plan plan = {address, set->fors_height, first_leaf, opened[i],
                                    signature + set->n, 0};
        slh_tree_root(context, &plan, make_fors_leaves, &leaves, roots + i * set->n);
        signature += (set->fors_height + 1) * set->n;
    }
    const uint8_t *const all[] = {roots};
    hash_roots(context, 1, &address, all, &public_key);
}

void slh_fors_roots(const slh_context *context, size_t count, const slh_address addresses[],
                    const uint8_t *const digests[], const uint8_t *const signatures[],
                    uint8_t *const public_keys[]) {
    const slh_set *set = context->set;
    const size_t opening_bytes = (set->fors_height + 1) * set->n, trees = count * set->fors_trees;
    uint32_t opened[SLH_LANES][SLH_MAX_TREES];
    uint8_t roots[trees * set->n]; /* no more than needed: stacks may be small */
    const uint8_t *all[SLH_LANES];
    for (size_t i = 0; i < count; i++) {
        slh_split_bits(opened[i], set->fors_trees, digests[i], set->fors_height);
        all[i] = roots + i * set->fors_trees * set->n;
    }
    /* The trees of all signatures, one after the other. */
    for (size_t first = 0; first < trees; first += SLH_LANES) {
        const size_t left = trees - first, lanes = left < SLH_LANES ? left : SLH_LANES;
        uint8_t *nodes[SLH_LANES];
        const uint8_t *secrets[SLH_LANES], *paths[SLH_LANES];
        slh_address leaves[SLH_LANES];
        uint32_t indices[SLH_LANES];
        for (size_t lane = 0; lane < lanes; lane++) {
            const size_t i = (first + lane) / set->fors_trees;
            const uint32_t tree = (uint32_t)((first + lane) % set->fors_trees);
            nodes[lane] = roots + (first + lane) * set->n;
            secrets[lane] = signatures[i] + tree * opening_bytes;
            paths[lane] = secrets[lane] + set->n;
            leaves[lane] = addresses[i];
            leaves[lane].type = SLH_FORS_TREE;
            indices[lane] = (tree << set->fors_height) + opened[i][tree];
            leaves[lane].hash_or_index = indices[lane];
        }
        slh_thash(context, lanes, nodes, leaves, secrets, set->n);
        slh_tree_climb(context, lanes, nodes, leaves, indices, paths, set->fors_height);
    }
    hash_roots(context, count, addresses, all, public_keys);
}
