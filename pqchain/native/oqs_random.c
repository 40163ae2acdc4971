/* For libraries that have liboqs inside: its source of randomness is the library's. */
#include <oqs/oqs.h>

#include "pq_native.h"

PQ_API void pq_random(pq_random_fn source) {
    if (source != NULL) {
        OQS_randombytes_custom_algorithm(source);
    } else {
        OQS_randombytes_switch_algorithm(OQS_RAND_alg_system);
    }
}
