/* Signing: vinegars by trial, then two linear systems, one per layer.
 *
 * Constant time: except for the number of attempts, no branch and no address depends on a secret. An
 * attempt fails if a random matrix is singular; the next attempt draws another.
 */
#include "gf16.h"
#include "rainbow.h"

enum { ATTEMPTS = 128 };

/* 32 vectors over the equations of a layer: the columns of a matrix, or the rows of its inverse. */
typedef struct {
    uint8_t vector[O1][LAYER_BYTES];
} matrix;

_Static_assert(O1 == O2, "both layers have matrices of one size");

/* The sum of matrices, each times its scalar, and of `sum`. */
static void combine(matrix *sum, const uint8_t *matrices, const gf16_table *scalars, size_t count) {
    for (size_t at = 0; at < sizeof *sum; at += 32) {
        uint8_t *place = sum->vector[0] + at;
        gf16_store(place, _mm256_xor_si256(
                              gf16_load(place),
                              gf16_dot(matrices + at, sizeof *sum, scalars, count)));
    }
}

static int element(const uint8_t *packed, size_t i) { return packed[i / 2] >> (i % 2 * 4) & 15; }

static __m256i everywhere(int value) { return _mm256_set1_epi8((char)value); }

/* Gauss-Jordan elimination on (M | 1), a row per register; 0 if M is singular. */
static int invert(matrix *m) {
    uint8_t rows[O1][2 * LAYER_BYTES];
    unsigned regular = 1;
    for (size_t i = 0; i < O1; i++) {
        memcpy(rows[i], m->vector[i], LAYER_BYTES);
        memset(rows[i] + LAYER_BYTES, 0, LAYER_BYTES);
        rows[i][LAYER_BYTES + i / 2] = (uint8_t)(1 << (i % 2 * 4));
    }
    for (size_t i = 0; i < O1; i++) {
        /* As long as the pivot is zero, the rows below are added. */
        __m256i row = gf16_load(rows[i]);
        for (size_t j = i + 1; j < O1; j++) {
            gf16_store(rows[i], row);
            const __m256i zero =
                _mm256_cmpeq_epi8(everywhere(element(rows[i], i)), _mm256_setzero_si256());
            row = _mm256_xor_si256(row, _mm256_and_si256(zero, gf16_load(rows[j])));
        }
        gf16_store(rows[i], row);
        const int pivot = element(rows[i], i);
        regular &= (unsigned)(pivot + 15) >> 4;
        const gf16_table inverse = gf16_table_of(gf16_inverse(everywhere(pivot)));
        row = gf16_add_product(_mm256_setzero_si256(), row, &inverse);
        for (size_t j = 0; j < O1; j++) {
            const gf16_table factor = gf16_table_of(everywhere(element(rows[j], i)));
            gf16_store(rows[j], gf16_add_product(gf16_load(rows[j]), row, &factor));
        }
        gf16_store(rows[i], row);
    }
    for (size_t i = 0; i < O1; i++) {
        memcpy(m->vector[i], rows[i] + LAYER_BYTES, LAYER_BYTES);
    }
    wipe(rows, sizeof rows);
    DECLASSIFY(&regular, sizeof regular);
    return (int)regular;
}

/* The tables of a packed vector's elements, one by one and in pairs. */
typedef struct {
    gf16_table one[V1], pair[V1];
} tables;

static void tables_of(tables *t, const uint8_t *packed, size_t count) {
    gf16_tables(t->one, packed, count);
    gf16_pairs(t->pair, t->one, count);
}

static __m128i product(const matrix *m, const uint8_t *packed) {
    tables t;
    tables_of(&t, packed, O1);
    const __m128i sum = gf16_dot_halves(m->vector[0], t.pair, O1);
    wipe(&t, sizeof t);
    return sum;
}

static __m128i quadratic(const uint8_t *triangle, const tables *x, size_t count) {
    return gf16_fold(gf16_quadratic(triangle, x->one, x->pair, count, 2));
}

/* All values that depend on secrets, in one structure that is wiped. */
typedef struct {
    rainbow_drbg drbg;
    uint8_t seed[HASH_BYTES];
    uint8_t vinegar[BOTH_BYTES], x1[LAYER_BYTES], x2[LAYER_BYTES], right[LAYER_BYTES];
    __m128i first, second; /* the vinegars' own part in both layers */
    tables t;
    matrix layer1, of_vinegar, of_oil, layer2;
} workspace;

