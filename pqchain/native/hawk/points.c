/* The complex transform in 64-bit fixed point, for key generation. */
#include "tables.h"

void pq_hawk_points_transform(pq_hawk_points *z, size_t count) {
    for (size_t m = 1, half = count / 2; m < count; m *= 2, half /= 2) {
        for (size_t u = 0; u < m; u++) {
            const int64_t c = pq_hawk_cos62[m + u], s = pq_hawk_sin62[m + u];
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                const size_t j = i + half;
                const int64_t x = pq_hawk_products62(z->re[j], c, -z->im[j], s);
                const int64_t y = pq_hawk_products62(z->re[j], s, z->im[j], c);
                z->re[j] = (z->re[i] - x) >> 1;
                z->im[j] = (z->im[i] - y) >> 1;
                z->re[i] = (z->re[i] + x) >> 1;
                z->im[i] = (z->im[i] + y) >> 1;
            }
        }
    }
}

void pq_hawk_points_transform_back(pq_hawk_points *z, size_t count) {
    for (size_t m = count / 2, half = 1; m > 0; m /= 2, half *= 2) {
        for (size_t u = 0; u < m; u++) {
            const int64_t c = pq_hawk_cos62[m + u], s = pq_hawk_sin62[m + u];
            for (size_t i = 2 * u * half; i < (2 * u + 1) * half; i++) {
                const size_t j = i + half;
                const int64_t x = (z->re[i] - z->re[j]) >> 1, y = (z->im[i] - z->im[j]) >> 1;
                z->re[i] = (z->re[i] + z->re[j]) >> 1;
                z->im[i] = (z->im[i] + z->im[j]) >> 1;
                z->re[j] = pq_hawk_products62(x, c, y, s);
                z->im[j] = pq_hawk_products62(y, c, -x, s);
            }
        }
    }
}
