// SamplerZ against recorded answers: lines of centre, deviation, sigma_min, bytes in hexadecimal,
// the sample. The nine bytes of a base draw have the most significant one first, unlike the order
// of the generator; single bytes are in order. Exactly these bytes must be used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler.h"

using namespace falcon;

int main(int argc, char **argv) {
    unsigned failed = argc < 2;
    static char hex[4096];
    for (int index = 1; index < argc; index++) {
        FILE *file = fopen(argv[index], "r");
        if (file == nullptr) {
            perror(argv[index]);
            return 2;
        }
        char mu[64], sigma[64], sigmin[64];
        long expected;
        unsigned count = 0, right = 0;
        while (fscanf(file, "%63s %63s %63s %4095s %ld", mu, sigma, sigmin, hex, &expected) == 5) {
            uint8_t octets[2048];
            const size_t bytes = strlen(hex) / 2;
            for (size_t k = 0; k < bytes; k++) {
                const char two[3] = {hex[2 * k], hex[2 * k + 1], 0};
                octets[k] = (uint8_t)strtoul(two, nullptr, 16);
            }
            Sampler sampler;
            begin_sample(&sampler, strtod(mu, nullptr), 1.0 / strtod(sigma, nullptr),
                         strtod(sigmin, nullptr));
            Verdict verdict = REJECTED;
            size_t used = 0;
            while (verdict != ACCEPTED && used + 11 <= bytes) {
                const uint8_t *at = octets + used;
                used += 11;
                uint64_t low = 0;
                for (unsigned k = 1; k < 9; k++) {
                    low = low << 8 | at[k];
                }
                verdict = attempt(&sampler, low, at[0], at[9], at[10]);
                while (verdict == UNDECIDED && used < bytes) {
                    verdict = compare_byte(&sampler, octets[used++]);
                }
            }
            count++;
            right += verdict == ACCEPTED && used == bytes && sample_value(&sampler) == expected;
        }
        fclose(file);
        printf("sampler %s: %u of %u\n", argv[index], right, count);
        failed += right != count || count == 0;
    }
    return failed ? 1 : 0;
}
