/* Vectors of the compiler: the same code for SSE2, AVX2, NEON and processors without vectors. */
#ifndef SLHDSA_LANES_H
#define SLHDSA_LANES_H

#include "hash.h"

typedef uint32_t slh_vector32 __attribute__((vector_size(SLH_VECTOR_BYTES)));
typedef uint64_t slh_vector64 __attribute__((vector_size(SLH_VECTOR_BYTES)));

enum { SLH_LANES_32 = SLH_VECTOR_BYTES / 4, SLH_LANES_64 = SLH_VECTOR_BYTES / 8 };

#define SLH_INLINE static inline __attribute__((always_inline))

#endif
