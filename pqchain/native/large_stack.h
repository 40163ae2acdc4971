/* Operations that need more stack than the calling thread may have left. */
#ifndef LARGE_STACK_H
#define LARGE_STACK_H

#include "pq_native.h"

/* 1 if any operation fits into the rest of the calling thread's stack. */
PQ_API int pq_has_stack(void);

/* Run operation(argument) here, or, without enough stack, on a thread of its own, which takes some
 * 20 microseconds longer. Returns PQ_OK, or PQ_NO_MEMORY if the thread cannot be started. */
PQ_INTERNAL int pq_with_stack(void (*operation)(void *argument), void *argument);

#endif
