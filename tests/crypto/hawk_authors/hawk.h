#ifndef HAWK_H__
#define HAWK_H__
#include <stddef.h>
typedef struct { size_t bytes; unsigned char data[4096]; } shake_context;
typedef void (*hawk_rng)(void *context, void *destination, size_t bytes);
#define HAWK_TMPSIZE_KEYGEN(logn) ((size_t)64 << (logn))
#define HAWK_TMPSIZE_SIGN(logn) ((size_t)6 << (logn))
#define HAWK_TMPSIZE_VERIFY(logn) ((size_t)10 << (logn))
void shake_inject(shake_context *sc, const void *data, size_t bytes);
int hawk_keygen(unsigned logn, void *priv, void *pub, hawk_rng rng, void *context, void *tmp,
                size_t tmp_len);
void hawk_sign_start(shake_context *sc);
int hawk_sign_finish(unsigned logn, hawk_rng rng, void *context, void *sig,
                     const shake_context *sc, const void *priv, void *tmp, size_t tmp_len);
void hawk_verify_start(shake_context *sc);
int hawk_verify_finish(unsigned logn, const void *sig, size_t sig_len, const shake_context *sc,
                       const void *pub, size_t pub_len, void *tmp, size_t tmp_len);
#endif
