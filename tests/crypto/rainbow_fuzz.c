/* Hostile inputs for Rainbow, to be built with sanitizers:
 *
 *     rainbow_fuzz 1000000     number of random or damaged signatures, messages and keys
 *
 * Inputs are in heap blocks of exactly their size, so that reads past the end are detected.
 * Any bytes are a key, so signing accepts any; its signatures are not checked here. The
 * sequence is the same in every run.
 */
#include "../../pqchain/native/rainbow/rainbow.h"
#include "fuzz.h"

#include <stdio.h>

int main(int count, char **arguments) {
    state = 0x5261696e;
    const long rounds = count == 2 ? atol(arguments[1]) : 0;
    if (rounds < 1) {
        fprintf(stderr, "usage: rainbow_fuzz NUMBER\n");
        return 2;
    }
    uint8_t *public_key = random_block(sizeof(rainbow_public_key));
    uint8_t *secret_key = random_block(sizeof(rainbow_secret_key));
    long accepted = 0, signed_ = 0;
    for (long i = 0; i < rounds; i++) {
        const size_t bytes = (size_t)(draw() % 200);
        uint8_t *message = random_block(bytes), *signature = random_block(SIGNATURE_BYTES);
        if (i % 16 == 0) {
            secret_key[draw() % sizeof(rainbow_secret_key)] = (uint8_t)draw();
            signed_ += rainbow_sign(signature, message, bytes, (const void *)secret_key);
        }
        if (i % 7 == 0) {
            memset(signature, i % 2 == 0 ? 0 : 0xff, SIGNATURE_BYTES / 2);
        }
        public_key[draw() % sizeof(rainbow_public_key)] = (uint8_t)draw();
        accepted += rainbow_verify(message, bytes, signature, (const void *)public_key);
        free(message);
        free(signature);
    }
    free(public_key);
    free(secret_key);
    printf("%ld inputs, %ld signed with a random key, %ld accepted\n", rounds, signed_, accepted);
    return accepted != 0; /* a match of 256 bits by chance */
}
