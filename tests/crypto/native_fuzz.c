/* Hostile calls of the C interface, to be built with sanitizers like the library:
 *
 *     native_fuzz NUMBER LIBRARY [ALGORITHM]...
 *
 * LIBRARY is a shared object with the interface of pq_native.h. For each of its signature schemes, or
 * those named, NUMBER inputs: signing with damaged secret keys, and batches of damaged messages,
 * signatures and public keys on one to four threads, whose verdicts must be those of single calls.
 * Every input is in a heap block of exactly its size. Randomness comes from a generator, so
 * that the sequence is the same in every run; the digest that is printed covers all inputs and
 * outcomes.
 */
#include "../../pqchain/native/pq_native.h"
#include "fuzz.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS = 4, FEW_IN_BATCH = 9, MOST_IN_BATCH = 70, MESSAGE_BYTES = 400, THREADED = 16 };

static uint64_t digest;

static void note(const uint8_t *bytes, size_t count) { /* FNV-1a */
    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    }
}

static _Noreturn void stop(const char *what, const char *which) {
    fprintf(stderr, "native_fuzz: %s: %s\n", which, what);
    exit(2);
}

static void from_sequence(void *context, uint8_t *buffer, size_t bytes) {
    (void)context;
    random_bytes(buffer, bytes);
}

static void damage(uint8_t *data, size_t bytes) {
    if (bytes == 0) {
        return;
    }
    const size_t at = draw() % bytes, length = 1 + draw() % (bytes - at);
    switch (draw() % 5) {
    case 0:
        random_bytes(data, bytes);
        break;
    case 1:
    case 2:
        for (uint64_t flips = 1 + draw() % 3; flips > 0; flips--) {
            data[draw() % bytes] ^= (uint8_t)(1 << draw() % 8);
        }
        break;
    case 3:
        memset(data + at, draw() % 2 ? 0 : 0xff, length);
        break;
    default:
        memmove(data + at, data + draw() % (bytes - length + 1), length);
        break;
    }
}

typedef struct {
    int (*keypair)(const pq_scheme *, uint8_t *, uint8_t *);
    int (*sign)(const pq_scheme *, uint8_t *, size_t *, const uint8_t *, size_t, const uint8_t *,
                size_t, const uint8_t *);
    int (*verify)(const pq_scheme *, const uint8_t *, size_t, const uint8_t *, size_t,
                  const uint8_t *, size_t, const uint8_t *);
    size_t (*verify_batch)(const pq_batch *);
    size_t (*count)(void);
    const char *(*name)(size_t);
    pq_scheme *(*open)(const char *);
    void (*close)(pq_scheme *);
    void (*sizes)(const pq_scheme *, pq_sizes_t *);
    void (*random)(pq_random_source *);
} library;

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    if (found == NULL) {
        stop("is missing", name);
    }
    return found;
}

typedef struct {
    uint8_t *public_key, *secret_key, *signature, message[MESSAGE_BYTES];
    size_t message_bytes, signature_bytes;
} pair;

static void make(const library *l, const pq_scheme *scheme, const pq_sizes_t *sizes, pair *p) {
    p->public_key = block(sizes->public_key_bytes);
    p->secret_key = block(sizes->secret_key_bytes);
    p->signature = block(sizes->signature_max_bytes);
    p->signature_bytes = sizes->signature_max_bytes;
    random_bytes(p->message, MESSAGE_BYTES);
    p->message_bytes = draw() % (MESSAGE_BYTES + 1);
    if (l->keypair(scheme, p->public_key, p->secret_key) != PQ_OK ||
        l->sign(scheme, p->signature, &p->signature_bytes, p->message, p->message_bytes, NULL, 0,
                p->secret_key) != PQ_OK ||
        l->verify(scheme, p->message, p->message_bytes, p->signature, p->signature_bytes, NULL, 0,
                  p->public_key) != PQ_OK) {
        stop("an honest signature does not verify", "pair");
    }
}

/* Sign with a damaged key: an error code, or a signature of a valid length. */
static int sign_damaged(const library *l, const pq_scheme *scheme, const pq_sizes_t *sizes,
                        const pair *p) {
    uint8_t *key = block(sizes->secret_key_bytes), *signature = block(sizes->signature_max_bytes);
    size_t bytes = sizes->signature_max_bytes;
    memcpy(key, p->secret_key, sizes->secret_key_bytes);
    damage(key, sizes->secret_key_bytes);
    note(key, sizes->secret_key_bytes);
    const int code =
        l->sign(scheme, signature, &bytes, p->message, p->message_bytes, NULL, 0, key);
    if (code > PQ_OK || (code == PQ_OK && (bytes == 0 || bytes > sizes->signature_max_bytes))) {
        stop("a signature that cannot be", "sign");
    }
    note((const uint8_t *)&code, sizeof code);
    free(key);
    free(signature);
    return code == PQ_OK;
}

