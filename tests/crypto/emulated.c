/* Driver of a native library of another processor through pipes, run under qemu-user.
 *
 * Usage: emulated <library> <algorithm>. It prints pq_sizes_t, then answers commands from stdin:
 *   K                 key pair            -> D, code, public key, secret key
 *   S message, secret key                 -> D, code, length, signature padded to the maximum length
 *   V message, signature, public key      -> D, code
 *   E public key                          -> D, code, ciphertext, shared secret
 *   C ciphertext, secret key              -> D, code, shared secret
 * Messages and signatures follow their length in 8 bytes; codes are 8 bytes; little-endian
 * throughout. When the library draws random bytes, it prints R and their number, and reads them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "pq_native.h"

static void need(const void *what, const char *name) {
    if (what == NULL) {
        const char *reason = dlerror();
        fprintf(stderr, "%s: %s\n", name, reason == NULL ? "not found" : reason);
        exit(2);
    }
}

static void take(void *buffer, size_t bytes) {
    if (bytes > 0 && fread(buffer, bytes, 1, stdin) != 1) {
        exit(3);
    }
}

static void give(const void *buffer, size_t bytes) {
    if (bytes > 0 && fwrite(buffer, bytes, 1, stdout) != 1) {
        exit(3);
    }
}

static void answer(int64_t code) {
    give("D", 1);
    give(&code, sizeof code);
}

static uint8_t *room(size_t bytes) {
    uint8_t *buffer = calloc(bytes + 1, 1);
    need(buffer, "memory");
    return buffer;
}

static uint8_t *take_counted(uint64_t *bytes) {
    take(bytes, sizeof *bytes);
    uint8_t *buffer = room(*bytes);
    take(buffer, *bytes);
    return buffer;
}

static void ask_random(void *context, uint8_t *buffer, size_t bytes) {
    (void)context;
    const uint64_t count = bytes;
    give("R", 1);
    give(&count, sizeof count);
    fflush(stdout);
    take(buffer, bytes);
}

#define FIND(name)                            \
    __typeof__(name) *name##_ = dlsym(library, #name); \
    need((const void *)name##_, #name)

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: emulated <library> <algorithm>\n");
        return 2;
    }
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    need(library, words[1]);
    FIND(pq_open);
    FIND(pq_sizes);
    FIND(pq_random);
    FIND(pq_keypair);
    FIND(pq_sign);
    FIND(pq_verify);
    FIND(pq_encapsulate);
    FIND(pq_decapsulate);
    pq_scheme *scheme = pq_open_(words[2]);
    need(scheme, words[2]);
    pq_sizes_t sizes;
    pq_sizes_(scheme, &sizes);
    give(&sizes, sizeof sizes);
    fflush(stdout);
    pq_random_(&(pq_random_source){ask_random, NULL});
    uint8_t *public_key = room(sizes.public_key_bytes), *secret_key = room(sizes.secret_key_bytes);
    uint8_t *ciphertext = room(sizes.ciphertext_bytes), *shared = room(sizes.shared_secret_bytes);
    for (int command; (command = getchar()) != EOF; fflush(stdout)) {
        uint64_t message_bytes = 0, signature_bytes = 0;
        uint8_t *message = NULL, *signature = NULL;
        if (command == 'K') {
            answer(pq_keypair_(scheme, public_key, secret_key));
            give(public_key, sizes.public_key_bytes);
            give(secret_key, sizes.secret_key_bytes);
        } else if (command == 'S') {
            message = take_counted(&message_bytes);
            take(secret_key, sizes.secret_key_bytes);
            signature = room(sizes.signature_max_bytes);
            size_t length = sizes.signature_max_bytes;
            answer(pq_sign_(scheme, signature, &length, message, message_bytes, NULL, 0,
                            secret_key));
            signature_bytes = length;
            give(&signature_bytes, sizeof signature_bytes);
            give(signature, sizes.signature_max_bytes);
        } else if (command == 'V') {
            message = take_counted(&message_bytes);
            signature = take_counted(&signature_bytes);
            take(public_key, sizes.public_key_bytes);
            answer(pq_verify_(scheme, message, message_bytes, signature, signature_bytes, NULL, 0,
                              public_key));
        } else if (command == 'E') {
            take(public_key, sizes.public_key_bytes);
            answer(pq_encapsulate_(scheme, ciphertext, shared, public_key));
            give(ciphertext, sizes.ciphertext_bytes);
            give(shared, sizes.shared_secret_bytes);
        } else if (command == 'C') {
            take(ciphertext, sizes.ciphertext_bytes);
            take(secret_key, sizes.secret_key_bytes);
            answer(pq_decapsulate_(scheme, shared, ciphertext, secret_key));
            give(shared, sizes.shared_secret_bytes);
        } else {
            fprintf(stderr, "unknown command %d\n", command);
            return 2;
        }
        free(message);
        free(signature);
    }
    return 0;
}
