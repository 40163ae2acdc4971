/* One C interface for every native library of pqchain.
 *
 * Each library (two releases of liboqs with AVX2 and portable, Hawk, Rainbow, Falcon, BLS12-381) is
 * a separate shared object that exports these functions. These files implement them:
 *   common.c         the timed loop, the batch verifier and randomness, the same in every library;
 *   <source>_glue.c  the other functions, based on the code in the library;
 *   no_kem.c         KEM functions of a library without KEMs, which return an error;
 *   oqs_random.c     connects liboqs's random source to this interface.
 *
 * Buffers belong to the caller and have at least the sizes that pq_sizes() gives; lengths are
 * checked by the caller (crypto/interface.py), not here. A pq_scheme is immutable after pq_open()
 * and may be used by any number of threads. No function allocates memory during a timed part.
 */
#ifndef PQ_NATIVE_H
#define PQ_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#define PQ_API __attribute__((visibility("default")))
#define PQ_INTERNAL __attribute__((visibility("hidden"))) /* for the code of a library itself */

#define PQ_ABI 5 /* raised with every change of what is exported; the loader refuses another number */

enum { PQ_SIGNATURE = 1, PQ_KEM = 2 };

/* Result codes of every operation. */
enum {
    PQ_OK = 0,
    PQ_REJECTED = 1, /* verify: the signature is invalid */
    PQ_FAILED = -1,  /* the underlying code reported a failure */
    PQ_NO_SUCH_OPERATION = -2,
    PQ_NO_MEMORY = -3,
    PQ_WRONG_RESULT = -4, /* measure: an operation gave a wrong result */
    PQ_OUT_OF_RANGE = -5  /* sign: the secret key is invalid */
};

enum {
    PQ_GENERATE_KEYPAIR = 0,
    PQ_SIGN = 1,
    PQ_VERIFY = 2,
    PQ_ENCAPSULATE = 3,
    PQ_DECAPSULATE = 4
};

typedef struct pq_scheme pq_scheme;

typedef struct {
    uint64_t kind;
    uint64_t nist_level;
    uint64_t public_key_bytes;
    uint64_t secret_key_bytes;
    uint64_t signature_max_bytes;
    uint64_t ciphertext_bytes;
    uint64_t shared_secret_bytes;
    uint64_t context; /* 1 if sign and verify take a context string */
} pq_sizes_t;

/* The library: its ABI number, the sources of its build, and its algorithms by number. */
PQ_API int pq_abi(void);
PQ_API const char *pq_source(void);
PQ_API size_t pq_count(void);
PQ_API const char *pq_name(size_t index);

/* A scheme by its name as pq_name() gives it; NULL if the library lacks it. */
PQ_API pq_scheme *pq_open(const char *name);
PQ_API void pq_close(pq_scheme *scheme);
PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes);

PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key);
PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key);
PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key);
PQ_API int pq_encapsulate(const pq_scheme *scheme, uint8_t *ciphertext, uint8_t *shared_secret,
                          const uint8_t *public_key);
PQ_API int pq_decapsulate(const pq_scheme *scheme, uint8_t *shared_secret,
                          const uint8_t *ciphertext, const uint8_t *secret_key);

/* Randomness. Each thread has a separate source in each library, initially that of the operating
 * system (draw is NULL). A thread that a library starts uses the source of the calling thread. The
 * buffer already contains the system's randomness when a source is asked to fill it. */
typedef struct {
    void (*draw)(void *context, uint8_t *buffer, size_t bytes);
    void *context;
} pq_random_source;

/* Exchange the source of the calling thread with *source, for reproducible runs. A second call with
 * the same structure restores the previous source. */
PQ_API void pq_random(pq_random_source *source);

/* Fill a buffer from the source of the calling thread. All schemes draw through this function. */
PQ_INTERNAL void pq_randombytes(uint8_t *buffer, size_t bytes);

/* Run operation(argument) on a thread with a stack of PQ_STACK_BYTES, and wait for it. Returns
 * PQ_NO_MEMORY if the thread cannot be started. */
