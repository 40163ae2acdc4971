/* Mutated vectors for several builds of one verifier, to be built with sanitizers:
 *
 *     conform-fuzz NUMBER VECTORS ALGORITHM LIBRARY...
 *
 * Each library is a shared object with the interface of pq_native.h. All must give the same verdict
 * on NUMBER cases, each a vector of the file with changed bits, bytes or length; some are unchanged,
 * so that both verdicts occur. Every input is in a heap block of exactly its size, so that sanitizers
 * detect reading past its end. The sequence is the same in every run.
 *
 * VECTORS has, for each vector, its message, context, signature and public key, each after its
 * length in four bytes, lowest first. Exit code 1, with the case, if two libraries differ.
 */
#include "../../../pqchain/native/pq_native.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE, CONTEXT, SIGNATURE, PUBLIC_KEY, FIELDS };
enum { MOST_VECTORS = 4096, MOST_LIBRARIES = 8 };

typedef struct {
    uint8_t *bytes;
    size_t count;
} block;

typedef int (*verify_fn)(const pq_scheme *, const uint8_t *, size_t, const uint8_t *, size_t,
                         const uint8_t *, size_t, const uint8_t *);

typedef struct {
    const char *path;
    pq_scheme *scheme;
    pq_sizes_t sizes;
    verify_fn verify;
} library;

static uint64_t state = 0x636f6e666f726d;

static uint64_t draw(uint64_t below) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static _Noreturn void stop(const char *what, const char *which) {
    fprintf(stderr, "conform-fuzz: %s: %s\n", which, what);
    exit(2);
}

static block copy(const uint8_t *bytes, size_t count) {
    block made = {malloc(count), count};
    if (made.bytes == NULL && count > 0) {
        stop("no memory", "malloc");
    }
    if (count > 0) {
        memcpy(made.bytes, bytes, count);
    }
    return made;
}

static size_t read_vectors(const char *path, block vectors[][FIELDS]) {
    FILE *file = fopen(path, "rb");
    uint8_t head[4];
    size_t found = 0;
    if (file == NULL) {
        stop("cannot be opened", path);
    }
    while (found < FIELDS * MOST_VECTORS && fread(head, 1, sizeof head, file) == sizeof head) {
        const size_t count = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
        block *field = &vectors[found / FIELDS][found % FIELDS];
        *field = (block){malloc(count + 1), count};
        if (field->bytes == NULL || fread(field->bytes, 1, count, file) != count) {
            stop("ends too early", path);
        }
        found++;
    }
    fclose(file);
    if (found == 0 || found % FIELDS != 0) {
        stop("holds no whole vectors", path);
    }
    return found / FIELDS;
}

static library open_library(const char *path, const char *algorithm) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    library opened = {.path = path};
    if (handle == NULL) {
        stop(dlerror(), path);
    }
    pq_scheme *(*open)(const char *) = (pq_scheme * (*)(const char *)) dlsym(handle, "pq_open");
    void (*sizes)(const pq_scheme *, pq_sizes_t *) =
        (void (*)(const pq_scheme *, pq_sizes_t *))dlsym(handle, "pq_sizes");
    opened.verify = (verify_fn)dlsym(handle, "pq_verify");
    if (open == NULL || sizes == NULL || opened.verify == NULL) {
        stop("has not the interface of pq_native.h", path);
    }
    opened.scheme = open(algorithm);
    if (opened.scheme == NULL) {
        stop("does not hold the algorithm", path);
    }
    sizes(opened.scheme, &opened.sizes);
    return opened;
}

static void flip_bits(block field) {
    for (uint64_t left = 1 + draw(3); left > 0 && field.count > 0; left--) {
        field.bytes[draw(field.count)] ^= (uint8_t)(1u << draw(8));
    }
}

static void overwrite(block field, const uint8_t *from, size_t count) {
    const size_t at = field.count > 0 ? draw(field.count) : 0;
    for (size_t i = 0; i < count && at + i < field.count; i++) {
        field.bytes[at + i] = from[i];
    }
}

/* A key keeps its length, and a signature is never above the longest: the callers of pq_verify()
 * check both (pqchain/crypto/interface.py). */
