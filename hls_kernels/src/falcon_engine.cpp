// Top function of the second interface: a step, or an attempt of the sampler, per start.
#include "falcon_engine.h"

#include "engine.h"

using namespace falcon;

static const uint32_t LAST_OPCODE = OP_COMPARE;

// `random_high` holds three random bytes: the top byte of the base draw, the sign, the first byte of
// the rejection test; OP_COMPARE uses only the last. Addresses outside the memory are rejected.
void falcon_engine(uint32_t opcode, uint32_t logn, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                   double value, uint64_t random_low, uint32_t random_high, int16_t *integers,
                   int32_t *rounded, double *value_out, int32_t *sample, uint32_t *verdict,
                   uint32_t *version) {
#pragma HLS INTERFACE m_axi port = integers offset = slave bundle = gmem depth = 1024
#pragma HLS INTERFACE m_axi port = rounded offset = slave bundle = gmem depth = 1024
#pragma HLS INTERFACE s_axilite port = opcode
#pragma HLS INTERFACE s_axilite port = logn
#pragma HLS INTERFACE s_axilite port = a
#pragma HLS INTERFACE s_axilite port = b
#pragma HLS INTERFACE s_axilite port = c
#pragma HLS INTERFACE s_axilite port = d
#pragma HLS INTERFACE s_axilite port = value
#pragma HLS INTERFACE s_axilite port = random_low
#pragma HLS INTERFACE s_axilite port = random_high
#pragma HLS INTERFACE s_axilite port = integers
#pragma HLS INTERFACE s_axilite port = rounded
#pragma HLS INTERFACE s_axilite port = value_out
#pragma HLS INTERFACE s_axilite port = sample
#pragma HLS INTERFACE s_axilite port = verdict
#pragma HLS INTERFACE s_axilite port = version
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS ALLOCATION operation instances = dadd limit = 1
#pragma HLS ALLOCATION operation instances = dmul limit = 1
#pragma HLS ALLOCATION operation instances = ddiv limit = 1
    FALCON_ON_CHIP Engine engine;
    *version = FALCON_ENGINE_VERSION;
    *verdict = REJECTED;
    const uint32_t reach = MEMORY_WORDS - (1u << MAX_LOGN);
    if (opcode == 0 || opcode > LAST_OPCODE || logn > MAX_LOGN || a > reach || b > reach ||
        c > reach || d > reach) {
        return;
    }
    Sampler *const s = &engine.sampler;
    switch (opcode) {
    case OP_LOAD:
        load_integers(engine.memory + a, integers, logn);
        break;
    case OP_ROUND:
        round_to_integers(rounded, engine.memory + a, logn);
        break;
    case OP_PEEK:
        *value_out = engine.memory[a];
        break;
    case OP_POKE:
        engine.memory[a] = value;
        break;
    case OP_BEGIN:
        begin_sample(s, engine.memory[a], value, falcon_tables::sigma_min[logn == 10]);
        break;
    case OP_ATTEMPT:
        *verdict = attempt(s, random_low, (uint8_t)random_high, (uint8_t)(random_high >> 8),
                           (uint8_t)(random_high >> 16));
        break;
    case OP_COMPARE:
        *verdict = compare_byte(s, (uint8_t)(random_high >> 16));
        break;
    default:
        run_step(&engine, {(Opcode)opcode, logn, a, b, c, d}, value);
        break;
    }
    if (*verdict == ACCEPTED) {
        // The sample replaces its centre, so that software need not write it back.
        *sample = (int32_t)sample_value(s);
        engine.memory[a] = from_integer(sample_value(s));
    }
}
