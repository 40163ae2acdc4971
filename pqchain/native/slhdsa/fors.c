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

static void hash_roots(const slh_context *context, slh_address address, const uint8_t *roots,
                       uint8_t *public_key) {
    uint8_t *const outputs[] = {public_key};
    const uint8_t *const inputs[] = {roots};
    address.type = SLH_FORS_ROOTS;
    address.chain_or_height = address.hash_or_index = 0;
    slh_thash(context, 1, outputs, &address, inputs, context->set->fors_trees * context->set->n);
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
    hash_roots(context, address, roots, public_key);
}

void slh_fors_root(const slh_context *context, uint64_t tree, uint32_t key_pair,
                   const uint8_t *digest, const uint8_t *signature, uint8_t *public_key) {
    const slh_set *set = context->set;
    const size_t opening_bytes = (set->fors_height + 1) * set->n;
    const slh_address address = {.tree = tree, .type = SLH_FORS_TREE, .key_pair = key_pair};
    uint32_t opened[SLH_MAX_TREES];
    uint8_t roots[SLH_MAX_TREES * SLH_MAX_N];
    slh_split_bits(opened, set->fors_trees, digest, set->fors_height);
    for (uint32_t first = 0; first < set->fors_trees; first += SLH_LANES) {
        const uint32_t left = set->fors_trees - first;
        const size_t count = left < SLH_LANES ? left : SLH_LANES;
        uint8_t *nodes[SLH_LANES];
        const uint8_t *secrets[SLH_LANES], *paths[SLH_LANES];
        slh_address addresses[SLH_LANES];
        uint32_t indices[SLH_LANES];
        for (size_t lane = 0; lane < count; lane++) {
            const uint32_t i = first + (uint32_t)lane;
            nodes[lane] = roots + i * set->n;
            secrets[lane] = signature + i * opening_bytes;
            paths[lane] = secrets[lane] + set->n;
            addresses[lane] = address;
            indices[lane] = (i << set->fors_height) + opened[i];
            addresses[lane].hash_or_index = indices[lane];
        }
        slh_thash(context, count, nodes, addresses, secrets, set->n);
        slh_tree_climb(context, count, nodes, addresses, indices, paths, set->fors_height);
    }
    hash_roots(context, address, roots, public_key);
}
