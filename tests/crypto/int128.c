/* int128.h for 32-bit processors compared with the compiler's 128-bit integers:
 * `int128 <count>` tests a number of random cases, many of them at the bounds. */
#define PQ_WITHOUT_INT128
#include "int128.h"

#include <stdio.h>
#include <stdlib.h>

__extension__ typedef __int128 own;
__extension__ typedef unsigned __int128 bits;

static uint64_t state = 1;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = state ^ state >> 29;
    const uint64_t edges[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, ((uint64_t)1 << 63) - 1, UINT32_MAX};
    const unsigned which = (unsigned)(state >> 59);
    return which < 6 ? edges[which] : word >> (which & 3) * 16;
}

static bits value(int128 x) { return (bits)x.high << 64 | x.low; }

static void same(bits a, bits b, const char *what) {
    if (a != b) {
        fprintf(stderr, "%s is wrong\n", what);
        exit(1);
    }
}

int main(int count, char **words) {
    const long rounds = count == 2 ? atol(words[1]) : 0;
    for (long i = 0; i < rounds; i++) {
        const uint64_t a = next(), b = next(), c = next() | 1;
        const int128 x = {next(), next()}, y = {next(), next()};
        const int by = (int)(next() % 128);
        same(value(int128_unsigned_product(a, b)), (bits)a * b, "unsigned product");
        same(value(int128_multiple((int64_t)a, b)), (bits)(own)(int64_t)a * b, "multiple");
        same(value(int128_product((int64_t)a, (int64_t)b)), (bits)((own)(int64_t)a * (int64_t)b),
             "product");
        same(value(int128_sum(x, y)), value(x) + value(y), "sum");
        same(value(int128_difference(x, y)), value(x) - value(y), "difference");
        same((uint64_t)int128_shifted(x, by), (uint64_t)((own)value(x) >> by), "shift");
        const int128 dividend = {a % c & INT64_MAX, b};
        same(int128_quotient(dividend, c), (uint64_t)(value(dividend) / c), "quotient");
    }
    return rounds > 0 ? 0 : 2;
}
