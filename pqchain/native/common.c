/* The parts of pq_native.h that do not depend on the scheme: randomness, the batch, the timed loop. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* getrandom */
#include "pq_native.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

PQ_API int pq_abi(void) { return PQ_ABI; }

/* Per thread, so that no thread uses or frees the source of another. */
static __thread pq_random_source thread_source;

PQ_API void pq_random(pq_random_source *source) {
    const pq_random_source previous = thread_source;
    thread_source = *source;
    *source = previous;
}

static void system_randombytes(uint8_t *buffer, size_t bytes) {
    while (bytes > 0) {
        const ssize_t count = getrandom(buffer, bytes, 0);
        if (count >= 0) {
            buffer += count;
            bytes -= (size_t)count;
        } else if (errno != EINTR) {
            abort(); /* better no key or signature than a predictable one */
        }
    }
}

PQ_INTERNAL void pq_randombytes(uint8_t *buffer, size_t bytes) {
    /* The system's bytes come first, so that a failing source leaves nothing predictable. */
    system_randombytes(buffer, bytes);
    if (thread_source.draw != NULL) {
        thread_source.draw(thread_source.context, buffer, bytes);
    }
}

static int make_large_stack(pthread_attr_t *attributes) {
    if (pthread_attr_init(attributes) != 0) {
        return 0;
    }
    if (pthread_attr_setstacksize(attributes, PQ_STACK_BYTES) != 0) {
        pthread_attr_destroy(attributes);
        return 0;
    }
    return 1;
}

typedef struct {
    void (*operation)(void *argument);
    void *argument;
    pq_random_source source;
} large_stack_call;

static void *run_on_this_stack(void *argument) {
    const large_stack_call *call = argument;
    thread_source = call->source;
    call->operation(call->argument);
    return NULL;
}

PQ_INTERNAL int pq_run_on_large_stack(void (*operation)(void *argument), void *argument) {
    large_stack_call call = {operation, argument, thread_source};
    pthread_attr_t attributes;
    pthread_t thread;
    if (!make_large_stack(&attributes)) {
        return PQ_NO_MEMORY;
    }
    const int failed = pthread_create(&thread, &attributes, run_on_this_stack, &call);
    pthread_attr_destroy(&attributes);
    return failed || pthread_join(thread, NULL) != 0 ? PQ_NO_MEMORY : PQ_OK;
}

__attribute__((weak)) PQ_INTERNAL size_t pq_group_signatures(const pq_scheme *scheme) {
    (void)scheme;
    return 1;
}

__attribute__((weak)) PQ_INTERNAL void pq_verify_group(const pq_batch *batch,
                                                       const uint64_t indices[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        const pq_signed one = pq_batch_item(batch, indices[i]);
        batch->verdicts[indices[i]] =
            pq_verify(batch->scheme, one.message, one.message_bytes, one.signature,
                      one.signature_bytes, NULL, 0, one.public_key) == PQ_OK;
    }
}

/* A signature of a batch, to be sorted: by key, then by position. */
typedef struct {
    const uint8_t *key;
    size_t key_bytes;
    uint64_t index;
    uint64_t first; /* the position of the first signature by this key */
} keyed;

static int compare_keys(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    const int difference = memcmp(x->key, y->key, x->key_bytes);
    return difference != 0 ? difference : (x->index > y->index) - (x->index < y->index);
}

static int compare_places(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->index > y->index) - (x->index < y->index);
}

/* The positions of a batch, those with the same key after the first of them; NULL for the order of
 * the batch. Sorting takes the same time for any keys, which an attacker may have chosen. */
static uint64_t *order_by_key(const pq_batch *batch) {
    if (batch->public_key_stride == 0 || batch->count > SIZE_MAX / sizeof(keyed)) {
        return NULL;
    }
    const size_t count = (size_t)batch->count;
    keyed *all = malloc(count * sizeof *all);
    uint64_t *order = malloc(count * sizeof *order);
    if (all == NULL || order == NULL) {
        free(all);
        free(order);
        return NULL;
    }
    pq_sizes_t sizes;
    pq_sizes(batch->scheme, &sizes);
    for (size_t i = 0; i < count; i++) {
        all[i] = (keyed){pq_batch_item(batch, i).public_key, (size_t)sizes.public_key_bytes, i, i};
    }
    qsort(all, count, sizeof *all, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (memcmp(all[i].key, all[i - 1].key, all[i].key_bytes) == 0) {
            all[i].first = all[i - 1].first;
        }
    }
    qsort(all, count, sizeof *all, compare_places);
    for (size_t i = 0; i < count; i++) {
        order[i] = all[i].index;
    }
    free(all);
    return order;
}

