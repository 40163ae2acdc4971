// The control flow of signing with abstract steps: `Steps` decides where a step runs.
//
// The signing tree is walked with a stack of one entry per level, because hardware cannot recurse
// (specification, algorithms 10 and 11, on a tree that is not stored).
#ifndef FALCON_SIGNER_H
#define FALCON_SIGNER_H

#include "engine.h"

namespace FALCON_NAMESPACE {

// A valid key needs more attempts for a sample with probability 10^-300.
const unsigned MAX_ATTEMPTS = 1000;

// Memory layout of the engine for degree n = 2^logn.
struct Layout {
    unsigned b00, b01, b10, b11, t0, t1, frames, scratch;
    explicit Layout(unsigned logn) {
        const unsigned n = 1u << logn;
        b00 = 0;
        b01 = n;
        b10 = 2 * n;
        b11 = 3 * n;
        t0 = 4 * n;
        t1 = 5 * n;
        frames = 6 * n;  // level k of the tree has 2 * 2^k words, from frames + 2 * 2^k
        scratch = 10 * n;
    }
};

struct Node {
    unsigned t0, t1, g00, g01, g11, stage;
};

// Sample near (t0, t1) for the Gram matrix (g00, g01; g01*, g11); the samples replace t0 and t1.
// False if the sampler gave up.
template <class Steps>
static inline bool sample_tree(Steps &steps, const Layout &at, unsigned g00, unsigned g01,
                               unsigned g11, unsigned logn) {
    Node nodes[MAX_LOGN + 1];
    nodes[logn].t0 = at.t0;
    nodes[logn].t1 = at.t1;
    nodes[logn].g00 = g00;
    nodes[logn].g01 = g01;
    nodes[logn].g11 = g11;
    nodes[logn].stage = 0;
    unsigned level = logn;
walk:
    while (level <= logn) {
        Node &node = nodes[level];
        if (level == 0) {
            const double deviation = steps.inverse_deviation(node.g00, logn);
            if (!steps.sample(node.t0, deviation, logn) ||
                !steps.sample(node.t1, deviation, logn)) {
                return false;
            }
            level = 1;
            continue;
        }
        const unsigned half = 1u << (level - 1);
        const unsigned l10 = at.frames + 4 * half, z = l10 + 2 * half;
        Node &child = nodes[level - 1];
        child.t0 = z;
        child.t1 = z + half;
        child.stage = 0;
        switch (node.stage++) {
        case 0:
            steps.run({OP_DECOMPOSE, level, l10, node.g00, node.g01, node.g11});
            // The halves of d00 replace g11 and those of d11 replace g00; each child also needs a
            // second copy of the even half, which replaces g01.
            steps.run({OP_SPLIT, level, node.g11, node.g11 + half, node.g00, 0});
            steps.run({OP_SPLIT, level, node.g00, node.g00 + half, node.g01, 0});
            steps.run({OP_COPY, level - 1, node.g01, node.g11, 0, 0});
            steps.run({OP_COPY, level - 1, node.g01 + half, node.g00, 0, 0});
            steps.run({OP_SPLIT, level, z, z + half, node.t1, 0});
            child.g00 = node.g00;
            child.g01 = node.g00 + half;
            child.g11 = node.g01 + half;
            level--;
            break;
        case 1:
            steps.run({OP_MERGE, level, at.scratch, z, z + half, 0});
            steps.run({OP_CORRECT, level, node.t0, node.t1, at.scratch, l10});
            steps.run({OP_SPLIT, level, z, z + half, node.t0, 0});
            child.g00 = node.g11;
            child.g01 = node.g11 + half;
            child.g11 = node.g01;
            level--;
            break;
        default:
            steps.run({OP_MERGE, level, node.t0, z, z + half, 0});
            level++;
            break;
        }
    }
    return true;
}

// The secret basis ((g, -f), (G, -F)), transformed.
template <class Steps>
static inline void load_basis(Steps &steps, const Layout &at, unsigned logn) {
    const unsigned places[4] = {at.b01, at.b00, at.b11, at.b10};
    for (unsigned k = 0; k < 4; k++) {
        steps.load_key(places[k], k, logn);
        steps.run({OP_FORWARD, logn, places[k], 0, 0, 0});
        if (k % 2 == 0) {
            steps.run({OP_NEGATE, logn, places[k], 0, 0, 0});
        }
    }
}

// One attempt at a signature: the rounded lattice point, halves v0 and v1, near the hashed message.
template <class Steps>
static inline bool sample_point(Steps &steps, int32_t *v0, int32_t *v1, unsigned logn) {
    const Layout at(logn);
    const unsigned spare = at.frames;
    load_basis(steps, at, logn);

    // The target (hash, 0) in coordinates of the basis. It needs b01 and b11 before the Gram matrix
    // replaces them.
    steps.load_target(at.t0, logn);
    steps.run({OP_FORWARD, logn, at.t0, 0, 0, 0});
    steps.run({OP_COPY, logn, at.t1, at.t0, 0, 0});
    steps.run({OP_MULTIPLY, logn, at.t1, at.b01, 0, 0});
    steps.run({OP_SCALE, logn, at.t1, 0, 0, 0}, -falcon_tables::inverse_q);
    steps.run({OP_MULTIPLY, logn, at.t0, at.b11, 0, 0});
    steps.run({OP_SCALE, logn, at.t0, 0, 0, 0}, falcon_tables::inverse_q);

    // The Gram matrix: g00 in b00, g01 in b01, g11 in b10.
    steps.run({OP_COPY, logn, spare, at.b00, 0, 0});
    steps.run({OP_ADJOINT, logn, spare, at.b10, 0, 0});
    steps.run({OP_OWN_ADJOINT, logn, at.b00, 0, 0, 0});
    steps.run({OP_COPY, logn, at.scratch, at.b01, 0, 0});
    steps.run({OP_OWN_ADJOINT, logn, at.scratch, 0, 0, 0});
    steps.run({OP_ADD, logn, at.b00, at.scratch, 0, 0});
    steps.run({OP_ADJOINT, logn, at.b01, at.b11, 0, 0});
    steps.run({OP_ADD, logn, at.b01, spare, 0, 0});
    steps.run({OP_OWN_ADJOINT, logn, at.b10, 0, 0, 0});
    steps.run({OP_OWN_ADJOINT, logn, at.b11, 0, 0, 0});
    steps.run({OP_ADD, logn, at.b10, at.b11, 0, 0});

    if (!sample_tree(steps, at, at.b00, at.b01, at.b10, logn)) {
        return false;
    }

    // Back from coordinates to the lattice point.
    load_basis(steps, at, logn);
    steps.run({OP_COPY, logn, spare, at.t0, 0, 0});
    steps.run({OP_COPY, logn, at.scratch, at.t1, 0, 0});
    steps.run({OP_MULTIPLY, logn, spare, at.b00, 0, 0});
    steps.run({OP_MULTIPLY, logn, at.scratch, at.b10, 0, 0});
    steps.run({OP_ADD, logn, spare, at.scratch, 0, 0});
    steps.run({OP_MULTIPLY, logn, at.t0, at.b01, 0, 0});
    steps.run({OP_MULTIPLY, logn, at.t1, at.b11, 0, 0});
    steps.run({OP_ADD, logn, at.t1, at.t0, 0, 0});
    steps.run({OP_INVERSE, logn, spare, 0, 0, 0});
    steps.run({OP_INVERSE, logn, at.t1, 0, 0, 0});
    steps.round(v0, spare, logn);
    steps.round(v1, at.t1, logn);
    return true;
}

// The second half of the signature is -v1; true if the whole of it is short enough (algorithm 10,
// step 9, with the bound of table 3.3).
static inline bool close_enough(int16_t *s2, const uint16_t *target, const int32_t *v0,
                                const int32_t *v1, unsigned logn) {
    uint64_t norm = 0;
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        const int64_t first = (int64_t)target[k] - v0[k], second = -(int64_t)v1[k];
        norm += (uint64_t)(first * first) + (uint64_t)(second * second);
        s2[k] = (int16_t)second;
    }
    return norm <= (logn == 9 ? 34034726u : 70265242u);
}

}  // namespace FALCON_NAMESPACE

#endif