/* A batch of damaged cases: its verdicts are those of single calls. Returns their number. */
static size_t verify_damaged(const library *l, const pq_scheme *scheme, const pq_sizes_t *sizes,
                             const pair *pairs) {
    /* Mostly some lanes of a group, sometimes several groups. */
    const size_t most = draw() % 8 == 0 ? MOST_IN_BATCH : FEW_IN_BATCH;
    const size_t count = draw() % (most + 1), key_bytes = sizes->public_key_bytes;
    const int shared = draw() % 3 == 0, stops = draw() % 4 == 0;
    uint64_t *message_offsets = (uint64_t *)block((count + 1) * sizeof(uint64_t));
    uint64_t *signature_offsets = (uint64_t *)block((count + 1) * sizeof(uint64_t));
    uint8_t *messages = block(count * MESSAGE_BYTES);
    uint8_t *signatures = block(count * sizes->signature_max_bytes);
    uint8_t *keys = block((shared ? 1 : count) * key_bytes), *verdicts = block(count);
    size_t wrong = 0, at_message = 0, at_signature = 0;
    if (shared) {
        memcpy(keys, pairs[0].public_key, key_bytes);
    }
    for (size_t i = 0; i < count; i++) {
        const pair *p = &pairs[shared ? 0 : draw() % PAIRS];
        const uint64_t kind = draw() % 5;
        size_t message_bytes = p->message_bytes, signature_bytes = p->signature_bytes;
        memcpy(messages + at_message, p->message, MESSAGE_BYTES);
        memcpy(signatures + at_signature, p->signature, signature_bytes);
        if (!shared) {
            memcpy(keys + i * key_bytes, p->public_key, key_bytes);
        }
        if (kind == 1) {
            message_bytes = draw() % (MESSAGE_BYTES + 1);
        } else if (kind == 2) {
            damage(signatures + at_signature, signature_bytes);
        } else if (kind == 3 && !shared) {
            damage(keys + i * key_bytes, key_bytes);
        } else if (kind == 4 && draw() % 2) {
            signature_bytes -= draw() % signature_bytes;
        }
        message_offsets[i] = at_message;
        signature_offsets[i] = at_signature;
        at_message += message_bytes;
        at_signature += signature_bytes;
    }
    message_offsets[count] = at_message;
    signature_offsets[count] = at_signature;
    note(messages, at_message);
    note(signatures, at_signature);
    memset(verdicts, 2, count);
    const pq_batch batch = {.scheme = scheme,
                            .count = count,
                            .threads = draw() % THREADED == 0 ? 1 + draw() % 4 : 1,
                            .messages = messages,
                            .message_offsets = message_offsets,
                            .signatures = signatures,
                            .signature_offsets = signature_offsets,
                            .public_keys = keys,
                            .public_key_stride = shared ? 0 : key_bytes,
                            .stop_at_first = (uint64_t)stops,
                            .verdicts = verdicts};
    const size_t told = l->verify_batch(&batch);
    int before = 1; /* whether all so far were right: then this one has been looked at */
    for (size_t i = 0; i < count; i++) {
        const size_t message_bytes = message_offsets[i + 1] - message_offsets[i];
        const size_t signature_bytes = signature_offsets[i + 1] - signature_offsets[i];
        const int valid =
            l->verify(scheme, messages + message_offsets[i], message_bytes,
                      signatures + signature_offsets[i], signature_bytes, NULL, 0,
                      keys + i * batch.public_key_stride) == PQ_OK;
        if ((!stops || before || verdicts[i] != 2) && verdicts[i] != valid) {
            stop("a batch and a single call differ", "verify");
        }
        before = before && valid;
        wrong += !valid;
        note((const uint8_t *)&valid, sizeof valid);
    }
    if (stops ? (told == 0) != (wrong == 0) : told != wrong) {
        stop("a batch counts other wrong ones", "verify");
    }
    free(message_offsets);
    free(signature_offsets);
    free(messages);
    free(signatures);
    free(keys);
    free(verdicts);
    return count;
}

static void attack(const library *l, const char *name, long count) {
    pq_scheme *scheme = l->open(name);
    pq_sizes_t sizes;
    pair pairs[PAIRS];
    long done = 0, keys = 0, accepted = 0, verified = 0;
    if (scheme == NULL) {
        stop("cannot be opened", name);
    }
    l->sizes(scheme, &sizes);
    if (sizes.kind != PQ_SIGNATURE) {
        l->close(scheme);
        return;
    }
    state = 0x6e6174697665;
    digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < PAIRS; i++) {
        make(l, scheme, &sizes, &pairs[i]);
    }
    while (done < count) {
        accepted += sign_damaged(l, scheme, &sizes, &pairs[draw() % PAIRS]);
        keys++;
        const size_t some = verify_damaged(l, scheme, &sizes, pairs);
        verified += (long)some;
        done += 1 + (long)some;
    }
    printf("%s: %ld damaged keys, %ld of them sign; %ld signatures in batches; digest %016llx\n",
           name, keys, accepted, verified, (unsigned long long)digest);
    fflush(stdout);
    for (size_t i = 0; i < PAIRS; i++) {
        free(pairs[i].public_key);
        free(pairs[i].secret_key);
        free(pairs[i].signature);
    }
    l->close(scheme);
}

int main(int count, char **arguments) {
    const long inputs = count > 2 ? atol(arguments[1]) : 0;
    if (inputs < 1) {
        stop("usage: native_fuzz NUMBER LIBRARY [ALGORITHM]...", "arguments");
    }
    void *handle = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        stop(dlerror(), arguments[2]);
    }
    library l;
    *(void **)&l.keypair = symbol(handle, "pq_keypair");
    *(void **)&l.sign = symbol(handle, "pq_sign");
    *(void **)&l.verify = symbol(handle, "pq_verify");
    *(void **)&l.verify_batch = symbol(handle, "pq_verify_batch");
    *(void **)&l.count = symbol(handle, "pq_count");
    *(void **)&l.name = symbol(handle, "pq_name");
    *(void **)&l.open = symbol(handle, "pq_open");
    *(void **)&l.close = symbol(handle, "pq_close");
    *(void **)&l.sizes = symbol(handle, "pq_sizes");
    *(void **)&l.random = symbol(handle, "pq_random");
    l.random(&(pq_random_source){from_sequence, NULL});
    if (count > 3) {
        for (int i = 3; i < count; i++) {
            attack(&l, arguments[i], inputs);
        }
    } else {
        for (size_t i = 0; i < l.count(); i++) {
            if (l.name(i) != NULL) {
                attack(&l, l.name(i), inputs);
            }
        }
    }
    return 0;
}
