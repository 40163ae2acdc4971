/* Random bytes of the firmware: the same on every run. */
#ifndef RANDOMBYTES_H
#define RANDOMBYTES_H

#include <stddef.h>
#include <stdint.h>

void firmware_random(uint8_t *out, size_t bytes);
#define randombytes firmware_random

#endif
