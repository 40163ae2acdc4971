// The software side of the second interface: control flow, random bits and deviations here, every
// transform and every attempt of the sampler as a command to falcon_engine.
#ifndef FALCON_SPLIT_SIGNER_H
#define FALCON_SPLIT_SIGNER_H

#include "falcon_engine.h"
#include "sign_kernel.h"

namespace FALCON_NAMESPACE {

class CommandSteps {
  public:
    CommandSteps(Workspace *w, uint64_t *command_count) : work(w), commands(command_count) {}

    void run(const Step &step, double value = 0.0) {
        command(step.opcode, step.logn, step.a, step.b, step.c, step.d, value);
    }

    void load_key(unsigned place, unsigned which, unsigned logn) {
        const int8_t *from = work->key + ((size_t)which << logn);
        for (unsigned k = 0; k < 1u << logn; k++) {
            work->integers[k] = from[k];
        }
        command(OP_LOAD, logn, place);
    }

    void load_target(unsigned place, unsigned logn) {
        for (unsigned k = 0; k < 1u << logn; k++) {
            work->integers[k] = (int16_t)work->target[k];
        }
        command(OP_LOAD, logn, place);
    }

    double inverse_deviation(unsigned g00, unsigned logn) {
        command(OP_PEEK, logn, g00);
        return mul(square_root(value_out), falcon_tables::inverse_sigma[logn - 9]);
    }

    bool sample(unsigned place, double deviation, unsigned logn) {
        Generator *const generator = &work->generator;
        command(OP_BEGIN, logn, place, 0, 0, 0, deviation);
        verdict = REJECTED;
        for (unsigned tries = 0; verdict != ACCEPTED; tries++) {
            if (tries == MAX_ATTEMPTS) {
                return false;
            }
            const uint64_t low = next_word(generator);
            uint32_t high = next_byte(generator);
            high |= (uint32_t)next_byte(generator) << 8;
            high |= (uint32_t)next_byte(generator) << 16;
            command(OP_ATTEMPT, logn, place, 0, 0, 0, 0.0, low, high);
            while (verdict == UNDECIDED) {
                command(OP_COMPARE, logn, place, 0, 0, 0, 0.0, 0,
                        (uint32_t)next_byte(generator) << 16);
            }
        }
        return true;
    }

    void round(int32_t *values, unsigned place, unsigned logn) {
        rounded = values;
        command(OP_ROUND, logn, place);
    }

  private:
    void command(Opcode opcode, unsigned logn, unsigned a, unsigned b = 0, unsigned c = 0,
                 unsigned d = 0, double value = 0.0, uint64_t low = 0, uint32_t high = 0) {
        uint32_t version;
        int32_t ignored;
        (*commands)++;
        falcon_engine(opcode, logn, a, b, c, d, value, low, high, work->integers, rounded,
                      &value_out, &ignored, &verdict, &version);
    }

    Workspace *work;
    uint64_t *commands;
    int32_t *rounded = nullptr;
    double value_out = 0.0;
    uint32_t verdict = REJECTED;
};

}  // namespace FALCON_NAMESPACE

#endif
