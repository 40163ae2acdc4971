/* FIPS 202 under the names of mlkem-native. */
#define FAMILY(name) mlk_##name
#define mlk_shake128ctx sponge
#define mlk_shake128x4ctx sponge_x4
#include "sponge.h"
