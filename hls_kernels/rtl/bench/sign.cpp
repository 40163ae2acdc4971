// Complete attempts compared with the C++ kernel: the recorded requests, also with other targets and
// seeds. Prints cycles.
//   sign <attempts per degree> <recorded 512> <recorded 1024>
#include "chip.h"
#include "falcon_sign.h"
#include "requests.h"

using namespace falcon;
static const uint64_t MOST = 5'000'000;  // cycles; these requests have valid keys
static Chip chip;
static std::vector<uint8_t> device(1 << 16);
static const uint64_t ORIGIN = 0x10000000, ANSWER = ORIGIN + 0x4000;

struct Outcome {
    uint32_t status;
    std::vector<int16_t> response;
    uint64_t cycles;
};

static Outcome attempt(const Request &request, unsigned logn) {
    std::memset(device.data(), 0x55, device.size());
    std::memcpy(device.data(), request.data(), request.size());
    chip.start(ORIGIN, ANSWER, logn);
    const uint64_t cycles = chip.run(MOST);
    Outcome out{0, std::vector<int16_t>(1u << logn), cycles};
    if (!(chip.read(CTRL) & 2)) return out;
    out.status = chip.read(STATUS);
    std::memcpy(out.response.data(), device.data() + 0x4000, 2u << logn);
    return out;
}

static bool same(const Request &request, unsigned logn, Outcome &got) {
    std::vector<int16_t> want(1u << logn);
    uint32_t status, version;
    falcon_sign(request.data(), want.data(), logn, &status, &version);
    got = attempt(request, logn);
    return got.status == status && got.response == want && chip.read(VERSION) == version;
}

int main(int argc, char **argv) {
    if (argc != 4) return std::fprintf(stderr, "sign <attempts> <recorded 512> <recorded 1024>\n"), 2;
    chip.bus.map(ORIGIN, device.data(), device.size());
    std::mt19937_64 random(11);
    unsigned wrong = 0;
    for (unsigned logn : {9u, 10u}) {
        const unsigned n = 1u << logn;
        const auto requests = read_requests(argv[logn - 7], logn);
        uint64_t total = 0, least = ~0ull, most = 0;
        const unsigned attempts = std::atoi(argv[1]);
        for (unsigned k = 0; k < attempts; k++) {
            auto request = requests[k % requests.size()];
            if (k >= requests.size()) {
                new_message(request, logn, random);
                new_seed(request, logn, random);
            }
            Outcome got;
            if (!same(request, logn, got)) {
                wrong++;
                std::printf("  attempt %u of %u: status %u, differs\n", k, n, got.status);
            }
            total += got.cycles;
            least = got.cycles < least ? got.cycles : least;
            most = got.cycles > most ? got.cycles : most;
        }
        std::printf("n %4u: %u attempts; cycles mean %.0f, least %lu, most %lu\n", n, attempts,
                    (double)total / attempts, (unsigned long)least, (unsigned long)most);
    }
    for (const std::string &what : chip.bus.violations) std::printf("  AXI: %s\n", what.c_str());
    wrong += chip.bus.violations.size();
    std::printf("sign: %s\n", wrong ? "FAILED" : "all equal to the C++ kernel");
    return wrong != 0;
}
