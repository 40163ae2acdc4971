/* Merkle trees, WOTS+ and FORS, on up to SLH_LANES leaves at once. */
#ifndef SLHDSA_TREE_H
#define SLHDSA_TREE_H

#include "hash.h"

/* Digits of WOTS+ and indices of FORS: base_2b, FIPS 205, algorithm 4. */
void slh_split_bits(uint32_t *digits, size_t count, const uint8_t *from, uint32_t bits);

/* A Merkle tree in which leaf `target` is to be opened.
 *
 * address has layer, tree, type and key pair of the nodes; first_leaf is the index of leaf 0 among
 * the leaves of all trees with this address, a multiple of 2^height. path gets the authentication
 * path of the target, from the leaf upwards; NULL if no leaf is opened. */
typedef struct {
    slh_address address;
    uint32_t height; /* at least 1 */
    uint32_t first_leaf;
    uint32_t target;
    uint8_t *path;
    int in_prefix; /* SHRINCS: layer and tree of the address are height and index of the node */
} slh_tree_plan;

/* Computes count leaves with the given indices, counted from leaf 0 of the tree. */
typedef void slh_make_leaves(const slh_context *context, void *argument, size_t count,
                             const uint32_t indices[], uint8_t *const leaves[]);

void slh_tree_root(const slh_context *context, const slh_tree_plan *plan,
                   slh_make_leaves *make_leaves, void *argument, uint8_t *root);

/* Up to SLH_LANES leaves to roots along their authentication paths, of equal height, in place.
 * addresses have everything but height and index; indices are those of the leaves. */
void slh_tree_climb(const slh_context *context, size_t count, uint8_t *const nodes[],
                    slh_address addresses[], uint32_t indices[], const uint8_t *const paths[],
                    uint32_t height);

/* A kind of WOTS+ key: the number of its chains, and the types of its addresses. */
typedef struct {
    uint32_t chains, prf_type, hash_type, key_type;
    uint32_t prf_key_pair; /* SHRINCS: replaces the key pair in the address of PRF, if not 0 */
} slh_wots;

/* Up to SLH_LANES public keys. addresses have layer, tree and key pair. The lane `signer`, if below
 * count, also signs: its nodes at the digits go to the signature. */
void slh_wots_keys(const slh_context *context, const slh_wots *wots, size_t count,
                   slh_address addresses[], uint8_t *const keys[], size_t signer,
                   const uint32_t digits[], uint8_t *signature);
/* Up to SLH_LANES public keys, each from a signature of its digits; addresses as above. */
void slh_wots_keys_of(const slh_context *context, const slh_wots *wots, size_t count,
                      slh_address addresses[], const uint32_t digits[][SLH_MAX_CHAINS],
                      const uint8_t *const signatures[], uint8_t *const keys[]);

/* The XMSS tree of a layer (algorithms 9 and 10). Writes the root; if signature is not NULL, also
 * the WOTS+ signature of the n-byte message with the leaf's key, and the leaf's path. */
void slh_xmss(const slh_context *context, uint32_t layer, uint64_t tree, uint8_t *root,
              uint32_t leaf, const uint8_t *message, uint8_t *signature);
/* Algorithm 11: up to SLH_LANES messages of n bytes are replaced by the roots of their signatures.
 * addresses have layer, tree and the leaf as key pair. */
void slh_xmss_roots(const slh_context *context, size_t count, slh_address addresses[],
                    uint8_t *const nodes[], const uint8_t *const signatures[]);

/* Algorithm 16: signature and public key of FORS, for a digest of ceil(k a / 8) bytes. */
void slh_fors_sign(const slh_context *context, uint64_t tree, uint32_t key_pair,
                   const uint8_t *digest, uint8_t *signature, uint8_t *public_key);
/* Algorithm 17: up to SLH_LANES public keys. addresses have tree and key pair. */
void slh_fors_roots(const slh_context *context, size_t count, const slh_address addresses[],
                    const uint8_t *const digests[], const uint8_t *const signatures[],
                    uint8_t *const public_keys[]);

#endif
