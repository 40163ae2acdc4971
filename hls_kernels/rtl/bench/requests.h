// Recorded requests, and new messages and seeds for their keys.
#ifndef FALCON_RTL_REQUESTS_H
#define FALCON_RTL_REQUESTS_H

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sign_kernel.h"

typedef std::vector<uint8_t> Request;

// The requests of a file of csim/vectors, without their responses. Exits if there are none.
static inline std::vector<Request> read_requests(const char *path, unsigned logn) {
    std::vector<Request> all;
    Request request(falcon::request_bytes(logn)), response(2u << logn);
    if (FILE *const file = std::fopen(path, "rb")) {
        while (std::fgetc(file) == (int)logn &&
               std::fread(request.data(), 1, request.size(), file) == request.size() &&
               std::fread(response.data(), 1, response.size(), file) == response.size())
            all.push_back(request);
        std::fclose(file);
    }
    if (all.empty()) {
        std::fprintf(stderr, "%s must have requests of degree %u; found none\n", path, 1u << logn);
        std::exit(2);
    }
    return all;
}

template <class Random> void new_message(Request &request, unsigned logn, Random &random) {
    for (unsigned k = 0; k < 1u << logn; k++) {
        const unsigned c = random() % 12289;
        request[(4u << logn) + 2 * k] = c;
        request[(4u << logn) + 2 * k + 1] = c >> 8;
    }
}

template <class Random> void new_seed(Request &request, unsigned logn, Random &random) {
    for (unsigned k = 0; k < falcon::GENERATOR_SEED_BYTES; k++) request[(6u << logn) + k] = random();
}

#endif
