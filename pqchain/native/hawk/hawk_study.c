/* Functions for tests, in addition to pq_native.h. */
#include "../pq_native.h"
#include "hawk.h"

PQ_API int64_t pq_hawk_study_sample(int64_t log_n, int8_t *x, const uint64_t *parities,
                                 const uint64_t *words);

/* The sampler alone: 2n values for 2n parities (bits) from 5n/2 words. Returns the squared norm. */
PQ_API int64_t pq_hawk_study_sample(int64_t log_n, int8_t *x, const uint64_t *parities,
                                 const uint64_t *words) {
    if (log_n != 9 && log_n != 10) {
        return PQ_NO_SUCH_OPERATION;
    }
    return pq_hawk_sample(&pq_hawk_sets[log_n - 9], x, parities, words);
}
