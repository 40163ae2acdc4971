/* pq_native.h, implemented with pqchain's Hawk. */
#include "../pq_native.h"
#include "hawk_scheme.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = sizeof hawk_sets / sizeof hawk_sets[0] };

PQ_API const char *pq_source(void) { return "Hawk 1.0"; }

PQ_API size_t pq_count(void) { return SETS; }

PQ_API const char *pq_name(size_t index) { return index < SETS ? hawk_sets[index].name : NULL; }

PQ_API pq_scheme *pq_open(const char *name) {
    for (size_t i = 0; i < SETS; i++) {
        if (strcmp(name, hawk_sets[i].name) == 0) {
            pq_scheme *scheme = malloc(sizeof *scheme);
            if (scheme != NULL) {
                scheme->set = &hawk_sets[i];
            }
            return scheme;
        }
    }
    return NULL;
}

PQ_API void pq_close(pq_scheme *scheme) { free(scheme); }

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    memset(sizes, 0, sizeof *sizes);
    sizes->kind = PQ_SIGNATURE;
    sizes->nist_level = scheme->set->nist_level;
    sizes->public_key_bytes = scheme->set->public_key_bytes;
    sizes->secret_key_bytes = scheme->set->secret_key_bytes;
    sizes->signature_max_bytes = scheme->set->signature_bytes;
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    return hawk_keypair(scheme->set, public_key, secret_key, pq_randombytes) ? PQ_OK : PQ_NO_MEMORY;
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION; /* Hawk has no context strings */
    }
    *signature_bytes = scheme->set->signature_bytes;
    return hawk_sign(scheme->set, signature, message, message_bytes, secret_key, pq_randombytes)
               ? PQ_OK
               : PQ_FAILED;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    return signature_bytes == scheme->set->signature_bytes &&
                   hawk_verify(scheme->set, message, message_bytes, signature, public_key)
               ? PQ_OK
               : PQ_REJECTED;
}
