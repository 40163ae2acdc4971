/* The functions of pq_native.h that read a table of schemes. To be included by a glue after SOURCE, a
 * string, and `schemes`, an array of pq_scheme with a field `name`. A handle is a row of it. */
#include "pq_native.h"

#include <string.h>

static const size_t scheme_count = sizeof schemes / sizeof schemes[0];

PQ_API const char *pq_source(void) { return SOURCE; }

PQ_API size_t pq_count(void) { return scheme_count; }

PQ_API const char *pq_name(size_t index) {
    return index < scheme_count ? schemes[index].name : NULL;
}

PQ_API pq_scheme *pq_open(const char *name) {
    for (size_t i = 0; i < scheme_count; i++) {
        if (strcmp(name, schemes[i].name) == 0) {
            return (pq_scheme *)&schemes[i];
        }
    }
    return NULL;
}

PQ_API void pq_close(pq_scheme *scheme) { (void)scheme; }
