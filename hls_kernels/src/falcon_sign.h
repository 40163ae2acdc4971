// falcon_sign: a complete signing attempt in hardware. Registers (s_axilite) in this order:
// request and response (64-bit addresses), logn, status, version. With a logn other than 9 and 10 it
// accesses no memory and only returns its version.
#ifndef FALCON_SIGN_H
#define FALCON_SIGN_H

#include <stdint.h>

#define FALCON_SIGN_VERSION 0x46530001u /* "FS", interface 1 */

extern "C" void falcon_sign(const uint8_t *request, int16_t *response, uint32_t logn,
                            uint32_t *status, uint32_t *version);

#endif
