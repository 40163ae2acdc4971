// falcon_engine: the engine of the second interface. Control flow, deviations and random bits stay in
// software; each start runs one step. See engine.h for the steps.
#ifndef FALCON_ENGINE_TOP_H
#define FALCON_ENGINE_TOP_H

#include <stdint.h>

#define FALCON_ENGINE_VERSION 0x46450001u /* "FE", interface 1 */

extern "C" void falcon_engine(uint32_t opcode, uint32_t logn, uint32_t a, uint32_t b, uint32_t c,
                              uint32_t d, double value, uint64_t random_low, uint32_t random_high,
                              int16_t *integers, int32_t *rounded, double *value_out,
                              int32_t *sample, uint32_t *verdict, uint32_t *version);

#endif
