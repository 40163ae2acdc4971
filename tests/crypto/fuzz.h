/* Input of the fuzzers: one sequence, the same in every run, and heap blocks of
 * exactly their size, so that reads past the end are detected. */
#include <stdint.h>
#include <stdlib.h>

static uint64_t state; /* where the sequence begins: `main` sets it */

static inline uint64_t draw(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void random_bytes(uint8_t *buffer, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        buffer[i] = (uint8_t)draw();
    }
}

static inline uint8_t *block(size_t bytes) {
    uint8_t *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        exit(2);
    }
    return memory;
}

static inline uint8_t *random_block(size_t bytes) {
    uint8_t *memory = block(bytes);
    random_bytes(memory, bytes);
    return memory;
}
