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

/* A padded signature has one length; an unpadded one has no zeros behind s2. */
static int has_form(const pq_scheme *scheme, const uint8_t *signature, size_t signature_bytes) {
    return signature_bytes > FALCON_NONCE_BYTES && signature[0] == HEADER + scheme->logn &&
           (is_padded(scheme) ? signature_bytes == scheme->padded_bytes
                              : signature[signature_bytes - 1] != 0);
}

PQ_API int pq_verify_decoded(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                             const uint8_t *signature, size_t signature_bytes,
                             const void *decoded) {
    return has_form(scheme, signature, signature_bytes) &&
                   falcon_rs_verify(scheme->logn, message, message_bytes, signature,
                                    signature_bytes, decoded, NULL)
               ? PQ_OK
               : PQ_REJECTED;
}

#ifdef __AVX2__ /* with shorter vectors a group needs as much time as its signatures */
#include "../shake_lanes.h"

PQ_INTERNAL size_t pq_group_signatures(const pq_scheme *scheme) {
    (void)scheme;
    return 32; /* many enough that decoding the first key of a group again does not count */
}

/* Append to a point what a block of SHAKE256 gives (specification, section 3.7). */
static size_t append(uint16_t *point, size_t known, size_t n, const uint8_t block[SHAKE_256]) {
    for (size_t at = 0; at < SHAKE_256 && known < n; at += 2) {
        const uint32_t value = (uint32_t)block[at] << 8 | block[at + 1];
        point[known] = (uint16_t)(value % FALCON_Q);
        known += value < 5 * FALCON_Q; /* the largest multiple of q below 2^16 */
    }
    return known;
}

/* The points of up to SHAKE_LANES nonces and messages. */
static void hash_to_points(uint16_t points[][FALCON_MAX_N], size_t count, const shake_input in[],
                           size_t n) {
    uint64_t states[SHAKE_LANES][25] = {{0}};
    uint8_t blocks[SHAKE_LANES][SHAKE_256], *out[SHAKE_LANES];
    size_t known[SHAKE_LANES], unfinished = 0;
    shake_vector state[25];
    shake_lanes(SHAKE_256, count, in, states);
    for (size_t lane = 0; lane < SHAKE_LANES; lane++) {
        for (size_t i = 0; i < 25; i++) {
            state[i][lane] = states[lane][i];
        }
        out[lane] = blocks[lane];
    }
    for (size_t lane = 0; lane < count; lane++) {
        known[lane] = append(points[lane], 0, n, (const uint8_t *)states[lane]);
        unfinished += known[lane] < n;
    }
    while (unfinished > 0) {
        shake_next(SHAKE_256, state, out);
        for (size_t lane = 0; lane < count; lane++) {
            if (known[lane] < n) {
                known[lane] = append(points[lane], known[lane], n, blocks[lane]);
                unfinished -= known[lane] == n;
            }
        }
    }
}

PQ_INTERNAL void pq_verify_group(const pq_batch *batch, const uint64_t indices[], size_t count) {
    const pq_scheme *scheme = batch->scheme;
    uint16_t points[SHAKE_LANES][FALCON_MAX_N], decoded[FALCON_MAX_N];
    const uint8_t *key = NULL; /* the one that is decoded */
    int key_is_valid = 0;
    for (size_t next = 0; next < count;) {
        pq_signed hashed[SHAKE_LANES];
        shake_input inputs[SHAKE_LANES];
        uint64_t index[SHAKE_LANES];
        size_t lanes = 0;
        for (; next < count && lanes < SHAKE_LANES; next++) {
            const pq_signed one = pq_batch_item(batch, indices[next]);
            batch->verdicts[indices[next]] = 0;
            if (has_form(scheme, one.signature, one.signature_bytes)) {
                inputs[lanes] = (shake_input){{one.signature + 1, one.message},
                                              {FALCON_NONCE_BYTES, one.message_bytes}};
                hashed[lanes] = one;
                index[lanes++] = indices[next];
            }
        }
        hash_to_points(points, lanes, inputs, degree(scheme));
        for (size_t lane = 0; lane < lanes; lane++) {
            const pq_signed *one = &hashed[lane];
            if (key == NULL || memcmp(key, one->public_key, public_key_bytes(scheme)) != 0) {
                key = one->public_key;
                key_is_valid = falcon_rs_decode(scheme->logn, decoded, key);
            }
            batch->verdicts[index[lane]] =
                key_is_valid &&
                falcon_rs_verify(scheme->logn, one->message, one->message_bytes, one->signature,
                                 one->signature_bytes, decoded, points[lane]);
        }
    }
}
#endif
