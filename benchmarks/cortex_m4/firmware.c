/* Count the instructions of one signature on a Cortex-M4, in total and by part.
 *
 * The machine is QEMU's mps2-an386 with -icount shift=0: its 25 MHz timer advances once per 40
 * instructions. Portable Falcon of liboqs signs with a key generated on the host; the parts are
 * those of pqchain. Output uses semihosting. */
#include <stddef.h>
#include <stdint.h>

#include "falcon_host.h"
#include "key.h" /* LOGN, SIGN, secret_key: written by cortex_m4.py */
#include "randombytes.h"

int SIGN(uint8_t *signature, size_t *bytes, const uint8_t *message, size_t message_bytes,
         const uint8_t *secret_key);

enum { SIGNATURES = 5, MESSAGE_BYTES = 33 };

static volatile uint32_t *const timer = (volatile uint32_t *)0x40000000;

static void semihost(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(const char *name, uint64_t value) {
    char line[80], digits[24];
    unsigned at = 0, count = 0;
    while (*name) {
        line[at++] = *name++;
    }
    line[at++] = ' ';
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count) {
        line[at++] = digits[--count];
    }
    line[at++] = '\n';
    line[at] = 0;
    semihost(4, line);
}

static uint64_t state;

void firmware_random(uint8_t *out, size_t bytes) {
    for (size_t k = 0; k < bytes; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[k] = (uint8_t)(state >> 56);
    }
}

static uint32_t ticks(void) { return ~timer[1]; }

static uint32_t start;
static void begin(void) { start = ticks(); }
static void end(const char *name) { print(name, (uint64_t)(ticks() - start) * 40); }

static uint8_t signature[1500], out[2048];
static int8_t key[4 * FALCON_MAX_N];
static uint16_t point[FALCON_MAX_N];
static int16_t s2[FALCON_MAX_N];

int main(void) {
    uint8_t message[MESSAGE_BYTES];
    uint64_t hash = 0, total = 0;
    timer[2] = timer[1] = 0xffffffffu;
    timer[0] = 1;
    size_t bytes = 0;
    for (unsigned k = 0; k < SIGNATURES; k++) {
        for (unsigned j = 0; j < MESSAGE_BYTES; j++) {
            message[j] = (uint8_t)(k + j);
        }
        const uint32_t from = ticks();
        if (SIGN(signature, &bytes, message, sizeof message, secret_key) != 0) {
            print("failed", k);
        }
        total += (uint64_t)(ticks() - from) * 40;
        for (size_t j = 0; j < bytes; j++) {
            hash = (hash ^ signature[j]) * 0x100000001b3u;
        }
    }
    print("sign", total / SIGNATURES);
    print("hash", hash);
    begin();
    int wrong = falcon_decode_secret_key(key, secret_key, LOGN);
    end("key_decoding");
    begin();
    wrong |= falcon_complete_key(key + (3u << LOGN), key, LOGN);
    end("key_completion");
    begin();
    falcon_hash_to_point(point, signature + 1, message, sizeof message, LOGN);
    end("hash_to_point");
    wrong |= falcon_decompress(s2, signature + 41, bytes - 41, LOGN) == 0;
    begin();
    wrong |= falcon_compress(out, sizeof out, s2, LOGN) == 0;
    end("encoding");
    /* One emulated binary64 operation per iteration, by the compiler's library. */
    volatile double x = 1.7, y = 3.1, z;
    begin();
    for (unsigned k = 0; k < 1000; k++) {
        z = x + y;
    }
    end("thousand_additions");
    begin();
    for (unsigned k = 0; k < 1000; k++) {
        z = x * y;
    }
    end("thousand_multiplications");
    begin();
    for (unsigned k = 0; k < 1000; k++) {
        z = x / y;
    }
    end("thousand_divisions");
    (void)z;
    print("wrong", wrong != 0);
    semihost(0x18, (const void *)0x20026);
    for (;;) {
    }
}

extern uint32_t bss_start, bss_end;
int main(void);
static void reset(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* enable the FPU, which has binary32 only */
    for (uint32_t *word = &bss_start; word < &bss_end; word++) {
        *word = 0;
    }
    main();
}

static void fault(void) {
    print("fault", 1);
    semihost(0x18, (const void *)0x20023);
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    (const void *)0x20400000, (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault,      (const void *)fault, (const void *)fault,
};
