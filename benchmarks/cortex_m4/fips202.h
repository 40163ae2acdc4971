/* The hash interface that portable Falcon expects, based on pqchain's SHAKE256. */
#ifndef FIPS202_H
#define FIPS202_H

#include "falcon_host.h"

typedef pq_shake shake256incctx;
#define shake256_inc_init pq_shake_start
#define shake256_inc_absorb pq_shake_absorb
#define shake256_inc_finalize pq_shake_finish
#define shake256_inc_squeeze(out, bytes, shake) pq_shake_squeeze(shake, out, bytes)
#define shake256_inc_ctx_release(shake) ((void)(shake))

#endif
