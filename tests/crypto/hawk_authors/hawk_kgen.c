#include <hawk.h>
#include <string.h>
/* A toy: the key is random, the public key repeats its head, the signature is of both. */
static const size_t PUBLIC[] = {1024, 2440}, SECRET[] = {184, 360}, SIGNATURE[] = {555, 1221};
void shake_inject(shake_context *sc, const void *data, size_t bytes) {
    memcpy(sc->data + sc->bytes, data, bytes);
    sc->bytes += bytes;
}
void hawk_sign_start(shake_context *sc) { sc->bytes = 0; }
int hawk_keygen(unsigned logn, void *priv, void *pub, hawk_rng rng, void *context, void *tmp,
                size_t tmp_len) {
    memset(tmp, 0xff, tmp_len);
    rng(context, priv, SECRET[logn - 9]);
    memset(pub, 0, PUBLIC[logn - 9]);
    memcpy(pub, priv, 32);
    return 1;
}
static void tag(unsigned char *out, size_t n, const shake_context *sc, const unsigned char *key) {
    memset(out, 0, n);
    for (size_t i = 0; i < sc->bytes; i++) {
        out[i % n] ^= sc->data[i];
    }
    for (size_t i = 0; i < 32; i++) {
        out[i] ^= key[i];
    }
}
int hawk_sign_finish(unsigned logn, hawk_rng rng, void *context, void *sig,
                     const shake_context *sc, const void *priv, void *tmp, size_t tmp_len) {
    (void)rng, (void)context;
    memset(tmp, 0xff, tmp_len);
    tag(sig, SIGNATURE[logn - 9], sc, priv);
    return 1;
}
int hawk_sign_finish_alt(unsigned logn, hawk_rng rng, void *context, void *sig,
                         const shake_context *sc, const void *priv, size_t priv_len, void *tmp,
                         size_t tmp_len) {
    (void)priv_len;
    return hawk_sign_finish(logn, rng, context, sig, sc, priv, tmp, tmp_len);
}
void hawk_decode_private_key(unsigned logn, void *priv_dec, const void *priv) {
    memcpy(priv_dec, priv, SECRET[logn - 9]);
}
int hawk_decode_signature(unsigned logn, int16_t *s1_and_salt, const void *sig, size_t sig_len) {
    (void)logn, (void)s1_and_salt, (void)sig, (void)sig_len;
    return 0;
}
int hawk_decode_public_key(unsigned logn, int16_t *q00_q01_hpk, const void *pub, size_t pub_len) {
    (void)logn, (void)q00_q01_hpk, (void)pub, (void)pub_len;
    return 0;
}
int hawk_verify_finish(unsigned logn, const void *sig, size_t sig_len, const shake_context *sc,
                       const void *pub, size_t pub_len, void *tmp, size_t tmp_len) {
    unsigned char wanted[1221];
    memset(tmp, 0xff, tmp_len);
    tag(wanted, SIGNATURE[logn - 9], sc, pub);
    return pub_len == PUBLIC[logn - 9] && memcmp(wanted, sig, sig_len) == 0;
}
