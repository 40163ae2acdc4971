/* pq_native.h and known_keys.h, implemented with fn-dsa's Falcon. */
#include "../falcon/falcon_host.h"
#include "../falcon/whole_key.h"
#include "../known_keys.h"
#include "../large_stack.h"
#include "crates.h"

struct pq_scheme {
    const char *name;
    unsigned logn;
    size_t padded_bytes, signature_max_bytes;
};

/* Unpadded signatures have the lengths of liboqs. fn-dsa signs again until one fits the padded form. */
static const struct pq_scheme schemes[] = {{"Falcon-512", 9, 666, 752},
                                           {"Falcon-1024", 10, 1280, 1462},
                                           {"Falcon-padded-512", 9, 666, 666},
                                           {"Falcon-padded-1024", 10, 1280, 1280}};

enum { HEADER = 0x30 };

#define SOURCE "fn-dsa 0.3.0"
#include "../glue_table.h"

static falcon_key_check checks[2]; /* by degree */

__attribute__((constructor)) static void start_checks(void) {
    falcon_check_start(&checks[0]);
    falcon_check_start(&checks[1]);
}

static size_t degree(const pq_scheme *scheme) { return (size_t)1 << scheme->logn; }

static size_t public_key_bytes(const pq_scheme *scheme) { return 1 + 14 * degree(scheme) / 8; }

static int is_padded(const pq_scheme *scheme) {
    return scheme->padded_bytes == scheme->signature_max_bytes;
}

PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .nist_level = scheme->logn == 9 ? 1 : 5,
                          .public_key_bytes = public_key_bytes(scheme),
                          .secret_key_bytes = falcon_secret_key_bytes(scheme->logn),
                          .signature_max_bytes = scheme->signature_max_bytes};
}

typedef struct {
    unsigned logn;
    uint8_t *out, *second_out;
    const uint8_t *message, *secret_key;
    size_t message_bytes;
    int made;
} call;

static void keypair(void *argument) {
    call *c = argument;
    falcon_rs_keypair(c->logn, c->out, c->second_out);
}

static void sign(void *argument) {
    call *c = argument;
    c->made = falcon_rs_sign(c->logn, c->out, c->message, c->message_bytes, c->secret_key);
}

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    call c = {.logn = scheme->logn, .out = public_key, .second_out = secret_key};
    return pq_with_stack(keypair, &c);
}

PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    call c = {.logn = scheme->logn, .out = signature, .message = message,
              .message_bytes = message_bytes, .secret_key = secret_key};
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    if (!falcon_key_is_whole(&checks[scheme->logn - 9], secret_key, scheme->logn)) {
        return PQ_OUT_OF_RANGE;
    }
    const int code = pq_with_stack(sign, &c);
    if (code != PQ_OK || !c.made) {
        return code != PQ_OK ? code : PQ_FAILED;
    }
    size_t bytes = scheme->padded_bytes;
    while (!is_padded(scheme) && signature[bytes - 1] == 0) {
        bytes--; /* the last byte of s2 has a bit */
    }
    *signature_bytes = bytes;
    return PQ_OK;
}

PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    uint16_t decoded[FALCON_MAX_N];
    (void)context;
    if (context_bytes != 0) {
        return PQ_NO_SUCH_OPERATION;
    }
    return pq_decode_keys(scheme, decoded, public_key, 1) == PQ_OK
               ? pq_verify_decoded(scheme, message, message_bytes, signature, signature_bytes,
                                   decoded)
               : PQ_REJECTED;
}

PQ_API size_t pq_decoded_key_bytes(const pq_scheme *scheme) {
    return degree(scheme) * sizeof(uint16_t);
}

PQ_API int pq_decode_keys(const pq_scheme *scheme, void *decoded, const uint8_t *public_keys,
                          size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!falcon_rs_decode(scheme->logn, (uint16_t *)decoded + i * degree(scheme),
                              public_keys + i * public_key_bytes(scheme))) {
            return PQ_REJECTED;
        }
    }
    return PQ_OK;
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    /* A padded signature has one length; an unpadded one has no zeros behind s2. */
    if (signature_bytes == 0 || signature[0] != HEADER + scheme->logn ||
        (is_padded(scheme) ? signature_bytes != scheme->padded_bytes
                           : signature[signature_bytes - 1] == 0)) {
        return PQ_REJECTED;
    }
    return falcon_rs_verify(scheme->logn, message, message_bytes, signature, signature_bytes,
                            decoded)
               ? PQ_OK
               : PQ_REJECTED;
}