/* Shared state of the threads of a batch. */
typedef struct {
    const pq_batch *batch;
    pq_random_source source; /* source of the caller */
    const uint64_t *order;   /* NULL: that of the batch */
    uint64_t group;          /* signatures that a thread takes at once */
    uint64_t next;           /* the next place in the order that no thread has taken */
    uint64_t least;          /* the least position of an invalid signature so far */
    uint64_t wrong;
} shared_batch;

static void lower(uint64_t *least, uint64_t index) {
    uint64_t seen = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (index < seen && !__atomic_compare_exchange_n(least, &seen, index, 1, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED)) {
    }
}

static void *verify_some(void *argument) {
    shared_batch *shared = argument;
    const pq_batch *batch = shared->batch;
    thread_source = shared->source;
    for (;;) {
        const uint64_t from = __atomic_fetch_add(&shared->next, shared->group, __ATOMIC_RELAXED);
        if (from >= batch->count) {
            return NULL;
        }
        const uint64_t left = batch->count - from;
        const uint64_t end = from + (left < shared->group ? left : shared->group);
        const uint64_t bound = batch->stop_at_first
                                   ? __atomic_load_n(&shared->least, __ATOMIC_RELAXED)
                                   : batch->count;
        uint64_t indices[PQ_MOST_IN_GROUP], wrong = 0;
        size_t count = 0;
        for (uint64_t place = from; place < end; place++) {
            const uint64_t index = shared->order != NULL ? shared->order[place] : place;
            if (index < bound) {
                indices[count++] = index;
            }
        }
        if (count > 0) {
            pq_verify_group(batch, indices, count);
        }
        for (size_t i = 0; i < count; i++) {
            if (!batch->verdicts[indices[i]]) {
                lower(&shared->least, indices[i]);
                wrong++;
            }
        }
        if (wrong > 0) {
            __atomic_fetch_add(&shared->wrong, wrong, __ATOMIC_RELAXED);
        }
    }
}

