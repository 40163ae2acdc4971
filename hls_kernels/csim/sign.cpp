// The complete signer as run by the board: recorded requests into falcon_sign, and the same
// requests through falcon_engine step by step. Both must give the recorded response. Requests with
// invalid keys must end, and both interfaces must give the same; `make undefined` checks this under
// the sanitizer for undefined behaviour.
// Arguments: files made by csim/vectors.py.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "bits.h"
#include "falcon_sign.h"
#include "split_signer.h"

using namespace falcon;

// The attempt through falcon_engine; the response is zeros unless its status is STATUS_SIGNED.
static Status by_steps(const uint8_t *request, int16_t *response, unsigned logn) {
    static Workspace work;
    uint64_t commands = 0;
    const unsigned n = 1u << logn;
    memcpy(work.key, request, 4 * n);
    for (unsigned k = 0; k < n; k++) {
        work.target[k] = (uint16_t)(request[4 * n + 2 * k] | request[4 * n + 2 * k + 1] << 8);
    }
    seed_generator(&work.generator, request + 6 * n);
    CommandSteps steps(&work, &commands);
    Status status = STATUS_REFUSED;
    if (sample_point(steps, work.v0, work.v1, logn)) {
        status = close_enough(response, work.target, work.v0, work.v1, logn) ? STATUS_SIGNED
                                                                             : STATUS_RETRY;
    }
    if (status != STATUS_SIGNED) {
        memset(response, 0, sizeof(int16_t) << logn);
    }
    return status;
}

static bool check(const uint8_t *request, const int16_t *expected, unsigned logn) {
    int16_t response[1 << MAX_LOGN];
    uint32_t status = 0, version = 0;
    falcon_sign(request, response, logn, &status, &version);
    return status == STATUS_SIGNED && version == FALCON_SIGN_VERSION &&
           memcmp(response, expected, sizeof(int16_t) << logn) == 0 &&
           by_steps(request, response, logn) == STATUS_SIGNED &&
           memcmp(response, expected, sizeof(int16_t) << logn) == 0;
}

// Whether requests with small, arbitrary, constant and extreme coefficients end alike.
static bool check_invalid(Numbers &numbers, unsigned kind, unsigned logn) {
    const unsigned n = 1u << logn;
    std::vector<uint8_t> request(request_bytes(logn));
    for (unsigned k = 0; k < request.size(); k++) {
        const uint8_t byte = (uint8_t)numbers.next();
        const uint8_t coefficients[] = {0, (uint8_t)(byte % 3 - 1), byte, 127, 128, 1};
        request[k] = k < 4 * n ? coefficients[kind] : k < 6 * n && k % 2 ? byte % 48 : byte;
    }
    int16_t first[1 << MAX_LOGN], second[1 << MAX_LOGN];
    uint32_t status = 0, version = 0;
    falcon_sign(request.data(), first, logn, &status, &version);
    return status == (uint32_t)by_steps(request.data(), second, logn) &&
           memcmp(first, second, sizeof(int16_t) << logn) == 0;
}

int main(int argc, char **argv) {
    unsigned failed = argc < 2;
    for (int index = 1; index < argc; index++) {
        FILE *file = fopen(argv[index], "rb");
        if (file == nullptr) {
            perror(argv[index]);
            return 2;
        }
        uint8_t logn;
        unsigned count = 0, wrong = 0;
        while (fread(&logn, 1, 1, file) == 1 && (logn == 9 || logn == 10)) {
            std::vector<uint8_t> request(request_bytes(logn)), answer(2u << logn);
            int16_t expected[1 << MAX_LOGN];
            if (fread(request.data(), 1, request.size(), file) != request.size() ||
                fread(answer.data(), 1, answer.size(), file) != answer.size()) {
                wrong++;
                break;
            }
            for (unsigned k = 0; k < 1u << logn; k++) {
                expected[k] = (int16_t)(answer[2 * k] | answer[2 * k + 1] << 8);
            }
            count++;
            wrong += !check(request.data(), expected, logn);
        }
        fclose(file);
        printf("sign %s: %u of %u through both interfaces\n", argv[index], count - wrong, count);
        failed += wrong != 0 || count == 0;
    }
    Numbers numbers(40);
    unsigned alike = 0;
    for (unsigned round = 0; round < 24; round++) {
        alike += check_invalid(numbers, round % 6, round < 12 ? 9 : 10);
    }
    printf("sign: %u of 24 invalid keys end alike through both interfaces\n", alike);
    failed += alike != 24;
    // Invalid sizes are rejected, but the version is returned.
    const uint32_t sizes[] = {0, 1, 8, 11, 0xffffffffu};
    for (const uint32_t logn : sizes) {
        uint32_t status = 0, version = 0;
        falcon_sign(nullptr, nullptr, logn, &status, &version);
        failed += status != STATUS_REFUSED || version != FALCON_SIGN_VERSION;
    }
    return failed ? 1 : 0;
}
