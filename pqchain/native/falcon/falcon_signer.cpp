// Signing with given randomness: keys and encodings in C, the main step through either interface.
#include "falcon_signer.h"

#include <memory>
#include <new>

#include "falcon_host.h"
#include "falcon_sign.h"
#include "split_signer.h"

using namespace falcon;

// Only 9 and 10 can get here through the registry; more attempts than this mean a damaged key.
static const unsigned MAX_SIGNATURES = 100;

namespace {

// Secrets on the heap or the stack are wiped with the object.
struct Secrets {
    uint8_t request[6 * FALCON_MAX_N + FALCON_GENERATOR_SEED_BYTES];
    int16_t s2[FALCON_MAX_N];
    pq_shake shake;
    Workspace work;
    ~Secrets() { falcon_wipe(this, sizeof *this); }
};

Status split_attempt(Workspace *work, const uint8_t *request, int16_t *s2, unsigned logn,
                     uint64_t *commands) {
    const unsigned n = 1u << logn;
    memcpy(work->key, request, 4 * n);
    for (unsigned k = 0; k < n; k++) {
        work->target[k] =
            (uint16_t)(request[4 * n + 2 * k] | (unsigned)request[4 * n + 2 * k + 1] << 8);
    }
    seed_generator(&work->generator, request + 6 * n);
    CommandSteps steps(work, commands);
    if (!sample_point(steps, work->v0, work->v1, logn)) {
        return STATUS_REFUSED;
    }
    return close_enough(s2, work->target, work->v0, work->v1, logn) ? STATUS_SIGNED : STATUS_RETRY;
}

// The attempt's signature with both halves; a request holds the key and the hashed message.
int64_t encode_recoverable(uint8_t *signature, const uint8_t *nonce, const uint8_t *request,
                           const int16_t *s2, unsigned logn) {
    const unsigned n = 1u << logn;
    uint16_t point[FALCON_MAX_N], h[FALCON_MAX_N];
    int16_t s1[FALCON_MAX_N];
    for (unsigned k = 0; k < n; k++) {
        point[k] = (uint16_t)(request[4 * n + 2 * k] | (unsigned)request[4 * n + 2 * k + 1] << 8);
    }
    if (falcon_derive_public(h, (const int8_t *)request, logn) != 0) {
        return FALCON_BAD_KEY;
    }
    falcon_first_half(s1, point, s2, h, logn);
    const size_t length = falcon_encode_recoverable(signature, nonce, s1, s2, logn);
    return length == 0 ? FALCON_TOO_LONG : (int64_t)length;
}

}  // namespace

int64_t falcon_request_bytes(int64_t logn) { return request_bytes((unsigned)logn); }

int64_t falcon_make_request(uint8_t *request, const uint8_t *secret_key, const uint8_t *nonce,
                            const uint8_t *message, int64_t message_bytes, int64_t logn_given) {
    const unsigned logn = (unsigned)logn_given, n = 1u << logn;
    int8_t *const key = (int8_t *)request;
    if (falcon_decode_secret_key(key, secret_key, logn) != 0 ||
        falcon_complete_key(key + 3 * n, key, logn) != 0) {
        falcon_wipe(request, request_bytes(logn));
        return FALCON_BAD_KEY;
    }
    uint16_t target[FALCON_MAX_N];
    falcon_hash_to_point(target, nonce, message, (size_t)message_bytes, logn);
    for (unsigned k = 0; k < n; k++) {
        request[4 * n + 2 * k] = (uint8_t)target[k];
        request[4 * n + 2 * k + 1] = (uint8_t)(target[k] >> 8);
    }
    return 0;
}

int64_t falcon_seed_request(uint8_t *request, const uint8_t *seed, int64_t attempt, int64_t logn) {
    pq_shake shake;
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, seed, FALCON_SEED_BYTES);
    pq_shake_finish(&shake);
    for (int64_t k = 0; k <= attempt; k++) {
        pq_shake_squeeze(&shake, request + (6u << logn), FALCON_GENERATOR_SEED_BYTES);
    }
    falcon_wipe(&shake, sizeof shake);
    return 0;
}