PQ_API size_t pq_verify_batch(const pq_batch *batch) {
    const uint64_t most = pq_group_signatures(batch->scheme);
    const uint64_t threads = batch->threads > 1 ? batch->threads : 1;
    const uint64_t share = (batch->count + threads - 1) / threads; /* work for every thread */
    uint64_t *order = most > 1 ? order_by_key(batch) : NULL;
    shared_batch shared = {.batch = batch,
                           .source = thread_source,
                           .order = order,
                           .group = share < most ? (share > 0 ? share : 1) : most,
                           .least = batch->count};
    pthread_t others[PQ_MOST_THREADS];
    pthread_attr_t attributes;
    size_t started = 0;
    if (batch->threads > 1 && make_large_stack(&attributes)) {
        /* If no more threads can be started, the existing ones do the work. */
        while (started + 1 < batch->threads && started + 1 < batch->count &&
               started < PQ_MOST_THREADS &&
               pthread_create(&others[started], &attributes, verify_some, &shared) == 0) {
            started++;
        }
        pthread_attr_destroy(&attributes);
    }
    verify_some(&shared);
    for (size_t i = 0; i < started; i++) {
        pthread_join(others[i], NULL);
    }
    free(order);
    return shared.wrong;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The fences prevent reordering across the reading. The counter runs at a constant rate, so
 * this counts reference cycles, not the cycles of a core in turbo. */
static uint64_t now_cycles(void) {
#if defined(__x86_64__)
    _mm_lfence();
    const uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
#else
    return 0;
#endif
}

typedef struct {
    uint64_t ns;
    uint64_t cycles;
} reading;

static reading start_clock(void) {
    reading r;
    r.ns = now_ns();
    r.cycles = now_cycles();
    return r;
}

static reading stop_clock(reading start) {
    reading r;
    r.cycles = now_cycles() - start.cycles;
    r.ns = now_ns() - start.ns;
    return r;
}

static int compare_u64(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

PQ_API double pq_empty_sample_ns(void) {
    enum { COUNT = 1001 };
    uint64_t t[COUNT];
    for (int i = 0; i < COUNT; i++) {
        t[i] = stop_clock(start_clock()).ns;
    }
    qsort(t, COUNT, sizeof t[0], compare_u64);
    return (double)t[COUNT / 2];
}

/* splitmix64: messages have to differ, not to be secret. */
static uint64_t next_word(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill(uint8_t *buffer, size_t bytes, uint64_t *state) {
    while (bytes > 0) {
        const uint64_t word = next_word(state);
        const size_t n = bytes < sizeof word ? bytes : sizeof word;
        memcpy(buffer, &word, n);
        buffer += n;
        bytes -= n;
    }
}

/* All inputs and outputs of one run, in one allocation. */
typedef struct {
    uint8_t *memory;
    uint8_t *public_keys, *secret_keys; /* pool entries */
    uint8_t *messages;                  /* pool entries */
    uint8_t *sealed;                    /* pool signatures or ciphertexts */
    uint8_t *secrets;                   /* pool shared secrets */
    uint8_t *scratch_public, *scratch_secret, *scratch_sealed, *scratch_shared;
    size_t *sealed_bytes;
} buffers;

static int allocate(buffers *b, const pq_sizes_t *z, const pq_plan *plan, size_t sealed) {
    const uint64_t pool = plan->pool;
    const uint64_t parts[] = {pool * sizeof(size_t),
                              pool * z->public_key_bytes,
                              pool * z->secret_key_bytes,
                              pool * plan->message_bytes,
                              pool * sealed,
                              pool * z->shared_secret_bytes,
                              z->public_key_bytes,
                              z->secret_key_bytes,
                              sealed,
                              z->shared_secret_bytes};
    uint8_t **slots[] = {NULL,           &b->public_keys,    &b->secret_keys,    &b->messages,
                         &b->sealed,     &b->secrets,        &b->scratch_public, &b->scratch_secret,
                         &b->scratch_sealed, &b->scratch_shared};
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        total += (parts[i] + 63) / 64 * 64 + 64;
    }
    const size_t bytes = (size_t)total; /* 32-bit processors cannot allocate 4 GiB or more */
    b->memory = bytes == total ? calloc(1, bytes) : NULL;
    if (b->memory == NULL) {
        return PQ_NO_MEMORY;
    }
    uint8_t *at = b->memory;
    b->sealed_bytes = (size_t *)(void *)at;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (slots[i] != NULL) {
            *slots[i] = at;
        }
        at += (parts[i] + 63) / 64 * 64 + 64;
    }
    return PQ_OK;
}

/* Make the key pairs and, where the operation needs them, the messages and sealed inputs. */
static int prepare(const pq_scheme *scheme, const pq_sizes_t *z, const pq_plan *plan, buffers *b,
                   size_t sealed, uint64_t *state) {
    if (plan->operation == PQ_GENERATE_KEYPAIR) {
        return PQ_OK;
    }
    for (size_t i = 0; i < plan->pool; i++) {
        uint8_t *public_key = b->public_keys + i * z->public_key_bytes;
        uint8_t *secret_key = b->secret_keys + i * z->secret_key_bytes;
        uint8_t *message = b->messages + i * plan->message_bytes;
        int code = pq_keypair(scheme, public_key, secret_key);
        if (code == PQ_OK && plan->operation == PQ_VERIFY) {
            fill(message, plan->message_bytes, state);
            b->sealed_bytes[i] = sealed;
            code = pq_sign(scheme, b->sealed + i * sealed, &b->sealed_bytes[i], message,
                           plan->message_bytes, NULL, 0, secret_key);
        } else if (code == PQ_OK && plan->operation == PQ_DECAPSULATE) {
            code = pq_encapsulate(scheme, b->sealed + i * sealed,
                                  b->secrets + i * z->shared_secret_bytes, public_key);
        }
        if (code != PQ_OK) {
            return code;
        }
    }
    return PQ_OK;
}

/* One sample: prepare, run with the clock, check. */
static int sample(const pq_scheme *scheme, const pq_sizes_t *z, const pq_plan *plan, buffers *b,
                  size_t sealed, uint64_t *state, size_t index, reading *elapsed) {
    const size_t i = index % plan->pool;
    uint8_t *public_key = b->public_keys + i * z->public_key_bytes;
    uint8_t *secret_key = b->secret_keys + i * z->secret_key_bytes;
    uint8_t *message = b->messages + i * plan->message_bytes;
    size_t length = sealed;
    int code = PQ_NO_SUCH_OPERATION;
    reading start;

    switch (plan->operation) {
    case PQ_GENERATE_KEYPAIR:
        start = start_clock();
        code = pq_keypair(scheme, b->scratch_public, b->scratch_secret);
        *elapsed = stop_clock(start);
        return code;
    case PQ_SIGN:
        fill(message, plan->message_bytes, state);
        start = start_clock();
        code = pq_sign(scheme, b->scratch_sealed, &length, message, plan->message_bytes, NULL, 0,
                       secret_key);
        *elapsed = stop_clock(start);
        if (code == PQ_OK && index < plan->pool) { /* each key's first signature must verify */
            code = pq_verify(scheme, message, plan->message_bytes, b->scratch_sealed, length, NULL,
                             0, public_key) == PQ_OK
                       ? PQ_OK
                       : PQ_WRONG_RESULT;
        }
        return code;
    case PQ_VERIFY:
        start = start_clock();
        code = pq_verify(scheme, message, plan->message_bytes, b->sealed + i * sealed,
                         b->sealed_bytes[i], NULL, 0, public_key);
        *elapsed = stop_clock(start);
        return code == PQ_REJECTED ? PQ_WRONG_RESULT : code;
    case PQ_ENCAPSULATE:
        start = start_clock();
        code = pq_encapsulate(scheme, b->scratch_sealed, b->secrets + i * z->shared_secret_bytes,
                              public_key);
        *elapsed = stop_clock(start);
        if (code == PQ_OK && index < plan->pool) { /* each key's first secret must be recovered */
            code = pq_decapsulate(scheme, b->scratch_shared, b->scratch_sealed, secret_key);
            if (code == PQ_OK && memcmp(b->scratch_shared, b->secrets + i * z->shared_secret_bytes,
                                        z->shared_secret_bytes) != 0) {
                code = PQ_WRONG_RESULT;
            }
        }
        return code;
    case PQ_DECAPSULATE:
        start = start_clock();
        code = pq_decapsulate(scheme, b->scratch_shared, b->sealed + i * sealed, secret_key);
        *elapsed = stop_clock(start);
        if (code == PQ_OK && memcmp(b->scratch_shared, b->secrets + i * z->shared_secret_bytes,
                                    z->shared_secret_bytes) != 0) {
            code = PQ_WRONG_RESULT;
        }
        return code;
    default:
        return PQ_NO_SUCH_OPERATION;
    }
}

PQ_API int64_t pq_measure(const pq_scheme *scheme, const pq_plan *plan, uint64_t *nanoseconds,
                          uint64_t *cycles) {
    pq_sizes_t z;
    pq_sizes(scheme, &z);
    const int signature_operation = plan->operation == PQ_SIGN || plan->operation == PQ_VERIFY;
    if (plan->operation > PQ_DECAPSULATE || plan->pool == 0 ||
        (plan->operation != PQ_GENERATE_KEYPAIR && signature_operation != (z.kind == PQ_SIGNATURE))) {
        return PQ_NO_SUCH_OPERATION;
    }
    const size_t sealed = z.kind == PQ_SIGNATURE ? z.signature_max_bytes : z.ciphertext_bytes;
    uint64_t state = plan->seed;
    buffers b;
    int code = allocate(&b, &z, plan, sealed);
    if (code != PQ_OK) {
        return code;
    }
    code = prepare(scheme, &z, plan, &b, sealed, &state);

    uint64_t spent = 0;
    size_t done = 0;
    while (code == PQ_OK && done < plan->warmup + plan->samples) {
        if (plan->limit_ns != 0 && spent >= plan->limit_ns &&
            done >= plan->warmup + plan->minimum) {
            break;
        }
        reading elapsed = {0, 0};
        code = sample(scheme, &z, plan, &b, sealed, &state, done, &elapsed);
        if (code == PQ_OK) {
            nanoseconds[done] = elapsed.ns;
            cycles[done] = elapsed.cycles;
            done++;
            spent += elapsed.ns;
        }
    }
    free(b.memory);
    return code == PQ_OK ? (int64_t)done : code;
}