static void damage(block fields[FIELDS], const block donor[FIELDS], size_t longest) {
    static const uint8_t runs[2][4] = {{0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}};
    block *signature = &fields[SIGNATURE];
    switch (draw(12)) {
    case 0:
        return;
    case 1:
        flip_bits(fields[PUBLIC_KEY]);
        return;
    case 2:
        flip_bits(fields[draw(2) ? MESSAGE : CONTEXT]);
        return;
    case 3:
    case 4: {
        const size_t count = draw(2) ? draw(signature->count + 1) : signature->count + draw(40);
        const size_t kept = count < longest ? count : longest;
        block other = {calloc(kept > 0 ? kept : 1, 1), kept};
        if (other.bytes == NULL) {
            stop("no memory", "calloc");
        }
        if (kept > 0) {
            memcpy(other.bytes, signature->bytes, kept < signature->count ? kept : signature->count);
        }
        free(signature->bytes);
        *signature = copy(other.bytes, kept);
        free(other.bytes);
        return;
    }
    case 5:
        overwrite(*signature, runs[draw(2)], 1 + draw(4));
        return;
    case 6:
        overwrite(fields[PUBLIC_KEY], runs[draw(2)], 1 + draw(4));
        return;
    case 7: {
        const size_t at = draw(donor[SIGNATURE].count + 1);
        overwrite(*signature, donor[SIGNATURE].bytes + at, donor[SIGNATURE].count - at);
        return;
    }
    default:
        flip_bits(*signature);
    }
}

static void show(const char *name, block field) {
    printf("%s ", name);
    for (size_t i = 0; i < field.count; i++) {
        printf("%02x", field.bytes[i]);
    }
    printf("\n");
}

int main(int count, char **arguments) {
    static block vectors[MOST_VECTORS][FIELDS];
    static library libraries[MOST_LIBRARIES];
    const long cases = count > 4 ? atol(arguments[1]) : 0;
    const int opened = count - 4;
    long accepted = 0;
    if (cases < 1 || opened > MOST_LIBRARIES) {
        fprintf(stderr, "usage: conform-fuzz NUMBER VECTORS ALGORITHM LIBRARY...\n");
        return 2;
    }
    const size_t found = read_vectors(arguments[2], vectors);
    for (int i = 0; i < opened; i++) {
        libraries[i] = open_library(arguments[4 + i], arguments[3]);
    }
    for (long number = 0; number < cases; number++) {
        const block *seed = vectors[draw(found)], *donor = vectors[draw(found)];
        block fields[FIELDS];
        for (int field = 0; field < FIELDS; field++) {
            fields[field] = copy(seed[field].bytes, seed[field].count);
        }
        damage(fields, donor, libraries[0].sizes.signature_max_bytes);
        int verdicts[MOST_LIBRARIES];
        for (int i = 0; i < opened; i++) {
            if (fields[PUBLIC_KEY].count != libraries[i].sizes.public_key_bytes) {
                stop("has a public key of another length", arguments[2]);
            }
            verdicts[i] = libraries[i].verify(
                libraries[i].scheme, fields[MESSAGE].bytes, fields[MESSAGE].count,
                fields[SIGNATURE].bytes, fields[SIGNATURE].count, fields[CONTEXT].bytes,
                fields[CONTEXT].count, fields[PUBLIC_KEY].bytes);
            if (verdicts[i] != verdicts[0] || (verdicts[i] != PQ_OK && verdicts[i] != PQ_REJECTED)) {
                printf("case %ld: %s says %d, %s says %d\n", number, libraries[0].path,
                       verdicts[0], libraries[i].path, verdicts[i]);
                show("message", fields[MESSAGE]);
                show("context", fields[CONTEXT]);
                show("signature", fields[SIGNATURE]);
                show("public_key", fields[PUBLIC_KEY]);
                exit(1);
            }
        }
        accepted += verdicts[0] == PQ_OK;
        for (int field = 0; field < FIELDS; field++) {
            free(fields[field].bytes);
        }
    }
    printf("%ld accepted, %ld rejected\n", accepted, cases - accepted);
    return 0;
}
