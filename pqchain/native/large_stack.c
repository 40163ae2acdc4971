/* Stack. liboqs keeps matrices there: key generation of McEliece-348864 needs 3 MiB in 0.7.1 and
 * 512 KiB in 0.13.0, MAYO-5 and CROSS up to 1 MiB, Rainbow-I 192 KiB. A thread with less would crash
 * the process. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "large_stack.h"

#include <pthread.h>

enum { STACK_NEEDED = 4 << 20 };

/* The lowest address of this thread's stack; determined once, because for the main thread it is read
 * from a file. */
static __thread uintptr_t stack_end;

PQ_API int pq_has_stack(void) {
    pthread_attr_t attributes;
    void *end = NULL;
    size_t bytes = 0;
    if (stack_end == 0) {
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
            return 0;
        }
        if (pthread_attr_getstack(&attributes, &end, &bytes) == 0) {
            stack_end = (uintptr_t)end;
        }
        pthread_attr_destroy(&attributes);
    }
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return stack_end != 0 && here > stack_end && here - stack_end >= STACK_NEEDED;
}

PQ_INTERNAL int pq_with_stack(void (*operation)(void *argument), void *argument) {
    if (pq_has_stack()) {
        operation(argument);
        return PQ_OK;
    }
    return pq_run_on_large_stack(operation, argument);
}
