/* WOTS+ and XMSS trees, FIPS 205, sections 5 and 6. */
#include "tree.h"

/* The digits that are signed: those of the message and of their checksum, algorithm 7. */
static void wots_digits(const slh_set *set, const uint8_t *message,
                        uint32_t digits[SLH_MAX_CHAINS]) {
    const uint32_t message_digits = 8 * set->n / set->log_w;
    const uint32_t checksum_digits = set->chains - message_digits;
    const uint32_t checksum_bits = checksum_digits * set->log_w;
    const uint32_t last = (1u << set->log_w) - 1;
    slh_split_bits(digits, message_digits, message, set->log_w);
    uint32_t checksum = 0;
    for (uint32_t i = 0; i < message_digits; i++) {
        checksum += last - digits[i];
    }
    uint8_t bytes[4];
    slh_store_be32(bytes, checksum << (32 - checksum_bits));
    slh_split_bits(digits + message_digits, checksum_digits, bytes, set->log_w);
}

static slh_wots wots_of(const slh_set *set) {
    return (slh_wots){set->chains, SLH_WOTS_PRF, SLH_WOTS_HASH, SLH_WOTS_PK, 0};
}

void slh_wots_keys(const slh_context *context, const slh_wots *wots, size_t count,
                   slh_address addresses[], uint8_t *const keys[], size_t signer,
                   const uint32_t digits[], uint8_t *signature) {
    const uint32_t n = context->set->n, last = (1u << context->set->log_w) - 1;
    uint8_t ends[SLH_LANES][SLH_MAX_CHAINS * SLH_MAX_N];
    uint8_t *nodes[SLH_LANES];
    const uint8_t *inputs[SLH_LANES];
    for (uint32_t chain = 0; chain < wots->chains; chain++) {
        slh_address secrets[SLH_LANES];
        for (size_t lane = 0; lane < count; lane++) {
            nodes[lane] = ends[lane] + chain * n;
            inputs[lane] = context->secret_seed;
            addresses[lane].type = wots->hash_type;
            addresses[lane].chain_or_height = chain;
            addresses[lane].hash_or_index = 0;
            secrets[lane] = addresses[lane];
            secrets[lane].type = wots->prf_type;
            if (wots->prf_key_pair != 0) {
                secrets[lane].key_pair = wots->prf_key_pair;
            }
        }
        slh_thash(context, count, nodes, secrets, inputs, n);
        if (signer < count) {
            slh_chain(context, count, nodes, addresses, digits[chain]);
            memcpy(signature + chain * n, nodes[signer], n);
            slh_chain(context, count, nodes, addresses, last - digits[chain]);
        } else {
            slh_chain(context, count, nodes, addresses, last);
        }
    }
    for (size_t lane = 0; lane < count; lane++) {
        inputs[lane] = ends[lane];
        addresses[lane].type = wots->key_type;
        addresses[lane].chain_or_height = addresses[lane].hash_or_index = 0;
    }
    slh_thash(context, count, keys, addresses, inputs, wots->chains * n);
}

/* The leaves of one tree; one of them signs, if signature is not NULL. */
typedef struct {
    slh_address address; /* layer and tree */
    uint32_t signer;
    const uint32_t *digits;
    uint8_t *signature;
} wots_leaves;

static void make_wots_leaves(const slh_context *context, void *argument, size_t count,
                             const uint32_t indices[], uint8_t *const leaves[]) {
    const wots_leaves *tree = argument;
    const slh_wots wots = wots_of(context->set);
    slh_address addresses[SLH_LANES];
    size_t signer = SLH_LANES; /* the lane that signs */
    for (size_t lane = 0; lane < count; lane++) {
        addresses[lane] = tree->address;
        addresses[lane].key_pair = indices[lane];
        if (tree->signature != NULL && indices[lane] == tree->signer) {
            signer = lane;
        }
    }
    slh_wots_keys(context, &wots, count, addresses, leaves, signer, tree->digits, tree->signature);
}

void slh_xmss(const slh_context *context, uint32_t layer, uint64_t tree, uint8_t *root,
              uint32_t leaf, const uint8_t *message, uint8_t *signature) {
    const slh_set *set = context->set;
    uint32_t digits[SLH_MAX_CHAINS];
    wots_leaves leaves = {{.layer = layer, .tree = tree}, leaf, digits, signature};
    slh_tree_plan plan = {.address = {.layer = layer, .tree = tree, .type = SLH_TREE},
                          .height = set->height, .target = leaf};
    if (signature != NULL) {
        wots_digits(set, message, digits);
        plan.path = signature + set->chains * set->n;
    }
    slh_tree_root(context, &plan, make_wots_leaves, &leaves, root);
}

