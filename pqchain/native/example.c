/* An example of a scheme for pq_native.h. It is not secure: anyone with the public key can sign.
 * Replace mix() with your code. `pqchain doctor --example` prints the build command. */
#include "pq_native.h"
#include <stdlib.h>
#include <string.h>

struct pq_scheme { int unused; };
enum { KEY = 32, SIGNATURE = 300 };

static void mix(uint8_t *out, const uint8_t *key, const uint8_t *message, size_t bytes) {
    uint64_t state = bytes + 1;
    for (size_t i = 0; i < KEY + bytes; i++) {
        state = (state ^ (i < KEY ? key[i] : message[i - KEY])) * 0x9e3779b97f4a7c15u;
        state ^= state >> 29;
    }
    for (size_t i = 0; i < SIGNATURE; i++) {
        state = (state + i) * 0xbf58476d1ce4e5b9u;
        out[i] = (uint8_t)((state ^= state >> 31) >> 24);
    }
}
PQ_API const char *pq_source(void) { return "an example"; }
PQ_API size_t pq_count(void) { return 1; }
PQ_API const char *pq_name(size_t index) { return index == 0 ? "Example-300" : NULL; }
PQ_API pq_scheme *pq_open(const char *name) { return name == NULL ? NULL : malloc(sizeof(pq_scheme)); }
PQ_API void pq_close(pq_scheme *scheme) { free(scheme); }
PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    (void)scheme;
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .public_key_bytes = KEY,
                          .secret_key_bytes = KEY, .signature_max_bytes = SIGNATURE};
}
PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    (void)scheme;
    pq_randombytes(secret_key, KEY);
    memcpy(public_key, secret_key, KEY);
    return PQ_OK;
}
PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)context, (void)context_bytes;
    mix(signature, secret_key, message, message_bytes);
    *signature_bytes = SIGNATURE;
    return PQ_OK;
}
PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    uint8_t expected[SIGNATURE];
    (void)scheme, (void)context, (void)context_bytes;
    mix(expected, public_key, message, message_bytes);
    return signature_bytes == SIGNATURE && memcmp(signature, expected, SIGNATURE) == 0
               ? PQ_OK : PQ_REJECTED;
}
