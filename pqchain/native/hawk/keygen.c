/* Key generation (algorithm 13). */
#include "hawk.h"
#include "../shake.h"
#include "tables.h"

#include <stdlib.h>
#include <string.h>

/* f and g must be odd at 1, so that the resultants are, and long enough. */
static int admissible(const pq_hawk_set *set, const int8_t *f, const int8_t *g) {
    uint32_t norm = 0, f_odd = 0, g_odd = 0;
    for (size_t i = 0; i < set->n; i++) {
        norm += (uint32_t)(f[i] * f[i] + g[i] * g[i]);
        f_odd ^= (uint32_t)f[i];
        g_odd ^= (uint32_t)g[i];
    }
    return (f_odd & g_odd & 1) != 0 && norm > set->key_norm;
}

/* Both to their values modulo a prime. */
static void transform_pair(const pq_hawk_set *set, uint32_t *a, uint32_t *b, const int8_t *x,
                           const int8_t *y, const pq_hawk_prime *prime) {
    for (size_t i = 0; i < set->n; i++) {
        a[i] = pq_hawk_mod_set(x[i], prime->p);
        b[i] = pq_hawk_mod_set(y[i], prime->p);
    }
    pq_hawk_mod_transform(set, a, prime);
    pq_hawk_mod_transform(set, b, prime);
}

/* a c* + b d* for values a .. d modulo the first prime; the result is exact, being below p / 2. */
static void inner_product(const pq_hawk_set *set, int32_t *result, const uint32_t *a,
                          const uint32_t *b, const uint32_t *c, const uint32_t *d) {
    const pq_hawk_prime *prime = &pq_hawk_primes[0];
    uint32_t sum[PQ_HAWK_N_MAX];
    for (size_t i = 0; i < set->n; i++) {
        const size_t adjoint = set->n - 1 - i;
        sum[i] = pq_hawk_mod_add(pq_hawk_mod_multiply(a[i], c[adjoint], prime),
                              pq_hawk_mod_multiply(b[i], d[adjoint], prime), prime->p);
    }
    pq_hawk_mod_transform_back(set, sum, prime);
    for (size_t i = 0; i < set->n; i++) {
        result[i] = (int32_t)(sum[i] > prime->p / 2 ? sum[i] - prime->p : sum[i]);
    }
}

/* q00 has no zero at any root modulo the two primes of the verifier. */
static int invertible(const pq_hawk_set *set, const int32_t *q00) {
    uint32_t a[PQ_HAWK_N_MAX];
    for (unsigned k = 0; k < PQ_HAWK_PRIMES; k++) {
        for (size_t i = 0; i < set->n; i++) {
            a[i] = pq_hawk_mod_set(q00[i], pq_hawk_primes[k].p);
        }
        pq_hawk_mod_transform(set, a, &pq_hawk_primes[k]);
        for (size_t i = 0; i < set->n; i++) {
            if (a[i] == 0) {
                return 0;
            }
        }
    }
    return 1;
}

/* The constant term of 1/q00 is below beta_0: the mean of 1/q00 over the roots, in fixed point. */
static int well_rounded(const pq_hawk_set *set, const int32_t *q00) {
    enum { POINT = 22 }; /* bits behind the point of q00 at a root */
    pq_hawk_points z;
    const size_t half = set->n / 2;
    uint64_t sum = 0;
    for (size_t i = 0; i < half; i++) {
        z.re[i] = (int64_t)q00[i] * ((int64_t)1 << (POINT + set->log_n - 1));
        z.im[i] = (int64_t)q00[i + half] * ((int64_t)1 << (POINT + set->log_n - 1));
    }
    pq_hawk_points_transform(&z, half);
    for (size_t i = 0; i < half; i++) {
        if (z.re[i] <= 0) {
            return 0;
        }
        sum += (uint64_t)(INT64_MAX / z.re[i]);
    }
    /* sum 2 inverse_beta 2^POINT < n 2^63, in numbers that 64 bits hold */
    return sum <= (((uint64_t)set->n << (63 - POINT)) - 1) / (2 * (uint64_t)set->inverse_beta);
}

