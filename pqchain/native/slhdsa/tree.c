/* Merkle trees: SLH_LANES subtrees are computed in step, so that all lanes are always in use. */
#include "tree.h"

enum { MAX_HEIGHT = 25 - SLH_LOG_LANES }; /* of FORS with SHA2-256-24 */

void slh_split_bits(uint32_t *digits, size_t count, const uint8_t *from, uint32_t bits) {
    uint64_t window = 0;
    uint32_t held = 0;
    for (size_t i = 0; i < count; i++) {
        while (held < bits) {
            window = window << 8 | *from++;
            held += 8;
        }
        held -= bits;
        digits[i] = (uint32_t)(window >> held) & ((1u << bits) - 1);
    }
}

/* Two children, the left one first, as H takes them. */
typedef uint8_t sibling_pair[2 * SLH_MAX_N];

static void set_node(slh_address *address, const slh_tree_plan *plan, uint32_t height,
                     uint32_t index) {
    *address = plan->address;
    if (plan->in_prefix) {
        address->layer += height;
        address->tree = index;
        return;
    }
    address->chain_or_height = height;
    address->hash_or_index = (plan->first_leaf >> height) + index;
}

/* Copy a node of a height below that of the tree to the path, if the target needs it. */
static void keep_for_path(const slh_context *context, const slh_tree_plan *plan, uint32_t height,
                          uint32_t index, const uint8_t *node) {
    const uint32_t n = context->set->n;
    if (plan->path != NULL && index == ((plan->target >> height) ^ 1)) {
        memcpy(plan->path + height * n, node, n);
    }
}

void slh_tree_root(const slh_context *context, const slh_tree_plan *plan,
                   slh_make_leaves *make_leaves, void *argument, uint8_t *root) {
    const uint32_t n = context->set->n;
    const uint32_t log_lanes = plan->height < SLH_LOG_LANES ? plan->height : SLH_LOG_LANES;
    const size_t lanes = (size_t)1 << log_lanes;
    const uint32_t height = plan->height - log_lanes; /* of each lane's subtree */
    sibling_pair pairs[MAX_HEIGHT][SLH_LANES], top[SLH_LANES];
    uint8_t *outputs[SLH_LANES];
    const uint8_t *inputs[SLH_LANES];
    slh_address addresses[SLH_LANES];

    for (uint32_t leaf = 0; leaf < 1u << height; leaf++) {
        uint32_t indices[SLH_LANES];
        for (size_t lane = 0; lane < lanes; lane++) {
            indices[lane] = ((uint32_t)lane << height) + leaf;
            outputs[lane] = height > 0 ? pairs[0][lane] + (leaf & 1) * n
                                       : top[lane >> 1] + (lane & 1) * n;
        }
        make_leaves(context, argument, lanes, indices, outputs);
        /* Each right child completes a pair, whose parent may be a right child again. */
        for (uint32_t at = 0;; at++) {
            for (size_t lane = 0; lane < lanes; lane++) {
                keep_for_path(context, plan, at, indices[lane] >> at, outputs[lane]);
            }
            if (at == height || !(leaf >> at & 1)) {
                break;
            }
            const uint32_t parent = leaf >> (at + 1);
            for (size_t lane = 0; lane < lanes; lane++) {
                inputs[lane] = pairs[at][lane];
                outputs[lane] = at + 1 < height ? pairs[at + 1][lane] + (parent & 1) * n
                                                : top[lane >> 1] + (lane & 1) * n;
                set_node(&addresses[lane], plan, at + 1, indices[lane] >> (at + 1));
            }
            slh_thash(context, lanes, outputs, addresses, inputs, 2 * n);
        }
    }

    for (uint32_t at = height + 1; at <= plan->height; at++) {
        const size_t count = (size_t)1 << (plan->height - at);
        slh_node parents[SLH_LANES];
        for (size_t i = 0; i < count; i++) {
            inputs[i] = top[i];
            outputs[i] = parents[i];
            set_node(&addresses[i], plan, at, (uint32_t)i);
        }
        slh_thash(context, count, outputs, addresses, inputs, 2 * n);
        for (size_t i = 0; i < count; i++) {
            if (at < plan->height) {
                keep_for_path(context, plan, at, (uint32_t)i, parents[i]);
            }
            memcpy(top[i >> 1] + (i & 1) * n, parents[i], n);
        }
    }
    memcpy(root, top[0], n);
}

void slh_tree_climb(const slh_context *context, size_t count, uint8_t *const nodes[],
                    slh_address addresses[], uint32_t indices[], const uint8_t *const paths[],
                    uint32_t height) {
    const uint32_t n = context->set->n;
    sibling_pair pairs[SLH_LANES];
    const uint8_t *inputs[SLH_LANES];
    for (uint32_t at = 0; at < height; at++) {
        for (size_t i = 0; i < count; i++) {
            const uint32_t right = indices[i] & 1; /* whether the node is the right child */
            memcpy(pairs[i] + right * n, nodes[i], n);
            memcpy(pairs[i] + (1 - right) * n, paths[i] + at * n, n);
            indices[i] >>= 1;
            addresses[i].chain_or_height = at + 1;
            addresses[i].hash_or_index = indices[i];
            inputs[i] = pairs[i];
        }
        slh_thash(context, count, nodes, addresses, inputs, 2 * n);
    }
}
