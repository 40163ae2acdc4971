// The floating-point engine: one memory, one sampler, and the steps that work on them.
//
// Addresses count words of 64 bits. Both interfaces use these functions: falcon_sign calls them in
// sequence, falcon_engine by commands from software.
#ifndef FALCON_ENGINE_H
#define FALCON_ENGINE_H

#include "polynomial.h"
#include "sampler.h"
#include "transform.h"

namespace FALCON_NAMESPACE {

const unsigned MAX_LOGN = 10;
const unsigned MEMORY_WORDS = 11u << MAX_LOGN;

struct Engine {
    double memory[MEMORY_WORDS];
    Sampler sampler;
};

// One step, as software names it in a command register.
enum Opcode {
    OP_LOAD = 1,        // a <- integers of the exchange buffer
    OP_ROUND = 2,       // exchange buffer <- a, rounded to nearest even
    OP_FORWARD = 3,     // a <- transform of a
    OP_INVERSE = 4,     // a <- inverse transform of a
    OP_NEGATE = 5,      // a <- -a
    OP_COPY = 6,        // a <- b
    OP_ADD = 7,         // a <- a + b
    OP_SCALE = 8,       // a <- a * value
    OP_MULTIPLY = 9,    // a <- a b
    OP_ADJOINT = 10,    // a <- a adjoint(b)
    OP_OWN_ADJOINT = 11,  // a <- a adjoint(a)
    OP_DECOMPOSE = 12,  // node of the tree: a = l10, b = g00, c = g01, d = g11
    OP_SPLIT = 13,      // a, b <- even and odd half of c
    OP_MERGE = 14,      // a <- merged b, c
    OP_CORRECT = 15,    // a = t0, b = t1, c = z1, d = l10
    OP_PEEK = 16,       // value <- word a
    OP_POKE = 17,       // word a <- value
    OP_BEGIN = 18,      // sampler: centre is word a, inverse deviation is value
    OP_ATTEMPT = 19,    // sampler: draw and test with the random bits given
    OP_COMPARE = 20,    // sampler: continue with one more random byte
};

struct Step {
    Opcode opcode;
    unsigned logn, a, b, c, d;
};

static inline void run_step(Engine *engine, const Step &step, double value) {
    double *const m = engine->memory;
    double *const a = m + step.a, *const b = m + step.b, *const c = m + step.c,
                  *const d = m + step.d;
    switch (step.opcode) {
    case OP_FORWARD:
        forward_transform(a, step.logn);
        break;
    case OP_INVERSE:
        inverse_transform(a, step.logn);
        break;
    case OP_NEGATE:
        negate_all(a, step.logn);
        break;
    case OP_COPY:
        for (unsigned k = 0; k < 1u << step.logn; k++) {
#pragma HLS PIPELINE
            a[k] = b[k];
        }
        break;
    case OP_ADD:
        add_to(a, b, step.logn);
        break;
    case OP_SCALE:
        scale(a, value, step.logn);
        break;
    case OP_MULTIPLY:
        multiply(a, b, step.logn);
        break;
    case OP_ADJOINT:
        multiply_adjoint(a, b, step.logn);
        break;
    case OP_OWN_ADJOINT:
        multiply_own_adjoint(a, step.logn);
        break;
    case OP_DECOMPOSE:
        decompose(a, b, c, d, step.logn);
        break;
    case OP_SPLIT:
        split(a, b, c, step.logn);
        break;
    case OP_MERGE:
        merge(a, b, c, step.logn);
        break;
    case OP_CORRECT:
        correct(a, b, c, d, step.logn);
        break;
    default:
        break;
    }
}

static inline void load_integers(double *a, const int16_t *values, unsigned logn) {
    FALCON_PHASE(OTHER);
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        a[k] = from_integer(values[k]);
    }
}

static inline void round_to_integers(int32_t *values, const double *a, unsigned logn) {
    FALCON_PHASE(OTHER);
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        values[k] = (int32_t)round_to_even(a[k]);
    }
}

}  // namespace FALCON_NAMESPACE

#endif
