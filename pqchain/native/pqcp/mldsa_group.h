/* ML-DSA verification (FIPS 204, algorithm 8) of a group of signatures with the functions of
 * mldsa-native. All hashing of different signatures is done side by side; a key that several
 * signatures in succession have is expanded once. To be included after the parameter set, with SET, K
 * and L defined, which it undefines, and the bytes of signatures in CTILDE, Z and W1. */
#define GROUP_JOIN_(a, b, c) a##b##c
#define GROUP_JOIN(a, b, c) GROUP_JOIN_(a, b, c)
#define OF_SET(name) GROUP_JOIN(mldsa, SET, _##name)
#define TYPE(name) GROUP_JOIN(mld_, name, SET)

typedef struct {
    TYPE(polymat_eager) matrix;
    mld_poly t1[K];        /* times 2^d, transformed */
    uint8_t hash[64];      /* tr */
    const uint8_t *encoded; /* NULL: no key */
} OF_SET(known);

/* ExpandA, algorithm 32: SHAKE_LANES polynomials at a time. */
static void OF_SET(expand)(OF_SET(known) *key, const uint8_t *encoded) {
    enum { BLOCKS = 5 }; /* almost always enough */
    mld_poly unused;
    for (unsigned first = 0; first < K * L; first += SHAKE_LANES) {
        uint8_t bytes[SHAKE_LANES][BLOCKS * SHAKE_128], *out[SHAKE_LANES];
        mld_poly *polys[SHAKE_LANES];
        unsigned filled[SHAKE_LANES], short_ones = 0;
        shake_vector state[25] = {{0}};
        for (unsigned lane = 0; lane < SHAKE_LANES; lane++) {
            const unsigned i = first + lane < K * L ? first + lane : first;
            uint64_t words[4];
            memcpy(words, encoded, sizeof words);
            for (int word = 0; word < 4; word++) {
                state[word][lane] = words[word];
            }
            state[4][lane] = i % L | i / L << 8 | 0x1f0000;
            state[SHAKE_128 / 8 - 1][lane] = (uint64_t)1 << 63;
            polys[lane] = first + lane < K * L ? &key->matrix.vec[i / L].vec[i % L] : &unused;
        }
        for (unsigned block = 0; block < BLOCKS; block++) {
            for (unsigned lane = 0; lane < SHAKE_LANES; lane++) {
                out[lane] = bytes[lane] + block * SHAKE_128;
            }
            shake_next(SHAKE_128, state, out);
        }
        for (unsigned lane = 0; lane < SHAKE_LANES; lane++) {
            filled[lane] =
                mld_rej_uniform(polys[lane]->coeffs, 256, 0, bytes[lane], sizeof bytes[lane]);
            short_ones += filled[lane] < 256;
            out[lane] = bytes[lane];
        }
        while (short_ones > 0) {
            shake_next(SHAKE_128, state, out);
            for (unsigned lane = 0; lane < SHAKE_LANES; lane++) {
                if (filled[lane] < 256) {
                    filled[lane] = mld_rej_uniform(polys[lane]->coeffs, 256, filled[lane],
                                                   bytes[lane], SHAKE_128);
                    short_ones -= filled[lane] == 256;
                }
            }
        }
        for (unsigned lane = 0; lane < SHAKE_LANES && first + lane < K * L; lane++) {
            TYPE(poly_permute_bitrev_to_custom_optional)(polys[lane]);
        }
    }
    for (unsigned i = 0; i < K; i++) {
        OF_SET(unpack_pk_t1)(&key->t1[i], encoded, i);
        mldsa_poly_shiftl(&key->t1[i]);
        mldsa_poly_ntt(&key->t1[i]);
    }
}

/* w1, packed, of a signature; 0 if its vector is too long or its hint invalid. */
static int OF_SET(commitment)(uint8_t *w1, const OF_SET(known) *key, const uint8_t *signature,
                              const mld_poly *challenge) {
    TYPE(polyvecl) z;
    mld_poly row, product;
    OF_SET(polyvecl_unpack_z)(&z, signature + CTILDE);
    if (OF_SET(polyvecl_chknorm)(&z, LARGEST)) {
        return 0;
    }
    OF_SET(polyvecl_ntt)(&z);
    for (unsigned i = 0; i < K; i++) {
        OF_SET(polyvec_matrix_pointwise_montgomery_row_eager)(
            &row, (TYPE(polymat_eager) *)&key->matrix, &z, i);
        product = *challenge;
        mldsa_poly_pointwise_montgomery(&product, &key->t1[i]);
        mldsa_poly_sub(&row, &product);
        mldsa_poly_reduce(&row);
        mldsa_poly_invntt_tomont(&row);
        mldsa_poly_caddq(&row);
        if (OF_SET(sig_unpack_hints)(&product, signature, i) != 0) {
            return 0;
        }
        OF_SET(poly_use_hint)(&row, &product);
        PACK(w1 + i * W1, &row);
    }
    return 1;
}