/* Complete the chains of up to SLH_LANES signatures. The lanes always hold the next unfinished chains
 * of any of them; all advance by what the shortest of them lacks. */
static void complete_chains(const slh_context *context, uint32_t wots_chains, size_t count,
                            const slh_address of[], const uint32_t digits[][SLH_MAX_CHAINS],
                            uint8_t *ends) {
    const slh_set *set = context->set;
    const uint32_t last = (1u << set->log_w) - 1;
    uint8_t *nodes[SLH_LANES];
    slh_address addresses[SLH_LANES];
    uint32_t missing[SLH_LANES], first[17] = {0}, next = 0;
    uint16_t order[SLH_LANES * SLH_MAX_CHAINS];
    /* Longest first, so that at the end no lane is left with a long chain: sorted by digit. */
    for (size_t i = 0; i < count; i++) {
        for (uint32_t chain = 0; chain < wots_chains; chain++) {
            first[digits[i][chain] + 1]++;
        }
    }
    for (uint32_t digit = 0; digit < last; digit++) {
        first[digit + 1] += first[digit];
    }
    const uint32_t chains = first[last]; /* those of the last digit are complete */
    for (size_t i = 0, at = 0; i < count; i++) {
        for (uint32_t chain = 0; chain < wots_chains; chain++) {
            order[first[digits[i][chain]]++] = (uint16_t)at++;
        }
    }
    size_t lanes = 0;
    for (;;) {
        while (lanes < SLH_LANES && next < chains) {
            const uint32_t at = order[next++], i = at / wots_chains, chain = at % wots_chains;
            nodes[lanes] = ends + at * set->n;
            addresses[lanes] = of[i];
            addresses[lanes].chain_or_height = chain;
            addresses[lanes].hash_or_index = digits[i][chain];
            missing[lanes++] = last - digits[i][chain];
        }
        if (lanes == 0) {
            return;
        }
        uint32_t steps = missing[0];
        for (size_t lane = 1; lane < lanes; lane++) {
            steps = missing[lane] < steps ? missing[lane] : steps;
        }
        slh_chain(context, lanes, nodes, addresses, steps);
        size_t kept = 0;
        for (size_t lane = 0; lane < lanes; lane++) {
            if (missing[lane] > steps) {
                nodes[kept] = nodes[lane];
                addresses[kept] = addresses[lane];
                missing[kept++] = missing[lane] - steps;
            }
        }
        lanes = kept;
    }
}

void slh_wots_keys_of(const slh_context *context, const slh_wots *wots, size_t count,
                      slh_address addresses[], const uint32_t digits[][SLH_MAX_CHAINS],
                      const uint8_t *const signatures[], uint8_t *const keys[]) {
    const size_t bytes = wots->chains * context->set->n;
    uint8_t ends[count * bytes]; /* no more than needed: stacks may be small */
    const uint8_t *inputs[SLH_LANES];
    for (size_t i = 0; i < count; i++) {
        inputs[i] = memcpy(ends + i * bytes, signatures[i], bytes);
        addresses[i].type = wots->hash_type;
    }
    complete_chains(context, wots->chains, count, addresses, digits, ends);
    for (size_t i = 0; i < count; i++) {
        addresses[i].type = wots->key_type;
    }
    slh_thash(context, count, keys, addresses, inputs, bytes);
}

void slh_xmss_roots(const slh_context *context, size_t count, slh_address addresses[],
                    uint8_t *const nodes[], const uint8_t *const signatures[]) {
    const slh_set *set = context->set;
    const slh_wots wots = wots_of(set);
    uint32_t digits[SLH_LANES][SLH_MAX_CHAINS], leaves[SLH_LANES];
    const uint8_t *paths[SLH_LANES];
    for (size_t i = 0; i < count; i++) {
        wots_digits(set, nodes[i], digits[i]);
        leaves[i] = addresses[i].key_pair;
        paths[i] = signatures[i] + set->chains * set->n;
    }
    slh_wots_keys_of(context, &wots, count, addresses, digits, signatures, nodes);
    for (size_t i = 0; i < count; i++) {
        addresses[i].type = SLH_TREE;
        addresses[i].key_pair = 0;
    }
    slh_tree_climb(context, count, nodes, addresses, leaves, paths, set->height);
}
