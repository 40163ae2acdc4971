/* FIPS 202 under the names of mldsa-native. */
#define FAMILY(name) mld_##name
#define mld_shake128ctx sponge
#define mld_shake256ctx sponge
#define mld_shake128x4ctx sponge_x4
#define mld_shake256x4ctx sponge_x4
#include "sponge.h"
