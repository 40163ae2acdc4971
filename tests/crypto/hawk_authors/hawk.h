/* Every name of hawk.h of hawk-sign/dev at commit ac3a98c: eight functions with its parameters, and the
 * macros, so that a name of ours that collides with one does not compile. */
#ifndef HAWK_H__
#define HAWK_H__
#include <stddef.h>
#include <stdint.h>
typedef struct { size_t bytes; unsigned char data[4096]; } shake_context;
typedef void (*hawk_rng)(void *context, void *destination, size_t bytes);
#define HAWK_PRIVKEY_SIZE(logn) ((logn) == 9 ? 184 : 360)
#define HAWK_PUBKEY_SIZE(logn) ((logn) == 9 ? 1024 : 2440)
#define HAWK_SIG_SIZE(logn) ((logn) == 9 ? 555 : 1221)
#define HAWK_PRIVKEY_DECODED_SIZE(logn) (37u << ((logn) - 4))
#define HAWK_DECODED_SIG_LENGTH(logn) (2u << (logn))
#define HAWK_DECODED_PUB_LENGTH(logn) (2u << (logn))
#define HAWK_TMPSIZE_KEYGEN(logn) ((size_t)64 << (logn))
#define HAWK_TMPSIZE_SIGN(logn) ((size_t)6 << (logn))
#define HAWK_TMPSIZE_VERIFY(logn) ((size_t)10 << (logn))
#define HAWK_TMPSIZE_VERIFY_FAST(logn) ((size_t)15 << (logn))
void shake_inject(shake_context *sc, const void *data, size_t bytes);
int hawk_keygen(unsigned logn, void *priv, void *pub, hawk_rng rng, void *context, void *tmp,
                size_t tmp_len);
void hawk_sign_start(shake_context *sc);
#define hawk_verify_start hawk_sign_start
int hawk_sign_finish(unsigned logn, hawk_rng rng, void *context, void *sig,
                     const shake_context *sc, const void *priv, void *tmp, size_t tmp_len);
int hawk_sign_finish_alt(unsigned logn, hawk_rng rng, void *context, void *sig,
                         const shake_context *sc, const void *priv, size_t priv_len, void *tmp,
                         size_t tmp_len);
void hawk_decode_private_key(unsigned logn, void *priv_dec, const void *priv);
int hawk_decode_signature(unsigned logn, int16_t *s1_and_salt, const void *sig, size_t sig_len);
int hawk_decode_public_key(unsigned logn, int16_t *q00_q01_hpk, const void *pub, size_t pub_len);
int hawk_verify_finish(unsigned logn, const void *sig, size_t sig_len, const shake_context *sc,
                       const void *pub, size_t pub_len, void *tmp, size_t tmp_len);
#endif