int64_t falcon_run_request(const uint8_t *request, int16_t *response, uint32_t *registers,
                           int64_t logn) {
    falcon_sign(request, response, (uint32_t)logn, &registers[0], &registers[1]);
    return registers[0];
}

int64_t falcon_encode_signature(uint8_t *signature, int64_t capacity, const uint8_t *nonce,
                                const int16_t *s2, int64_t padded, int64_t logn) {
    const size_t head = 1 + FALCON_NONCE_BYTES, room = (size_t)capacity - head;
    const size_t length = falcon_compress(signature + head, room, s2, (unsigned)logn);
    if (length == 0) {
        return FALCON_TOO_LONG;
    }
    signature[0] = (uint8_t)(0x30 + logn);
    memcpy(signature + 1, nonce, FALCON_NONCE_BYTES);
    if (padded) {
        memset(signature + head + length, 0, room - length);
        return capacity;
    }
    return (int64_t)(head + length);
}

int64_t falcon_sign_seeded(uint8_t *signature, int64_t capacity, const uint8_t *secret_key,
                           const uint8_t *nonce, const uint8_t *seed, const uint8_t *message,
                           int64_t message_bytes, int64_t form, int64_t seam,
                           int64_t logn_given, uint64_t *facts) {
    const unsigned logn = (unsigned)logn_given;
    std::unique_ptr<Secrets> secrets(new (std::nothrow) Secrets);
    if (!secrets) {
        return FALCON_NO_MEMORY;
    }
    Secrets &s = *secrets;
    if (falcon_make_request(s.request, secret_key, nonce, message, message_bytes, logn) != 0) {
        return FALCON_BAD_KEY;
    }
    pq_shake_start(&s.shake);
    pq_shake_absorb(&s.shake, seed, FALCON_SEED_BYTES);
    pq_shake_finish(&s.shake);
    uint64_t commands = 0;
    for (unsigned attempt = 1; attempt <= MAX_SIGNATURES; attempt++) {
        pq_shake_squeeze(&s.shake, s.request + (6u << logn), FALCON_GENERATOR_SEED_BYTES);
        const Status status = seam == FALCON_SPLIT
                                  ? split_attempt(&s.work, s.request, s.s2, logn, &commands)
                                  : sign_attempt(&s.work, s.request, s.s2, logn);
        if (facts != nullptr) {
            facts[0] = attempt;
            facts[1] = commands;
        }
        if (status == STATUS_REFUSED) {
            return FALCON_BAD_KEY;
        }
        if (status == STATUS_RETRY) {
            continue;
        }
        const int64_t length =
            form == FALCON_RECOVERABLE
                ? encode_recoverable(signature, nonce, s.request, s.s2, logn)
                : falcon_encode_signature(signature, capacity, nonce, s.s2, form, logn);
        // Forms of a fixed length are tried again: liboqs gives up on the other.
        if (length != FALCON_TOO_LONG || form == FALCON_COMPRESSED) {
            return length;
        }
    }
    return FALCON_BAD_KEY;
}

int64_t falcon_public_key(uint8_t *public_key, const uint8_t *secret_key, int64_t logn) {
    int8_t key[3 * FALCON_MAX_N];
    uint16_t h[FALCON_MAX_N];
    const bool good = falcon_decode_secret_key(key, secret_key, (unsigned)logn) == 0 &&
                      falcon_derive_public(h, key, (unsigned)logn) == 0;
    falcon_wipe(key, sizeof key);
    if (!good) {
        return FALCON_BAD_KEY;
    }
    falcon_encode_public_key(public_key, h, (unsigned)logn);
    return 0;
}

int64_t falcon_wipe_buffer(uint8_t *buffer, int64_t bytes) {
    falcon_wipe(buffer, (size_t)bytes);
    return 0;
}
