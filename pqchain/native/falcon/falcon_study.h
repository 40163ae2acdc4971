/* Functions for tests and the cost model: internal values of the signer. */
#ifndef FALCON_STUDY_H
#define FALCON_STUDY_H

#include <stdint.h>

#include "falcon_signer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Count the floating-point operations of one attempt. counts: PHASES rows of OPERATIONS columns in
 * the order of fp.h, then samples, attempts, bytes of rejection tests, blocks of the generator.
 * Returns the status of the attempt. */
FALCON_API int64_t falcon_census(const uint8_t *request, uint64_t *counts, int64_t logn);

/* One sample with given random bytes, each base draw as nine bytes with the highest first. values:
 * the sample and the bytes used. 0, or -1 if the bytes ran out. */
FALCON_API int64_t falcon_sample_octets(double centre, double deviation, double sigma_min,
                                        const uint8_t *octets, int64_t bytes, int64_t *values);

/* Many samples from the generator. */
FALCON_API int64_t falcon_sample_many(double centre, double deviation, const uint8_t *seed,
                                      int64_t count, int64_t logn, int32_t *samples);

/* One step of the engine (engine.h) on memory of the caller; value is the factor of OP_SCALE. */
FALCON_API int64_t falcon_run_step(double *memory, int64_t opcode, int64_t logn, int64_t a,
                                   int64_t b, int64_t c, int64_t d, double value);

/* Time the parts of signing with given randomness, in nanoseconds, and count their calls: arrays of
 * ten, in the order of kernel.PARTS. Returns the length of the signature or a negative code. */
FALCON_API int64_t falcon_profile(const uint8_t *secret_key, const uint8_t *nonce,
                                  const uint8_t *seed, const uint8_t *message,
                                  int64_t message_bytes, int64_t logn, uint64_t *nanoseconds,
                                  uint64_t *calls);

#ifdef __cplusplus
}
#endif

#endif
