/* For libraries that contain liboqs: it draws through pq_randombytes(). */
#include <oqs/oqs.h>

#include "pq_native.h"

/* liboqs keeps the function in a plain global variable. It is written only here, while the library
 * is loaded, before any thread can call it. */
__attribute__((constructor)) static void install(void) {
    OQS_randombytes_custom_algorithm(pq_randombytes);
}
