// Functions for tests and the cost model: internal values of the signer.
#include "falcon_study.h"

#include <time.h>

#include <memory>
#include <new>

#include "falcon_host.h"
#include "sign_kernel.h"

using namespace falcon;

int64_t falcon_sample_octets(double centre, double deviation, double sigma_min,
                             const uint8_t *octets, int64_t bytes, int64_t *values) {
    Sampler sampler;
    int64_t used = 0;
    begin_sample(&sampler, centre, 1.0 / deviation, sigma_min);
    Verdict verdict = REJECTED;
    while (verdict != ACCEPTED) {
        if (bytes - used < 11) {
            return -1;
        }
        const uint8_t *at = octets + used;
        uint64_t low = 0;
        for (unsigned k = 1; k < 9; k++) {
            low = low << 8 | at[k];
        }
        verdict = attempt(&sampler, low, at[0], at[9], at[10]);
        used += 11;
        while (verdict == UNDECIDED) {
            if (used == bytes) {
                return -1;
            }
            verdict = compare_byte(&sampler, octets[used++]);
        }
    }
    values[0] = sample_value(&sampler);
    values[1] = used;
    return 0;
}

int64_t falcon_sample_many(double centre, double deviation, const uint8_t *seed, int64_t count,
                           int64_t logn, int32_t *samples) {
    std::unique_ptr<Workspace> work(new (std::nothrow) Workspace);
    if (!work) {
        return FALCON_NO_MEMORY;
    }
    seed_generator(&work->generator, seed);
    DirectSteps steps(work.get());
    double *const place = work->engine.memory;
    for (int64_t k = 0; k < count; k++) {
        *place = centre;
        if (!steps.sample(0, 1.0 / deviation, (unsigned)logn)) {
            return FALCON_BAD_KEY;
        }
        samples[k] = (int32_t)*place;
    }
    return 0;
}

int64_t falcon_run_step(double *memory, int64_t opcode, int64_t logn, int64_t a, int64_t b,
                        int64_t c, int64_t d, double value) {
    std::unique_ptr<Engine> engine(new (std::nothrow) Engine);
    if (!engine) {
        return FALCON_NO_MEMORY;
    }
    memcpy(engine->memory, memory, sizeof engine->memory);
    run_step(engine.get(),
             {(Opcode)opcode, (unsigned)logn, (unsigned)a, (unsigned)b, (unsigned)c, (unsigned)d},
             value);
    memcpy(memory, engine->memory, sizeof engine->memory);
    return 0;
}

namespace {

enum Part {
    DECODE_KEY,
    COMPLETE_KEY,
    HASH_TO_POINT,
    SEED_GENERATOR,
    TRANSFORMS,
    SPLITS_AND_MERGES,
    DECOMPOSITIONS,
    POLYNOMIALS,
    SAMPLES,
    COMPRESS,
    PARTS
};

uint64_t now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Adds the time of a block to a part.
class Timer {
  public:
    Timer(Part part, uint64_t *nanoseconds, uint64_t *calls)
        : total(nanoseconds + part), start(now()) {
        calls[part]++;
    }
    ~Timer() { *total += now() - start; }

  private:
    uint64_t *total;
    uint64_t start;
};

class TimedSteps {
  public:
    TimedSteps(Workspace *work, uint64_t *nanoseconds, uint64_t *call_counts)
        : steps(work), times(nanoseconds), calls(call_counts) {}

    void run(const Step &step, double value = 0.0) {
        Part part = POLYNOMIALS;
        if (step.opcode == OP_FORWARD || step.opcode == OP_INVERSE) {
            part = TRANSFORMS;
        } else if (step.opcode == OP_SPLIT || step.opcode == OP_MERGE) {
            part = SPLITS_AND_MERGES;
        } else if (step.opcode == OP_DECOMPOSE) {
            part = DECOMPOSITIONS;
        }
        Timer timer(part, times, calls);
        steps.run(step, value);
    }
    void load_key(unsigned place, unsigned which, unsigned logn) {
        Timer timer(POLYNOMIALS, times, calls);
        steps.load_key(place, which, logn);
    }
    void load_target(unsigned place, unsigned logn) {
        Timer timer(POLYNOMIALS, times, calls);
        steps.load_target(place, logn);
    }
    double inverse_deviation(unsigned g00, unsigned logn) {
        return steps.inverse_deviation(g00, logn);
    }
    bool sample(unsigned place, double deviation, unsigned logn) {
        Timer timer(SAMPLES, times, calls);
        return steps.sample(place, deviation, logn);
    }
    void round(int32_t *values, unsigned place, unsigned logn) {
        Timer timer(POLYNOMIALS, times, calls);
        steps.round(values, place, logn);
    }

  private:
    DirectSteps steps;
    uint64_t *times, *calls;
};

struct Secrets {
    int8_t key[4 * FALCON_MAX_N];
    uint8_t seed[FALCON_GENERATOR_SEED_BYTES];
    pq_shake shake;
    int16_t s2[FALCON_MAX_N];
    Workspace work;
    ~Secrets() { falcon_wipe(this, sizeof *this); }
};

}  // namespace

int64_t falcon_profile(const uint8_t *secret_key, const uint8_t *nonce, const uint8_t *seed,
                       const uint8_t *message, int64_t message_bytes, int64_t logn_given,
                       uint64_t *nanoseconds, uint64_t *calls) {
    const unsigned logn = (unsigned)logn_given, n = 1u << logn;
    std::unique_ptr<Secrets> secrets(new (std::nothrow) Secrets);
    if (!secrets) {
        return FALCON_NO_MEMORY;
    }
    Secrets &s = *secrets;
    memset(nanoseconds, 0, PARTS * sizeof *nanoseconds);
    memset(calls, 0, PARTS * sizeof *calls);
    {
        Timer timer(DECODE_KEY, nanoseconds, calls);
        if (falcon_decode_secret_key(s.key, secret_key, logn) != 0) {
            return FALCON_BAD_KEY;
        }
    }
    {
        Timer timer(COMPLETE_KEY, nanoseconds, calls);
        if (falcon_complete_key(s.key + 3 * n, s.key, logn) != 0) {
            return FALCON_BAD_KEY;
        }
    }
    {
        Timer timer(HASH_TO_POINT, nanoseconds, calls);
        falcon_hash_to_point(s.work.target, nonce, message, (size_t)message_bytes, logn);
    }
    memcpy(s.work.key, s.key, 4 * n);
    pq_shake_start(&s.shake);
    pq_shake_absorb(&s.shake, seed, FALCON_SEED_BYTES);
    pq_shake_finish(&s.shake);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        {
            Timer timer(SEED_GENERATOR, nanoseconds, calls);
            pq_shake_squeeze(&s.shake, s.seed, sizeof s.seed);
            seed_generator(&s.work.generator, s.seed);
        }
        TimedSteps steps(&s.work, nanoseconds, calls);
        if (!sample_point(steps, s.work.v0, s.work.v1, logn)) {
            return FALCON_BAD_KEY;
        }
        if (close_enough(s.s2, s.work.target, s.work.v0, s.work.v1, logn)) {
            Timer timer(COMPRESS, nanoseconds, calls);
            uint8_t out[2 * FALCON_MAX_N];
            return (int64_t)falcon_compress(out, sizeof out, s.s2, logn);
        }
    }
    return FALCON_BAD_KEY;
}
