/* The checks of whole_key.h. */
#include "whole_key.h"

#include "../int128.h"
#include "falcon_host.h"

#include <sys/random.h>

void falcon_check_start(falcon_key_check *check) {
    check->good = 0;
    if (getrandom(&check->point, sizeof check->point, 0) != (ssize_t)sizeof check->point) {
        check->point = 0;
    }
    check->point >>= 4; /* below 2^61 - 1 */
}

static uint64_t fingerprint(uint64_t point, const uint8_t *key, size_t bytes) {
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    uint64_t hash = 1;
    for (size_t i = 0; i < bytes; i += 7) {
        uint64_t word = 0;
        memcpy(&word, key + i, bytes - i < 7 ? bytes - i : 7);
        const int128 product =
            int128_sum(int128_unsigned_product(hash, point), int128_unsigned_product(word, 1));
        hash = ((uint64_t)int128_shifted(product, 0) & prime) + (uint64_t)int128_shifted(product, 61);
        hash = hash >= prime ? hash - prime : hash;
    }
    return hash + 1; /* never 0, which means none */
}

int falcon_key_is_whole(falcon_key_check *check, const uint8_t *secret_key, unsigned logn) {
    int8_t key[3 * FALCON_MAX_N], capital_g[FALCON_MAX_N];
    const uint64_t seen = check->point != 0 ? fingerprint(check->point, secret_key,
                                                          falcon_secret_key_bytes(logn))
                                            : 0;
    if (seen != 0 && __atomic_load_n(&check->good, __ATOMIC_RELAXED) == seen) {
        return 1;
    }
    const int whole = falcon_decode_secret_key(key, secret_key, logn) == 0 &&
                      falcon_complete_key(capital_g, key, logn) == 0;
    if (whole) {
        __atomic_store_n(&check->good, seen, __ATOMIC_RELAXED);
    }
    falcon_wipe(key, sizeof key);
    falcon_wipe(capital_g, sizeof capital_g);
    return whole;
}
