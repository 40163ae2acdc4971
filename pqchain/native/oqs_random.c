/* For libraries that have liboqs inside: it draws through pq_randombytes(). */
#include <oqs/oqs.h>

#include "pq_native.h"

/* liboqs keeps the function in a plain global variable. It is written here only, while the library
 * is loaded and no thread can have called it yet. */
__attribute__((constructor)) static void install(void) {
    OQS_randombytes_custom_algorithm(pq_randombytes);
}
