// Every kernel on random inputs of every size; prints one digest of all bits per kernel and size.
// The golden file has the output required of every machine. Argument: inputs per size.
#include "bits.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

using namespace falcon;

static const struct {
    const char *name;
    Opcode opcode;
} kernels[] = {
    {"forward", OP_FORWARD}, {"inverse", OP_INVERSE},   {"multiply", OP_MULTIPLY},
    {"adjoint", OP_ADJOINT}, {"norm", OP_OWN_ADJOINT},  {"decompose", OP_DECOMPOSE},
    {"split", OP_SPLIT},     {"merge", OP_MERGE},       {"correct", OP_CORRECT},
};

int main(int argc, char **argv) {
    const unsigned inputs = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    static Engine engine;
    for (unsigned logn = 1; logn <= MAX_LOGN; logn++) {
        const unsigned n = 1u << logn;
        for (const auto &kernel : kernels) {
            Numbers numbers(logn * 100 + kernel.opcode);
            Digest digest;
            for (unsigned input = 0; input < inputs; input++) {
                for (unsigned k = 0; k < 4 * n; k++) {
                    engine.memory[k] = numbers.real();
                }
                Step step = {kernel.opcode, logn, 0, n, 2 * n, 3 * n};
                if (kernel.opcode == OP_SPLIT) {
                    step.b = n / 2;
                    step.c = n;
                } else if (kernel.opcode == OP_MERGE) {
                    step.c = n + n / 2;
                }
                run_step(&engine, step, 0.0);
                digest.reals(engine.memory, 4 * n);
            }
            printf("%s %u %016llx\n", kernel.name, n, (unsigned long long)digest.hash);
        }
    }
    // The sampler: values, and the bits of every intermediate threshold.
    for (unsigned size = 0; size < 2; size++) {
        Numbers numbers(size + 7);
        Digest digest;
        Sampler sampler;
        for (unsigned input = 0; input < 20 * inputs; input++) {
            const double centre = numbers.real() / 16.0;
            const double spread = 1.3 + (double)(numbers.next() >> 11) / 18014398509481984.0;
            begin_sample(&sampler, centre, 1.0 / spread, falcon_tables::sigma_min[size]);
            const uint64_t low = numbers.next(), rest = numbers.next();
            const Verdict verdict = attempt(&sampler, low, (uint8_t)rest, (uint8_t)(rest >> 8),
                                            (uint8_t)(rest >> 16));
            digest.word(sampler.threshold);
            digest.word((uint64_t)sample_value(&sampler));
            digest.word(verdict);
        }
        printf("sampler %u %016llx\n", 512u << size, (unsigned long long)digest.hash);
    }
    return 0;
}
