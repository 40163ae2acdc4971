/* Threads that share a native library, for builds under the sanitizers.
 *
 * Usage: threads ROUNDS LIBRARY [ALGORITHM]...
 *
 * For each signature scheme of the library, or for those named that it has: two threads with sources of randomness of their own, one of them on a
 * short stack, must give the results of their sources alone; two threads without draw from the system;
 * each of the four also verifies a batch with threads that the library starts.
 */
#include "fuzz.h"
#include "pq_native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SEEDED = 2, THREADS = 4, BATCH = 4, MESSAGE_BYTES = 32, SHORT_STACK_BYTES = 512 << 10 };

#define EACH_FUNCTION(DO)                                                                          \
    DO(pq_count) DO(pq_name) DO(pq_open) DO(pq_close) DO(pq_sizes) DO(pq_random) DO(pq_keypair)     \
    DO(pq_sign) DO(pq_verify) DO(pq_verify_batch)
#define DECLARE(name) static __typeof__(name) *name##_;
EACH_FUNCTION(DECLARE)

static void stop(const char *what, const char *which) {
    fprintf(stderr, "threads: %s: %s\n", which, what);
    exit(2);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        stop("the library has no such function", name);
    }
    return found;
}

/* A source of randomness: the sequence of fuzz.h with a separate state. */
static void from_context(void *context, uint8_t *buffer, size_t bytes) {
    uint64_t *own = context;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t z = (*own += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        buffer[i] = (uint8_t)(z >> 56);
    }
}

typedef struct {
    const char *name;
    const pq_scheme *scheme;
    pq_sizes_t sizes;
    long rounds;
    uint64_t seed; /* 0: the system's randomness */
    uint64_t digest;
} job;

static void *work(void *argument) {
    job *j = argument;
    const size_t key_bytes = j->sizes.public_key_bytes, most = j->sizes.signature_max_bytes;
    uint8_t *public_key = block(key_bytes), *secret_key = block(j->sizes.secret_key_bytes);
    uint8_t *signatures = block(BATCH * most), messages[BATCH * MESSAGE_BYTES], verdicts[BATCH];
    uint64_t message_offsets[BATCH + 1] = {0}, signature_offsets[BATCH + 1] = {0};
    uint64_t own = j->seed;
    pq_random_source source = {from_context, &own};
    if (j->seed != 0) {
        pq_random_(&source);
    }
    j->digest = 0xcbf29ce484222325u;
    for (long round = 0; round < j->rounds; round++) {
        if (pq_keypair_(j->scheme, public_key, secret_key) != PQ_OK) {
            stop("no key pair", j->name);
        }
        for (size_t i = 0; i < BATCH; i++) {
            size_t length = most;
            uint8_t *signature = signatures + signature_offsets[i];
            memset(messages + i * MESSAGE_BYTES, (int)(round + (long)i), MESSAGE_BYTES);
            if (pq_sign_(j->scheme, signature, &length, messages + i * MESSAGE_BYTES, MESSAGE_BYTES,
                         NULL, 0, secret_key) != PQ_OK) {
                stop("no signature", j->name);
            }
            message_offsets[i + 1] = (i + 1) * MESSAGE_BYTES;
            signature_offsets[i + 1] = signature_offsets[i] + length;
            for (size_t k = 0; k < length; k++) {
                j->digest = (j->digest ^ signature[k]) * 0x100000001b3u;
            }
        }
        const pq_batch batch = {.scheme = j->scheme,
                                .count = BATCH,
                                .threads = 2,
                                .messages = messages,
                                .message_offsets = message_offsets,
                                .signatures = signatures,
                                .signature_offsets = signature_offsets,
                                .public_keys = public_key,
                                .verdicts = verdicts};
        if (pq_verify_batch_(&batch) != 0) {
            stop("a signature is wrong", j->name);
        }
    }
    if (j->seed != 0) {
        pq_random_(&source);
        if (source.draw != from_context || source.context != &own) {
            stop("another source came back", j->name);
        }
    }
    free(public_key);
    free(secret_key);
    free(signatures);
    return NULL;
}

static void start(pthread_t *thread, job *j, size_t stack_bytes) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0 ||
        (stack_bytes != 0 && pthread_attr_setstacksize(&attributes, stack_bytes) != 0) ||
        pthread_create(thread, &attributes, work, j) != 0) {
        stop("no thread", j->name);
    }
    pthread_attr_destroy(&attributes);
}

static int race(pq_scheme *scheme, const char *name, long rounds) {
    job jobs[THREADS] = {{0}}, expected[SEEDED];
    pthread_t threads[THREADS];
    pq_sizes_t sizes;
    pq_sizes_(scheme, &sizes);
    if (sizes.kind != PQ_SIGNATURE) {
        pq_close_(scheme);
        return 1;
    }
    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){name, scheme, sizes, rounds, i < SEEDED ? i + 1 : 0, 0};
    }
    for (size_t i = 0; i < SEEDED; i++) {
        expected[i] = jobs[i];
        start(&threads[i], &expected[i], 0);
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < THREADS; i++) {
        start(&threads[i], &jobs[i], i == 1 ? SHORT_STACK_BYTES : 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pq_close_(scheme);
    int fine = 1;
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t k = 0; k < i; k++) {
            /* Deterministic signers still have different keys. */
            fine = fine && jobs[i].digest != jobs[k].digest;
        }
        fine = fine && (i >= SEEDED || jobs[i].digest == expected[i].digest);
    }
    printf("%s: %s\n", name, fine ? "every thread drew from its own source" : "WRONG RANDOMNESS");
    return fine;
}

int main(int count, char **arguments) {
    const long rounds = count > 2 ? atol(arguments[1]) : 0;
    if (rounds < 1) {
        stop("usage: threads ROUNDS LIBRARY [ALGORITHM]...", "arguments");
    }
    void *library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        stop(dlerror(), arguments[2]);
    }
#define FIND(name) *(void **)&name##_ = symbol(library, #name);
    EACH_FUNCTION(FIND)
    int fine = 1;
    size_t raced = 0;
    for (size_t i = 0; i < pq_count_(); i++) {
        const char *name = pq_name_(i);
        int wanted = count == 3;
        for (int k = 3; name != NULL && k < count; k++) {
            wanted |= strcmp(name, arguments[k]) == 0;
        }
        pq_scheme *scheme = name != NULL && wanted ? pq_open_(name) : NULL;
        if (scheme != NULL) {
            fine = race(scheme, name, rounds) && fine;
            raced++;
        }
    }
    if (raced == 0) {
        stop("no such scheme", arguments[2]);
    }
    return !fine;
}
