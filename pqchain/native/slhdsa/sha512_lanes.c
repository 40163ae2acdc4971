/* The SHA-512 kernel, with compiler vectors. */
#define BITS 64
#include "sha2_lanes.h"