static int sign(uint8_t signature[SIGNATURE_BYTES], const uint8_t digest[HASH_BYTES],
                const rainbow_secret_key *key, workspace *w) {
    unsigned attempts = 0;
    rainbow_sha256(w->seed, key->seed, SEED_BYTES, digest, HASH_BYTES);
    rainbow_drbg_seed(&w->drbg, w->seed);

    do {
        if (attempts++ == ATTEMPTS) {
            return 0;
        }
        rainbow_drbg_draw(&w->drbg, w->vinegar, V1 / 2);
        tables_of(&w->t, w->vinegar, V1);
        memset(&w->layer1, 0, sizeof w->layer1);
        combine(&w->layer1, key->l1_f2[0][0], w->t.one, V1);
    } while (!invert(&w->layer1));

    w->first = quadratic(key->l1_f1[0], &w->t, V1);
    w->second = quadratic(key->l2_f1[0], &w->t, V1);
    memset(&w->of_oil, 0, sizeof w->of_oil);
    combine(&w->of_oil, key->l2_f2[0][0], w->t.one, V1);
    memset(&w->of_vinegar, 0, sizeof w->of_vinegar);
    combine(&w->of_vinegar, key->l2_f3[0][0], w->t.one, V1);

    uint8_t *salt = signature + N / 2;
    do {
        if (attempts++ == ATTEMPTS) {
            return 0;
        }
        uint8_t target[HASH_BYTES];
        rainbow_drbg_draw(&w->drbg, salt, SALT_BYTES);
        rainbow_sha256(target, digest, HASH_BYTES, salt, SALT_BYTES);

        /* The inverse of S; the first layer is then linear in its oil. */
        tables_of(&w->t, target + LAYER_BYTES, O2);
        __m128i right = gf16_dot_halves(key->s1[0], w->t.pair, O2);
        right = _mm_xor_si128(right, gf16_load_half(target));
        gf16_store_half(w->right, _mm_xor_si128(right, w->first));
        gf16_store_half(w->x1, product(&w->layer1, w->right));

        /* So is the second layer, once the oil of the first is known. */
        tables_of(&w->t, w->x1, O1);
        right = gf16_dot_halves(w->of_oil.vector[0], w->t.pair, O1);
        right = _mm_xor_si128(right, quadratic(key->l2_f5[0], &w->t, O1));
        right = _mm_xor_si128(right, w->second);
        gf16_store_half(w->right, _mm_xor_si128(right, gf16_load_half(target + LAYER_BYTES)));
        w->layer2 = w->of_vinegar;
        combine(&w->layer2, key->l2_f6[0][0], w->t.one, O1);
    } while (!invert(&w->layer2));
    gf16_store_half(w->x2, product(&w->layer2, w->right));

    /* The inverse of T. Tables of x1 are in place; vectors over the vinegars have 18 bytes, and the
     * bytes read after them are discarded. */
    __m256i vinegar = gf16_dot(key->t1[0], V1 / 2, w->t.one, O1);
    tables_of(&w->t, w->x2, O2);
    vinegar = _mm256_xor_si256(vinegar, gf16_dot(key->t4[0], V1 / 2, w->t.one, O2));
    gf16_store(w->vinegar, _mm256_xor_si256(vinegar, gf16_load(w->vinegar)));
    memcpy(signature, w->vinegar, V1 / 2);
    gf16_store_half(signature + V1 / 2, _mm_xor_si128(gf16_load_half(w->x1),
                                                      gf16_dot_halves(key->t3[0], w->t.pair, O2)));
    memcpy(signature + (V1 + O1) / 2, w->x2, O2 / 2);
    return 1;
}

int rainbow_sign(uint8_t signature[SIGNATURE_BYTES], const uint8_t *message, size_t message_bytes,
                 const rainbow_secret_key *secret_key) {
    uint8_t digest[HASH_BYTES];
    workspace w = {0};
    rainbow_sha256(digest, message, message_bytes, NULL, 0);
    const int done = sign(signature, digest, secret_key, &w);
    wipe(&w, sizeof w);
    return done;
}
