/* A Hawk scheme of pq_native.h. */
#ifndef HAWK_SCHEME_H
#define HAWK_SCHEME_H

#include "hawk.h"

struct pq_scheme {
    const hawk_set *set;
};

#endif