PQ_INTERNAL int pq_run_on_large_stack(void (*operation)(void *argument), void *argument);

/* A batch of signatures to verify. Message i is the bytes message_offsets[i] ..
 * message_offsets[i + 1] of messages, signatures likewise; public key i starts at
 * i * public_key_stride (stride 0: the same key for all). verdicts[i] becomes 1 (valid) or 0
 * (invalid). Each thread, including the caller's, takes the next group of signatures when it has
 * finished one, so that a slow processor does not delay the others. With stop_at_first, groups behind
 * the first invalid signature found are left out, and their verdicts unchanged; all signatures before
 * the first invalid one are verified. */
typedef struct {
    const pq_scheme *scheme;
    uint64_t count;
    uint64_t threads; /* at most; fewer if the system cannot start them */
    const uint8_t *messages;
    const uint64_t *message_offsets;
    const uint8_t *signatures;
    const uint64_t *signature_offsets;
    const uint8_t *public_keys;
    uint64_t public_key_stride;
    uint64_t stop_at_first;
    uint8_t *verdicts;
} pq_batch;

/* The stack of a thread that a library starts: any scheme fits. */
enum { PQ_MOST_THREADS = 1024, PQ_STACK_BYTES = 16 << 20 };

/* Return the number of invalid signatures that were found in a batch. */
PQ_API size_t pq_verify_batch(const pq_batch *batch);

/* One signature of a batch. */
typedef struct {
    const uint8_t *message, *signature, *public_key;
    size_t message_bytes, signature_bytes;
} pq_signed;

static inline pq_signed pq_batch_item(const pq_batch *batch, uint64_t i) {
    return (pq_signed){batch->messages + batch->message_offsets[i],
                       batch->signatures + batch->signature_offsets[i],
                       batch->public_keys + i * batch->public_key_stride,
                       (size_t)(batch->message_offsets[i + 1] - batch->message_offsets[i]),
                       (size_t)(batch->signature_offsets[i + 1] - batch->signature_offsets[i])};
}

/* Optional: a library that verifies several signatures together in less time than one by one
 * implements both functions; those of common.c verify one by one. The first returns the greatest
 * number of signatures in a group, at most PQ_MOST_IN_GROUP; the second sets the verdicts of a group
 * to those of pq_verify(). In a group and from group to group, signatures by the same key follow each
 * other, so that a library may keep the last key that it has expanded. */
enum { PQ_MOST_IN_GROUP = 64 };
PQ_INTERNAL size_t pq_group_signatures(const pq_scheme *scheme);
PQ_INTERNAL void pq_verify_group(const pq_batch *batch, const uint64_t indices[], size_t count);

/* One timed run. Sample i works on key pair i % pool and, for sign, on a fresh message; verify and
 * decapsulate iterate over `pool` prepared inputs. Key generation makes a new key each time. */
typedef struct {
    uint64_t operation;
    uint64_t warmup;        /* samples before the others, at the front of the arrays */
    uint64_t samples;       /* samples after them */
    uint64_t minimum;       /* number of these made even after the time limit */
    uint64_t limit_ns;      /* time limit of the timed part; 0: no limit */
    uint64_t pool;          /* prepared key pairs and inputs, at least 1 */
    uint64_t message_bytes; /* length of each message */
    uint64_t seed;          /* determines the messages */
} pq_plan;

/* Fill nanoseconds[] and cycles[] (warmup + samples entries each; time-stamp counter cycles, 0
 * if user code cannot read such a counter). Returns the number of filled entries, or a negative
 * code. Every result is checked, outside the timed part. */
PQ_API int64_t pq_measure(const pq_scheme *scheme, const pq_plan *plan, uint64_t *nanoseconds,
                          uint64_t *cycles);

/* Return the median cost of an empty sample in nanoseconds, which each sample includes. */
PQ_API double pq_empty_sample_ns(void);

#endif
