/* Falcon with key recovery (specification 1.2, section 3.12). A signature holds both halves, s1 and
 * s2, so that the message gives h = (point - s1) / s2; the public key is a hash of h.
 *
 * The specification does not define the encoding. This one is pqchain's: a header of 0x70 + logn and
 * the nonce, then s1 and s2, each compressed and padded with zeros to the length of s2 in a padded
 * signature. The public key is SHAKE256 of the public key of plain Falcon, with twice as many bits as
 * the security level.
 */
#include "falcon_host.h"
#include "falcon_signer.h"

#include <string.h>

static size_t half_bytes(unsigned logn) { return logn == 9 ? 625 : 1239; }

static size_t hash_bytes(unsigned logn) { return logn == 9 ? 32 : 64; }

void falcon_hash_public_key(uint8_t *hash, const uint8_t *public_key, unsigned logn) {
    pq_shake shake;
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, public_key, 1 + (14u << logn) / 8);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, hash, hash_bytes(logn));
}

static int write_half(uint8_t *out, const int16_t *half, unsigned logn) {
    const size_t room = half_bytes(logn), written = falcon_compress(out, room, half, logn);
    memset(out + written, 0, room - written);
    return written == 0 ? -1 : 0;
}

static int read_half(int16_t *half, const uint8_t *in, unsigned logn) {
    const size_t room = half_bytes(logn);
    size_t read = falcon_decompress(half, in, room, logn);
    if (read == 0) {
        return -1;
    }
    for (; read < room; read++) {
        if (in[read] != 0) {
            return -1;
        }
    }
    return 0;
}

size_t falcon_encode_recoverable(uint8_t *signature, const uint8_t *nonce, const int16_t *s1,
                                 const int16_t *s2, unsigned logn) {
    uint8_t *const halves = signature + 1 + FALCON_NONCE_BYTES;
    const size_t room = half_bytes(logn);
    if (!falcon_is_invertible(s2, logn) || write_half(halves, s1, logn) != 0 ||
        write_half(halves + room, s2, logn) != 0) {
        return 0;
    }
    signature[0] = (uint8_t)(0x70 + logn);
    memcpy(signature + 1, nonce, FALCON_NONCE_BYTES);
    return 1 + FALCON_NONCE_BYTES + 2 * room;
}

int64_t falcon_recover_key(uint8_t *key_hash, const uint8_t *signature, int64_t signature_bytes,
                           const uint8_t *message, int64_t message_bytes, int64_t logn_given) {
    const unsigned logn = (unsigned)logn_given;
    const size_t head = 1 + FALCON_NONCE_BYTES, room = half_bytes(logn);
    uint16_t point[FALCON_MAX_N], h[FALCON_MAX_N];
    int16_t s1[FALCON_MAX_N], s2[FALCON_MAX_N];
    uint8_t public_key[1 + 14 * FALCON_MAX_N / 8];
    if ((size_t)signature_bytes != head + 2 * room || signature[0] != 0x70 + logn ||
        read_half(s1, signature + head, logn) != 0 ||
        read_half(s2, signature + head + room, logn) != 0 || !falcon_is_short(s1, s2, logn)) {
        return FALCON_NO_KEY;
    }
    falcon_hash_to_point(point, signature + 1, message, (size_t)message_bytes, logn);
    if (falcon_divide_halves(h, point, s1, s2, logn) != 0) {
        return FALCON_NO_KEY;
    }
    falcon_encode_public_key(public_key, h, logn);
    falcon_hash_public_key(key_hash, public_key, logn);
    return 0;
}