/* SampleInBall, algorithm 29, from a state; the rare one that needs a second block starts again. */
static void OF_SET(challenge)(mld_poly *c, const uint64_t state[25], const uint8_t *seed) {
    const uint8_t *bytes = (const uint8_t *)state;
    uint64_t signs = state[0];
    unsigned at = 8;
    memset(c, 0, sizeof *c);
    for (unsigned i = 256 - TAU; i < 256; i++) {
        unsigned j;
        do {
            if (at == SHAKE_256) {
                OF_SET(poly_challenge)(c, seed);
                return;
            }
            j = bytes[at++];
        } while (j > i);
        c->coeffs[i] = c->coeffs[j];
        c->coeffs[j] = 1 - 2 * (int32_t)(signs & 1);
        signs >>= 1;
    }
}

/* Up to SHAKE_LANES signatures of the right length; key is the last one expanded. */
static void OF_SET(verify_lanes)(size_t count, const pq_signed signed_by[], uint8_t valid[],
                                 OF_SET(known) *key) {
    static const uint8_t pure[2] = {0, 0}; /* no context, section 5.2 */
    uint64_t states[SHAKE_LANES][25];
    uint8_t heads[SHAKE_LANES][64 + sizeof pure], hashes[SHAKE_LANES][64], mu[SHAKE_LANES][64];
    uint8_t w1[SHAKE_LANES][K * W1];
    mld_poly challenges[SHAKE_LANES];
    shake_input inputs[SHAKE_LANES];
    unsigned hash_of[SHAKE_LANES], keys = 0;
    size_t known = 0; /* signatures by the key that is expanded already */
    while (known < count && key->encoded != NULL &&
           memcmp(key->encoded, signed_by[known].public_key, PUBLIC_KEY) == 0) {
        known++;
    }
    for (size_t i = known; i < count; i++) {
        if (i == known ||
            memcmp(signed_by[i - 1].public_key, signed_by[i].public_key, PUBLIC_KEY) != 0) {
            inputs[keys++] = (shake_input){{signed_by[i].public_key, NULL}, {PUBLIC_KEY, 0}};
        }
        hash_of[i] = keys - 1;
    }
    if (keys > 0) {
        shake_lanes(SHAKE_256, keys, inputs, states);
        for (unsigned i = 0; i < keys; i++) {
            memcpy(hashes[i], states[i], sizeof hashes[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(heads[i], i < known ? key->hash : hashes[hash_of[i]], 64);
        memcpy(heads[i] + 64, pure, sizeof pure);
        inputs[i] = (shake_input){{heads[i], signed_by[i].message},
                                  {sizeof heads[i], signed_by[i].message_bytes}};
    }
    shake_lanes(SHAKE_256, count, inputs, states);
    for (size_t i = 0; i < count; i++) {
        memcpy(mu[i], states[i], sizeof mu[i]);
        inputs[i] = (shake_input){{signed_by[i].signature, NULL}, {CTILDE, 0}};
    }
    shake_lanes(SHAKE_256, count, inputs, states);
    for (size_t i = 0; i < count; i++) {
        OF_SET(challenge)(&challenges[i], states[i], signed_by[i].signature);
        mldsa_poly_ntt(&challenges[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= known && (i == known || hash_of[i] != hash_of[i - 1])) {
            key->encoded = signed_by[i].public_key;
            memcpy(key->hash, hashes[hash_of[i]], sizeof key->hash);
            OF_SET(expand)(key, key->encoded);
        }
        valid[i] =
            (uint8_t)OF_SET(commitment)(w1[i], key, signed_by[i].signature, &challenges[i]);
        inputs[i] = (shake_input){{mu[i], w1[i]}, {sizeof mu[i], valid[i] ? sizeof w1[i] : 0}};
    }
    shake_lanes(SHAKE_256, count, inputs, states);
    for (size_t i = 0; i < count; i++) {
        valid[i] = valid[i] && memcmp(states[i], signed_by[i].signature, CTILDE) == 0;
    }
}

static void OF_SET(verify_group)(size_t count, const pq_signed signed_by[], uint8_t valid[]) {
    OF_SET(known) key = {.encoded = NULL};
    for (size_t first = 0; first < count; first += SHAKE_LANES) {
        const size_t left = count - first;
        OF_SET(verify_lanes)(left < SHAKE_LANES ? left : SHAKE_LANES, signed_by + first,
                             valid + first, &key);
    }
}

#undef GROUP_JOIN_
#undef GROUP_JOIN
#undef OF_SET
#undef TYPE
#undef SET
#undef K
#undef L
#undef TAU
#undef LARGEST
#undef CTILDE
#undef W1
#undef PACK
#undef PUBLIC_KEY
