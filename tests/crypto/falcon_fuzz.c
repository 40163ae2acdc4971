/* Hostile signatures for Falcon with key recovery, to be built with sanitizers:
 *
 *     falcon_fuzz 1000000     number of random, damaged or well-formed signatures
 *
 * Inputs are in heap blocks of exactly their size, so that reads past the end are detected.
 * A signature that gives a key must be the unique encoding of its halves. The sequence is the same in every
 * run.
 */
#include "../../pqchain/native/falcon/falcon_host.h"
#include "../../pqchain/native/falcon/falcon_signer.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

static size_t half_bytes(unsigned logn) { return logn == 9 ? 625 : 1239; }

/* Two halves of coefficients up to `size`; those up to about 150 are short together. */
static void write_halves(uint8_t *signature, unsigned size, unsigned logn) {
    const size_t room = half_bytes(logn);
    int16_t half[FALCON_MAX_N];
    signature[0] = (uint8_t)(0x70 + logn);
    memset(signature + 1 + FALCON_NONCE_BYTES, 0, 2 * room);
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned k = 0; k < 1u << logn; k++) {
            half[k] = (int16_t)((int)(draw() % (2 * size + 1)) - (int)size);
        }
        falcon_compress(signature + 1 + FALCON_NONCE_BYTES + which * room, room, half, logn);
    }
}

/* True if the decoded halves encode to the same bytes. */
static int is_canonical(const uint8_t *signature, unsigned logn) {
    const size_t head = 1 + FALCON_NONCE_BYTES, room = half_bytes(logn);
    uint8_t again[1 + FALCON_NONCE_BYTES + 2 * 1239];
    int16_t s1[FALCON_MAX_N], s2[FALCON_MAX_N];
    return falcon_decompress(s1, signature + head, room, logn) > 0 &&
           falcon_decompress(s2, signature + head + room, room, logn) > 0 &&
           falcon_encode_recoverable(again, signature + 1, s1, s2, logn) == head + 2 * room &&
           memcmp(again, signature, head + 2 * room) == 0;
}

int main(int count, char **arguments) {
    state = 0x46616c63;
    const long inputs = count == 2 ? strtol(arguments[1], NULL, 10) : 0;
    long keys = 0;
    if (inputs <= 0) {
        fprintf(stderr, "usage: falcon_fuzz INPUTS\n");
        return 2;
    }
    for (long i = 0; i < inputs; i++) {
        const unsigned logn = 9 + draw() % 2;
        const size_t whole = 1 + FALCON_NONCE_BYTES + 2 * half_bytes(logn);
        const size_t bytes = draw() % 8 > 0 ? whole : draw() % (whole + 8);
        const size_t message_bytes = draw() % 300;
        uint8_t *signature = random_block(bytes), *message = random_block(message_bytes), hash[64];
        if (bytes == whole && draw() % 8 > 0) {
            write_halves(signature, draw() % 200, logn);
            for (uint64_t edits = draw() % 4; edits > 0; edits--) {
                signature[draw() % bytes] ^= (uint8_t)(1u << draw() % 8);
            }
        }
        if (falcon_recover_key(hash, signature, (int64_t)bytes, message, (int64_t)message_bytes,
                               logn) == 0) {
            keys++;
            if (bytes != whole || !is_canonical(signature, logn)) {
                fprintf(stderr, "input %ld: a key out of bytes that are no encoding\n", i);
                return 1;
            }
        }
        free(signature);
        free(message);
    }
    printf("%ld signatures, %ld gave a key, each in its one encoding\n", inputs, keys);
    return keys > 0 && keys < inputs ? 0 : 1;
}
