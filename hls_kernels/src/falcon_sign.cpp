// Top function of the first interface: one signing attempt per start.
#include "falcon_sign.h"

#include "sign_kernel.h"

using namespace falcon;

// The memory of the engine is on the chip; it is wiped before the result is announced.
void falcon_sign(const uint8_t *request, int16_t *response, uint32_t logn, uint32_t *status,
                 uint32_t *version) {
#pragma HLS INTERFACE m_axi port = request offset = slave bundle = gmem depth = 6200
#pragma HLS INTERFACE m_axi port = response offset = slave bundle = gmem depth = 1024
#pragma HLS INTERFACE s_axilite port = request
#pragma HLS INTERFACE s_axilite port = response
#pragma HLS INTERFACE s_axilite port = logn
#pragma HLS INTERFACE s_axilite port = status
#pragma HLS INTERFACE s_axilite port = version
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS ALLOCATION operation instances = dadd limit = 1
#pragma HLS ALLOCATION operation instances = dmul limit = 1
#pragma HLS ALLOCATION operation instances = ddiv limit = 1
    FALCON_ON_CHIP Workspace work;
    *version = FALCON_SIGN_VERSION;
    if (logn != 9 && logn != 10) {
        *status = STATUS_REFUSED;  // a driver reads the version in this way
        return;
    }
    FALCON_ON_CHIP int16_t s2[1 << MAX_LOGN];
    const Status result = sign_attempt(&work, request, s2, logn);
    for (unsigned k = 0; k < 1u << logn; k++) {
#pragma HLS PIPELINE
        response[k] = result == STATUS_SIGNED ? s2[k] : 0;
        s2[k] = 0;
    }
    for (unsigned k = 0; k < MEMORY_WORDS; k++) {
#pragma HLS PIPELINE
        work.engine.memory[k] = 0.0;
    }
    for (unsigned k = 0; k < 4u << MAX_LOGN; k++) {
#pragma HLS PIPELINE
        work.key[k] = 0;
    }
    for (unsigned k = 0; k < 512; k++) {
#pragma HLS PIPELINE
        work.generator.buffer[k] = 0;
    }
    for (unsigned k = 0; k < 12; k++) {
        work.generator.state[k] = 0;
    }
    for (unsigned k = 0; k < 1u << MAX_LOGN; k++) {
#pragma HLS PIPELINE
        work.integers[k] = 0;
        work.v0[k] = 0;
        work.v1[k] = 0;
    }
    *status = result;
}
