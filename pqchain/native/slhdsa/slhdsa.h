/* SLH-DSA (FIPS 205): parameter sets, keys, signing and verification.
 *
 * Lengths are checked by the caller. No branch and no address in key generation and signing depends
 * on a secret: SK.seed, SK.prf and everything computed from them until it is part of the signature,
 * which DECLASSIFY marks.
 */
#ifndef SLHDSA_H
#define SLHDSA_H

#include <stddef.h>
#include <stdint.h>

#ifndef DECLASSIFY
#define DECLASSIFY(memory, bytes) ((void)0)
#endif

/* The largest values of all sets. */
enum { SLH_MAX_N = 32, SLH_MAX_CHAINS = 133, SLH_MAX_TREES = 35, SLH_MAX_DIGEST = 49 };

typedef enum { SLH_SHA2, SLH_SHAKE } slh_hash;

/* The columns of FIPS 205, table 2, with their names there. A row is a handle of pq_native.h. */
typedef struct pq_scheme {
    const char *name;
    slh_hash hash;
    uint32_t nist_level;
    uint32_t n;          /* bytes of a node */
    uint32_t layers;     /* d */
    uint32_t height;     /* h', of each XMSS tree */
    uint32_t fors_height; /* a */
    uint32_t fors_trees; /* k */
    uint32_t log_w;      /* lg_w */
    uint32_t chains;     /* len: WOTS+ chains, of the digest (len1) and of the checksum (len2) */
    uint32_t digest_bytes; /* m */
    size_t signature_bytes;
} slh_set;

enum { SLH_SETS = 18 };
extern const slh_set slh_sets[SLH_SETS];

static inline size_t slh_public_key_bytes(const slh_set *set) { return 2 * set->n; }
static inline size_t slh_secret_key_bytes(const slh_set *set) { return 4 * set->n; }

/* A message in two parts, so that the long one is not copied. */
typedef struct {
    const uint8_t *prefix;
    size_t prefix_bytes;
    const uint8_t *message;
    size_t message_bytes;
} slh_message;

/* Algorithm 18, slh_keygen_internal: the seeds are SK.seed, SK.prf and PK.seed, 3n bytes. */
void slh_keypair(const slh_set *set, uint8_t *public_key, uint8_t *secret_key,
                 const uint8_t *seeds);

/* Algorithm 19, slh_sign_internal, with n bytes of randomness (PK.seed for the deterministic
 * variant). Returns 0 if the secret key is damaged: its PK.root is not that of its seeds. */
int slh_sign(const slh_set *set, uint8_t *signature, const slh_message *message,
             const uint8_t *secret_key, const uint8_t *randomness);

/* Algorithm 20, slh_verify_internal, for a signature of the right length. Returns 1 if valid. */
int slh_verify(const slh_set *set, const slh_message *message, const uint8_t *signature,
               const uint8_t *public_key);
/* The same for 1 to SLH_LANES signatures, which fill the lanes of the hash functions together. */
void slh_verify_group(const slh_set *set, size_t count, const slh_message messages[],
                      const uint8_t *const signatures[], const uint8_t *const public_keys[],
                      int valid[]);

#endif
