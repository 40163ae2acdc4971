/* A library with every fault: its file name, such as sign_exits.so, selects one. */
#define _GNU_SOURCE
#include "pq_native.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pq_scheme { int unused; };
enum { KEY = 32, SIGNATURE = 100 };

static char fault[64];

/* A checksum, so that a library without a fault passes every check. */
static uint8_t sum(const uint8_t *message, size_t message_bytes) {
    uint8_t total = 1;
    for (size_t i = 0; i < message_bytes; i++) total = (uint8_t)(total * 31 + message[i]);
    return total;
}

static int is(const char *name) { return strcmp(fault, name) == 0; }

/* Execute the selected fault if it is one of this function: exit, abort, hang, print, crash. */
static void misbehave(const char *function) {
    size_t length = strlen(function);
    if (strncmp(fault, function, length) != 0 || fault[length] != '_') return;
    const char *what = fault + length + 1;
    if (strcmp(what, "exits") == 0) exit(0);
    if (strcmp(what, "quits") == 0) _exit(0);
    if (strcmp(what, "aborts") == 0) abort();
    if (strcmp(what, "hangs") == 0) for (;;) pause();
    if (strcmp(what, "loops") == 0) for (volatile int turn = 0;; turn++) {}
    if (strcmp(what, "prints") == 0) puts("hello"), fflush(stdout);
    if (strcmp(what, "closes") == 0) close(1), close(2);
    if (strcmp(what, "forks") == 0 && fork() == 0) for (;;) pause();
    if (strcmp(what, "crashes") == 0) *(volatile char *)8 = 1;
    if (strcmp(what, "allocates") == 0) for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }
}

__attribute__((constructor)) static void loaded(void) {
    Dl_info about;
    if (dladdr((void *)(size_t)loaded, &about) && about.dli_fname) {
        const char *slash = strrchr(about.dli_fname, '/');
        snprintf(fault, sizeof fault, "%s", slash ? slash + 1 : about.dli_fname);
        char *dot = strrchr(fault, '.');
        if (dot) *dot = 0;
    }
    misbehave("load");
}

PQ_API const char *pq_source(void) {
    misbehave("source");
    return is("source_null") ? NULL : is("source_bytes") ? "\xff\xfe" : "hostile";
}
PQ_API size_t pq_count(void) {
    misbehave("count");
    return is("count_zero") ? 0 : is("count_huge") ? (size_t)1 << 60 : is("count_minus") ? (size_t)-1 : 1;
}
PQ_API const char *pq_name(size_t index) {
    static char lengthy[100001];
    misbehave("name");
    if (is("name_bytes")) return "\xff\xfe";
    if (is("name_empty")) return "";
    if (is("name_null")) return NULL;
    if (is("name_known")) return "ML-DSA-44";
    if (is("name_lines")) return "two\nlines\x1b[31m";
    if (is("name_long")) return memset(lengthy, 'x', sizeof lengthy - 1);
    return is("count_huge") || is("count_minus") || index == 0 ? "Hostile" : NULL;
}
PQ_API pq_scheme *pq_open(const char *name) {
    (void)name;
    misbehave("open");
    return is("open_null") ? NULL : calloc(1, sizeof(pq_scheme));
}
PQ_API void pq_close(pq_scheme *scheme) { misbehave("close"); free(scheme); }
PQ_API void pq_sizes(const pq_scheme *scheme, pq_sizes_t *sizes) {
    (void)scheme;
    misbehave("sizes");
    *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE, .public_key_bytes = KEY, .secret_key_bytes = KEY,
                          .signature_max_bytes = SIGNATURE};
    if (is("sizes_zero")) *sizes = (pq_sizes_t){.kind = PQ_SIGNATURE};
    if (is("sizes_kind")) sizes->kind = 77;
    if (is("sizes_kem")) sizes->kind = PQ_KEM;
    if (is("sizes_huge")) sizes->signature_max_bytes = (uint64_t)1 << 62;
    if (is("sizes_all")) memset(sizes, 0xff, sizeof *sizes), sizes->kind = PQ_SIGNATURE;
    if (is("sizes_level")) sizes->nist_level = (uint64_t)1 << 63;
}
PQ_API int pq_keypair(const pq_scheme *scheme, uint8_t *public_key, uint8_t *secret_key) {
    (void)scheme;
    misbehave("keypair");
    memset(public_key, 1, KEY);
    memset(secret_key, 1, KEY);
    if (is("keypair_beyond")) memset(public_key, 1, 100000);
    return is("keypair_fails") ? PQ_FAILED : is("keypair_strange") ? 12345 : PQ_OK;
}
PQ_API int pq_sign(const pq_scheme *scheme, uint8_t *signature, size_t *signature_bytes,
                   const uint8_t *message, size_t message_bytes, const uint8_t *context,
                   size_t context_bytes, const uint8_t *secret_key) {
    (void)scheme, (void)context, (void)context_bytes, (void)secret_key;
    misbehave("sign");
    memset(signature, sum(message, message_bytes), SIGNATURE);
    if (is("sign_beyond")) memset(signature, 1, 1 << 20);
    *signature_bytes = is("sign_longer") ? 1 << 20 : is("sign_longest") ? (size_t)-1 : is("sign_empty") ? 0 : SIGNATURE;
    return is("sign_fails") ? PQ_FAILED : is("sign_strange") ? -12345 : PQ_OK;
}
PQ_API int pq_verify(const pq_scheme *scheme, const uint8_t *message, size_t message_bytes,
                     const uint8_t *signature, size_t signature_bytes, const uint8_t *context,
                     size_t context_bytes, const uint8_t *public_key) {
    (void)scheme, (void)context, (void)context_bytes;
    misbehave("verify");
    if (is("verify_never")) return PQ_REJECTED;
    if (is("verify_strange")) return 12345;
    if (signature_bytes != SIGNATURE || public_key[0] != 1) return PQ_REJECTED;
    for (size_t i = 0; i < SIGNATURE; i++)
        if (signature[i] != sum(message, message_bytes)) return PQ_REJECTED;
    for (size_t i = 0; i < KEY; i++)
        if (public_key[i] != 1) return PQ_REJECTED;
    return PQ_OK;
}
