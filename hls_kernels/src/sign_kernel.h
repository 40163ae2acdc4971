// A complete signing attempt as one offload: secret basis, hashed message and the seed of the
// generator in, the short vector out.
#ifndef FALCON_SIGN_KERNEL_H
#define FALCON_SIGN_KERNEL_H

#include "generator.h"
#include "signer.h"

namespace FALCON_NAMESPACE {

// A request: f, g, F, G in one byte per coefficient, the hashed message in two (little-endian), the
// seed of the generator. A response: the coefficients of s2 in two bytes each.
static inline unsigned request_bytes(unsigned logn) {
    return (6u << logn) + GENERATOR_SEED_BYTES;
}

enum Status { STATUS_SIGNED = 1, STATUS_RETRY = 2, STATUS_REFUSED = 3 };

struct Workspace {
    Engine engine;
    Generator generator;
    int16_t integers[1 << MAX_LOGN];
    uint16_t target[1 << MAX_LOGN];
    int32_t v0[1 << MAX_LOGN], v1[1 << MAX_LOGN];
    int8_t key[4 << MAX_LOGN];
};

// Steps that run here in sequence.
class DirectSteps {
  public:
    explicit DirectSteps(Workspace *w) : work(w) {}

    void run(const Step &step, double value = 0.0) { run_step(&work->engine, step, value); }

    void load_key(unsigned place, unsigned which, unsigned logn) {
        const int8_t *from = work->key + ((size_t)which << logn);
        for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
            work->integers[k] = from[k];
        }
        load_integers(work->engine.memory + place, work->integers, logn);
    }

    void load_target(unsigned place, unsigned logn) {
        for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
            work->integers[k] = (int16_t)work->target[k];
        }
        load_integers(work->engine.memory + place, work->integers, logn);
    }

    double inverse_deviation(unsigned g00, unsigned logn) {
        FALCON_PHASE(LEAF);
        return mul(square_root(work->engine.memory[g00]), falcon_tables::inverse_sigma[logn - 9]);
    }

    // False if none of many attempts was accepted: then the key is invalid.
    bool sample(unsigned place, double deviation, unsigned logn) {
        Sampler *const sampler = &work->engine.sampler;
        double *const t = work->engine.memory + place;
        begin_sample(sampler, *t, deviation, falcon_tables::sigma_min[logn - 9]);
        Verdict verdict = REJECTED;
    attempts:
        for (unsigned tries = 0; verdict != ACCEPTED; tries++) {
            if (tries == MAX_ATTEMPTS) {
                return false;
            }
            const uint64_t low = next_word(&work->generator);
            const uint8_t high = next_byte(&work->generator);
            const uint8_t sign = next_byte(&work->generator);
            verdict = attempt(sampler, low, high, sign, next_byte(&work->generator));
            while (verdict == UNDECIDED) {
                verdict = compare_byte(sampler, next_byte(&work->generator));
            }
        }
        FALCON_PHASE(OTHER);
        *t = from_integer(sample_value(sampler));
        return true;
    }

    void round(int32_t *values, unsigned place, unsigned logn) {
        round_to_integers(values, work->engine.memory + place, logn);
    }

  private:
    Workspace *work;
};

static inline Status sign_attempt(Workspace *work, const uint8_t *request, int16_t *s2,
                                  unsigned logn) {
    const unsigned n = 1u << logn;
    for (unsigned k = 0; k < 4 * n; k++) {
#pragma HLS PIPELINE
        work->key[k] = (int8_t)request[k];
    }
    for (unsigned k = 0; k < n; k++) {
#pragma HLS PIPELINE
        work->target[k] =
            (uint16_t)(request[4 * n + 2 * k] | (unsigned)request[4 * n + 2 * k + 1] << 8);
    }
    seed_generator(&work->generator, request + 6 * n);
    DirectSteps steps(work);
    if (!sample_point(steps, work->v0, work->v1, logn)) {
        return STATUS_REFUSED;
    }
    return close_enough(s2, work->target, work->v0, work->v1, logn) ? STATUS_SIGNED : STATUS_RETRY;
}

}  // namespace FALCON_NAMESPACE

#endif
