/* Randomness that crypto/random_source.py describes, as the source of any library's pq_random().
 *
 * Draws are made here and not in Python: a handler of a signal that Python runs within a callback
 * raises its exception where nothing receives it, and the draw would be left out. */
#include "pq_native.h"

#include <string.h>

#include "falcon_host.h"

typedef struct {
    uint64_t is_open; /* 0 after its end: buffers keep the system's randomness */
    uint64_t asked, answered; /* draws; Python counts the answers of `ask` */
    uint64_t *count;          /* draws of the stream; NULL if every draw is the text itself */
    const uint8_t *text;
    uint64_t text_bytes;
    void (*ask)(void *number, uint8_t *buffer, size_t bytes); /* of Python, or NULL */
    void *number;
} seeded_context;

/* Fill the buffer with SHAKE256(number of the draw, text), with the text, or by asking Python. */
PQ_API void pq_draw(void *context, uint8_t *buffer, size_t bytes) {
    seeded_context *seeded = context;
    if (!seeded->is_open) {
        return;
    }
    seeded->asked++;
    if (seeded->ask != NULL) {
        seeded->ask(seeded->number, buffer, bytes);
        return;
    }
    if (seeded->count == NULL) {
        if (bytes != seeded->text_bytes) {
            return;
        }
        memcpy(buffer, seeded->text, bytes);
    } else {
        const uint64_t draw = __atomic_fetch_add(seeded->count, 1, __ATOMIC_RELAXED);
        uint8_t counter[8];
        for (int i = 0; i < 8; i++) {
            counter[i] = (uint8_t)(draw >> (56 - 8 * i));
        }
        pq_shake shake;
        pq_shake_start(&shake);
        pq_shake_absorb(&shake, counter, sizeof counter);
        pq_shake_absorb(&shake, seeded->text, (size_t)seeded->text_bytes);
        pq_shake_finish(&shake);
        pq_shake_squeeze(&shake, buffer, bytes);
    }
    seeded->answered++;
}
