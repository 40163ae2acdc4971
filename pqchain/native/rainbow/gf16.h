/* GF(16) in vector registers: products by `pshufb`, which looks sixteen values up in a register.
 *
 * Nothing here branches on elements or uses one as an address: a table of products by a secret
 * scalar is itself computed in registers, from logarithms.
 *
 * The field is GF(4)[y]/(y^2 + y + x) over GF(4) = GF(2)[x]/(x^2 + x + 1); the bits of an element
 * are the coefficients of 1, x, y, xy. y generates the multiplicative group.
 */
#ifndef PQCHAIN_RAINBOW_GF16_H
#define PQCHAIN_RAINBOW_GF16_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#define BOTH_LANES(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

/* Logarithms to the base y. That of zero is so large that a sum with it keeps its top bit, for
 * which `pshufb` gives zero. */
enum { LOG_ZERO = 192 };

INLINE __m256i gf16_log(__m256i elements) {
    const __m256i logarithms = BOTH_LANES((char)LOG_ZERO, 0, 5, 10, 1, 4, 2, 8, 6, 13, 9, 7, 11,
                                          12, 3, 14);
    return _mm256_shuffle_epi8(logarithms, elements);
}

/* The elements with the logarithms a + b. */
INLINE __m256i gf16_product_of_logs(__m256i a, __m256i b) {
    const __m256i powers = BOTH_LANES(1, 4, 6, 14, 5, 2, 8, 11, 7, 10, 3, 12, 13, 9, 15, 0);
    const __m256i sum = _mm256_adds_epu8(a, b);
    const __m256i reduced = _mm256_min_epu8(sum, _mm256_sub_epi8(sum, _mm256_set1_epi8(15)));
    return _mm256_shuffle_epi8(powers, reduced);
}

INLINE __m256i gf16_inverse(__m256i elements) {
    const __m256i inverses = BOTH_LANES(0, 1, 3, 2, 15, 12, 9, 11, 10, 6, 8, 7, 5, 14, 13, 4);
    return _mm256_shuffle_epi8(inverses, elements);
}

/* The products of 0 .. 15 by one scalar per lane: as they are, and moved to the high half. */
typedef struct {
    __m256i low, high;
} gf16_table;

INLINE gf16_table gf16_table_of(__m256i scalar) {
    const __m256i all = BOTH_LANES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    gf16_table table;
    table.low = gf16_product_of_logs(gf16_log(all), gf16_log(scalar));
    table.high = _mm256_slli_epi16(table.low, 4);
    return table;
}

/* One table per element of a packed vector. */
INLINE void gf16_tables(gf16_table *tables, const uint8_t *packed, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const int element = packed[i / 2] >> (i % 2 * 4) & 15;
        tables[i] = gf16_table_of(_mm256_set1_epi8((char)element));
    }
}

/* Table i becomes that of elements i and i + 1, one per lane; the last is paired with zero. */
INLINE void gf16_pairs(gf16_table *pairs, const gf16_table *tables, size_t count) {
    const gf16_table zero = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t i = 0; i < count; i++) {
        const gf16_table next = i + 1 < count ? tables[i + 1] : zero;
        pairs[i].low = _mm256_blend_epi32(tables[i].low, next.low, 0xf0);
        pairs[i].high = _mm256_blend_epi32(tables[i].high, next.high, 0xf0);
    }
}

INLINE __m256i gf16_load(const uint8_t *packed) {
    return _mm256_loadu_si256((const __m256i *)(const void *)packed);
}

INLINE __m128i gf16_load_half(const uint8_t *packed) {
    return _mm_loadu_si128((const __m128i *)(const void *)packed);
}

INLINE void gf16_store(uint8_t *packed, __m256i vector) {
    _mm256_storeu_si256((__m256i *)(void *)packed, vector);
}

INLINE void gf16_store_half(uint8_t *packed, __m128i vector) {
    _mm_storeu_si128((__m128i *)(void *)packed, vector);
}

/* sum + vector * scalar, 64 packed elements at once. */
INLINE __m256i gf16_add_product(__m256i sum, __m256i vector, const gf16_table *scalar) {
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i low = _mm256_and_si256(vector, half);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(vector, 4), half);
    return _mm256_xor_si256(sum, _mm256_xor_si256(_mm256_shuffle_epi8(scalar->low, low),
                                                  _mm256_shuffle_epi8(scalar->high, high)));
}

INLINE __m128i gf16_fold(__m256i vector) {
    return _mm_xor_si128(_mm256_castsi256_si128(vector), _mm256_extracti128_si256(vector, 1));
}

/* The sum of vectors, each times its scalar. Each is read with 32 bytes, however short it is. */
INLINE __m256i gf16_dot(const uint8_t *vectors, size_t stride, const gf16_table *scalars,
                        size_t count) {
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i++) {
        sum = gf16_add_product(sum, gf16_load(vectors + i * stride), &scalars[i]);
    }
    return sum;
}

/* The same for an even number of vectors of 16 bytes, two at a time, with the tables of pairs. */
INLINE __m128i gf16_dot_halves(const uint8_t *vectors, const gf16_table *pairs, size_t count) {
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i += 2) {
        sum = gf16_add_product(sum, gf16_load(vectors + i * 16), &pairs[i]);
    }
    return gf16_fold(sum);
}

/* The value of a quadratic map: the sum over i <= j < n of x_i x_j vector(i, j), where a vector has
 * 32 / at_once bytes and `inner` holds the tables of as many neighbours x_j. With two at once the
 * halves of the result are to be added, and 16 bytes after the last vector are read. */
INLINE __m256i gf16_quadratic(const uint8_t *vectors, const gf16_table *outer,
                              const gf16_table *inner, size_t n, size_t at_once) {
    const size_t bytes = 32 / at_once;
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i++) {
        __m256i row = _mm256_setzero_si256();
        for (size_t j = i; j < n; j += at_once) {
            row = gf16_add_product(row, gf16_load(vectors + (j - i) * bytes), &inner[j]);
        }
        sum = gf16_add_product(sum, row, &outer[i]);
        vectors += (n - i) * bytes;
    }
    return sum;
}

/* 32 packed elements, one per byte: those of the low halves first, then those of the high. */
INLINE __m256i gf16_split(__m128i packed) {
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(packed, 4), packed),
                            _mm256_set1_epi8(15));
}

INLINE __m128i gf16_join(__m256i split) {
    return _mm_or_si128(_mm256_castsi256_si128(split),
                        _mm_slli_epi16(_mm256_extracti128_si256(split, 1), 4));
}

/* 32 packed elements, one per byte, in their order; and back. */
INLINE __m256i gf16_unpack(__m128i packed) {
    const __m256i wide = _mm256_cvtepu8_epi16(packed);
    return _mm256_and_si256(_mm256_or_si256(wide, _mm256_slli_epi16(wide, 4)),
                            _mm256_set1_epi8(15));
}

INLINE __m128i gf16_pack(__m256i elements) {
    const __m256i wide = _mm256_maddubs_epi16(elements, _mm256_set1_epi16(16 << 8 | 1));
    return _mm_packus_epi16(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}

#endif
