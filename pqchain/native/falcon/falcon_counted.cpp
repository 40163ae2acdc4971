// The signer once more, compiled so that it counts its operations.
#define FALCON_CENSUS
#include "falcon_study.h"

#include <memory>
#include <new>

#include "falcon_host.h"
#include "sign_kernel.h"

namespace falcon_counted {
thread_local Census census;
thread_local Phase phase;
}  // namespace falcon_counted

using namespace falcon_counted;

int64_t falcon_census(const uint8_t *request, uint64_t *counts, int64_t logn) {
    std::unique_ptr<Workspace> work(new (std::nothrow) Workspace);
    if (!work) {
        return FALCON_NO_MEMORY;
    }
    int16_t s2[FALCON_MAX_N];
    memset(&census, 0, sizeof census);
    phase = OTHER;
    const Status status = sign_attempt(work.get(), request, s2, (unsigned)logn);
    memcpy(counts, census.operations, sizeof census.operations);
    counts += PHASES * OPERATIONS;
    counts[0] = census.samples;
    counts[1] = census.attempts;
    counts[2] = census.acceptance_bytes;
    counts[3] = census.generator_blocks;
    falcon_wipe(work.get(), sizeof *work);
    falcon_wipe(s2, sizeof s2);
    return status;
}