/* Values modulo a prime, and the key: too large for the stack of a small thread. */
typedef struct {
    uint32_t f[PQ_HAWK_N_MAX], g[PQ_HAWK_N_MAX], F[PQ_HAWK_N_MAX], G[PQ_HAWK_N_MAX];
    int32_t q00[PQ_HAWK_N_MAX], q01[PQ_HAWK_N_MAX], q11[PQ_HAWK_N_MAX];
} key_values;

/* A key pair from a seed, or 0 if the seed gives none. */
static int from_seed(const pq_hawk_set *set, uint8_t *public_key, uint8_t *secret_key,
                     const uint8_t *seed, key_values *values, pq_hawk_workspace *work) {
    const size_t n = set->n;
    int8_t f[PQ_HAWK_N_MAX], g[PQ_HAWK_N_MAX], F[PQ_HAWK_N_MAX], G[PQ_HAWK_N_MAX];
    uint32_t *const fv = values->f, *const gv = values->g, *const Fv = values->F;
    uint32_t *const Gv = values->G;
    int32_t *const q00 = values->q00, *const q01 = values->q01, *const q11 = values->q11;
    uint64_t bits[PQ_HAWK_N_MAX / 64];
    pq_shake shake;

    pq_hawk_regenerate(set, f, g, seed);
    if (!admissible(set, f, g)) {
        return 0;
    }
    transform_pair(set, fv, gv, f, g, &pq_hawk_primes[0]);
    inner_product(set, q00, fv, gv, fv, gv);
    if (!invertible(set, q00) || !well_rounded(set, q00) ||
        !pq_hawk_ntru_solve(set, F, G, f, g, work)) {
        return 0;
    }
    transform_pair(set, Fv, Gv, F, G, &pq_hawk_primes[0]);
    for (size_t i = 0; i < n; i++) { /* whatever the solver did: f G - g F is 1 */
        const uint32_t one =
            pq_hawk_mod_subtract(pq_hawk_mod_multiply(fv[i], Gv[i], &pq_hawk_primes[0]),
                                 pq_hawk_mod_multiply(gv[i], Fv[i], &pq_hawk_primes[0]),
                                 pq_hawk_primes[0].p);
        if (one != pq_hawk_primes[0].inverse_r) {
            return 0;
        }
    }
    inner_product(set, q01, Fv, Gv, fv, gv);
    inner_product(set, q11, Fv, Gv, Fv, Gv);
    for (size_t i = 1; i < n; i++) {
        if (q11[i] >= 1 << set->high_11 || q11[i] <= -(1 << set->high_11)) {
            return 0;
        }
    }
    if (!pq_hawk_encode_public(set, public_key, q00, q01)) {
        return 0;
    }
    uint8_t *to = secret_key;
    memcpy(to, seed, set->seed_bytes);
    to += set->seed_bytes;
    pq_hawk_parity(set, bits, F);
    pq_hawk_store_bits(set, to, bits);
    pq_hawk_parity(set, bits, G);
    pq_hawk_store_bits(set, to + n / 8, bits);
    pq_shake_start(&shake);
    pq_shake_absorb(&shake, public_key, set->public_key_bytes);
    pq_shake_finish(&shake);
    pq_shake_squeeze(&shake, to + n / 4, set->public_hash_bytes);
    return 1;
}

int pq_hawk_keypair(const pq_hawk_set *set, uint8_t *public_key, uint8_t *secret_key,
                 pq_hawk_random_fn random_bytes) {
    uint8_t seed[40];
    key_values *values = malloc(sizeof *values);
    pq_hawk_workspace *work = malloc(pq_hawk_workspace_bytes());
    const int has_memory = values != NULL && work != NULL;
    if (has_memory) {
        do {
            random_bytes(seed, set->seed_bytes);
        } while (!from_seed(set, public_key, secret_key, seed, values, work));
    }
    free(values);
    free(work);
    return has_memory;
}
