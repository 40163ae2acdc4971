/* Verification: compare a value of the public map with the hash of message and salt. */
#include "gf16.h"
#include "rainbow.h"

int rainbow_verify(const uint8_t *message, size_t message_bytes,
                   const uint8_t signature[SIGNATURE_BYTES], const rainbow_public_key *public_key) {
    gf16_table x[N];
    uint8_t digest[HASH_BYTES], expected[HASH_BYTES];

    gf16_tables(x, signature, N);
    const __m256i value = gf16_quadratic(public_key->pair[0], x, x, N, 1);

    rainbow_sha256(digest, message, message_bytes, NULL, 0);
    rainbow_sha256(expected, digest, HASH_BYTES, signature + N / 2, SALT_BYTES);
    const __m256i difference = _mm256_xor_si256(value, gf16_load(expected));
    return _mm256_testz_si256(difference, difference);
}
