// Registers and bus: the protocol of Vitis HLS, back-pressure, unusual addresses, errors of every
// transfer; invalid keys; and that no state of the engine depends on a key after an attempt.
//   protocol <recorded 512> <recorded 1024> [quick]      quick: degree 512, to the first failure
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "chip.h"
#include "falcon_sign.h"
#include "requests.h"
#include "stores.h"
#include "verilated_save.h"

using namespace falcon;
static Chip chip;
static std::vector<uint8_t> device(1 << 17);
static const uint64_t ORIGIN = 0x10000000;
static const uint64_t MOST = 10'000'000;    // cycles; five times the longest attempt here
static unsigned failed, checks;
static bool quick;

static void expect(bool good, const char *what, long value = 0) {
    checks++;
    if (good) return;
    if (failed++ < 20) std::printf("  %s (%ld)\n", what, value);
    if (quick) std::exit(1);
}

// Run to the end of an attempt, when all storage must be zero. `fill`: when wiping begins, set every
// word to ones, so that none is zero without wiping.
static void finish(bool fill) {
    Vfalcon_sign &u = chip.u;
    for (uint64_t k = 0; k < MOST && chip.running() && !INSIDE(wipe); k++) chip.tick();
    if (chip.running() && !INSIDE(wipe))
        std::exit((std::printf("  no end after %lu cycles\n", (unsigned long)MOST), 1));
    if (fill && INSIDE(wipe))
        stores(u, [&](const char *, auto &array) {
            std::fill(std::begin(array.m_storage), std::end(array.m_storage), 1);
        });
    chip.run(MOST);
    stores(u, [&](const char *name, const auto &array) {
        expect(nonzero_in(array) == 0, name, nonzero_in(array));
    });
}

#ifdef RTL_COVERAGE
// Verilator 5.006 cannot save a model that counts coverage, so this is the content of the memories.
static std::string state() {
    std::string text;
    stores(chip.u, [&](const char *, auto &array) {
        text.append((const char *)std::begin(array.m_storage), sizeof array.m_storage);
    });
    return text;
}
#else
// The complete state of the netlist except the cycle counter.
static std::string state() {
    const Vfalcon_sign &u = chip.u;
    const auto cycles = INSIDE(u_control__DOT__cycles);
    INSIDE(u_control__DOT__cycles) = 0;
    VerilatedSave file;
    std::string path = (std::filesystem::temp_directory_path() / "falcon_rtl_XXXXXX").string();
    close(mkstemp(path.data()));
    file.open(path.c_str());
    file << chip.u;
    file.close();
    INSIDE(u_control__DOT__cycles) = cycles;
    std::string text;
    FILE *back = std::fopen(path.c_str(), "rb");
    for (int c; (c = std::fgetc(back)) != EOF;) text.push_back(c);
    std::fclose(back);
    std::remove(path.c_str());
    return text;
}
#endif

struct Result {
    uint32_t status;
    bool ended, zeros, equal, untouched;
    uint64_t cycles;
    std::string left;   // unless it was filled: the state when the register reports done
};

// One attempt at these offsets; `equal`: the response is the C++ kernel's.
static Result attempt(const Request &request, unsigned logn, const Manners &manners,
                      uint64_t ask = 0, uint64_t answer = 0x8000, bool fill = true) {
    const unsigned n = 1u << logn;
    std::vector<int16_t> want(n), got(n);
    uint32_t status, version;
    falcon_sign(request.data(), want.data(), logn, &status, &version);
    std::memset(device.data(), 0x55, device.size());
    std::memcpy(device.data() + ask, request.data(), request.size());
    chip.bus.behave(manners);
    chip.start(ORIGIN + ask, ORIGIN + answer, logn);
    Result out{};
    const uint64_t begin = chip.cycles;
    finish(fill);
    out.cycles = chip.cycles - begin;
    out.ended = chip.read(CTRL) & 2;
    if (!fill) out.left = state();
    out.status = chip.read(STATUS);
    std::memcpy(got.data(), device.data() + answer, 2 * n);
    out.equal = out.status == status && got == want;
    out.zeros = out.untouched = true;
    for (int16_t x : got) out.zeros &= x == 0, out.untouched &= x == 0x5555;
    // only the response was written
    for (unsigned k = 0; k < device.size(); k++)
        if ((k < ask || k >= ask + request.size()) && (k < answer || k >= answer + 2 * n))
            expect(device[k] == 0x55, "a byte beside the response was written", k);
    return out;
}

static void registers() {
    expect(chip.read(CTRL) == 4, "idle after a reset", chip.read(CTRL));
    for (unsigned at : {0x10u, 0x14u, 0x1cu, 0x20u, 0x28u}) {
        chip.write(at, 0xffffffff);
        chip.write(at, 0x12345678, 5);
        expect(chip.read(at) == 0xff34ff78, "strobes", at);
        chip.write(at, 0);
        expect(chip.read(at) == 0, "read back", at);
    }
    chip.write(ABORT, 1);
    expect(chip.read(ABORT) == 0, "nothing to abort");
    chip.write(0x04, 1);
    chip.write(0x08, 3);
    for (uint32_t logn : {0u, 1u, 8u, 11u, 265u, 0xffffffffu}) {
        chip.write(LOGN, logn);
        chip.write(CTRL, 1);
        chip.run(1000);
        expect(chip.u.__SYM__interrupt, "an interrupt", logn);
        expect(chip.read(0x0c) == 3, "both interrupts are pending", logn);
        chip.write(0x0c, 3);
        expect(!chip.u.__SYM__interrupt, "writing ones takes it back", logn);
        expect(chip.read(CTRL) == 14, "done, idle, ready", logn);
        expect(chip.read(CTRL) == 4, "reading clears them", logn);
        expect(chip.read(STATUS) == STATUS_REFUSED, "another degree is refused", logn);
        expect(chip.read(0x34) == 1 && chip.read(0x34) == 0, "status is new once", logn);
        expect(chip.read(VERSION) == FALCON_SIGN_VERSION, "the version", logn);
        expect(chip.read(CYCLES) < 10, "at once", logn);
    }
    // either half of a write first, responses that wait
    for (unsigned order = 0; order < 8; order++) {
        chip.late_address = order & 1 ? 3 : 0;
        chip.late_data = order & 2 ? 5 : 0;
        chip.late_ready = order & 4 ? 4 : 0;
        chip.write(RESPONSE, 0x1234567 * order);
        expect(chip.read(RESPONSE) == 0x1234567 * order, "written in another order", order);
    }
    chip.late_address = chip.late_data = chip.late_ready = 0;
    // starts soon after the end of the attempt before
    for (unsigned gap = 0; gap < 10; gap++) {
        chip.write(CTRL, 1);
        chip.run(1000);
        for (unsigned k = 0; k < gap; k++) chip.tick();
    }
    expect(chip.read(0x0c) == 3 && chip.read(STATUS) == STATUS_REFUSED, "starts in a row");
    chip.write(0x0c, 3);
    chip.read(CTRL);
    chip.write(0x08, 1);
    chip.write(CTRL, 1);
    chip.run(1000);
    expect(chip.read(0x0c) == 1, "only the enabled interrupt is pending");
    chip.write(0x04, 0);
    expect(!chip.u.__SYM__interrupt, "pending, but interrupts are off");
    chip.write(0x0c, 1);
    chip.write(0x08, 0);
    chip.read(CTRL);
    expect(chip.bus.bursts == 0, "no traffic for a refusal", chip.bus.bursts);
}

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "protocol <recorded 512> <recorded 1024> [quick]\n"), 2;
    quick = argc > 3;
    chip.bus.map(ORIGIN, device.data(), device.size());
    std::mt19937_64 rng(23);
    registers();
    const Request requests[2] = {read_requests(argv[1], 9).front(), read_requests(argv[2], 10).front()};
    const auto with_seed = [&](unsigned logn) {
        auto request = requests[logn - 9];
        new_seed(request, logn, rng);
        return request;
    };

    // back-pressure, delays, and bursts that begin anywhere in a block or at a page's end
    for (unsigned stall : {0u, 64u, 200u})
        for (unsigned delay : {0u, 1u, 40u}) {
            if (quick && (stall + delay) % 3) continue;
            const uint64_t ask = 4 * (rng() % 1024), answer = 0x8000 + 4 * (rng() % 1024);
            const Result r = attempt(with_seed(9), 9, {delay, stall, -1, -1, -1, rng()}, ask, answer);
            expect(r.ended && r.equal, "with back-pressure", stall);
        }
    for (uint64_t odd : {0xffcull, 0xfc4ull, 0x1000ull}) {
        const Result r = attempt(requests[0], 9, {}, odd, 0x8000 + odd);
        expect(r.ended && r.equal, "near a page's end", odd);
    }
    // alternating degrees; arguments and start bits during a run have no effect
    for (unsigned logn : {10u, 9u, 10u}) {
        if (quick && logn == 10) continue;
        const Result r = attempt(with_seed(logn), logn, {});
        expect(r.ended && r.equal, "degrees in turn", logn);
    }
    {
        std::vector<int16_t> want(512);
        uint32_t status, version;
        falcon_sign(requests[0].data(), want.data(), 9, &status, &version);
        std::memcpy(device.data(), requests[0].data(), requests[0].size());
        chip.bus.behave({});
        chip.start(ORIGIN, ORIGIN + 0x8000, 9);
        const uint64_t begin = chip.cycles;
        for (int k = 0; k < 20; k++) {
            for (int wait = 0; wait < 10000; wait++) chip.tick();
            chip.write(LOGN, 10);
            chip.write(REQUEST, 0);
            chip.write(RESPONSE, 0);
            chip.write(CTRL, 1);
            expect(chip.read(CTRL) == 1, "busy", k);
        }
        chip.run(MOST);
        expect(std::memcmp(want.data(), device.data() + 0x8000, 1024) == 0, "disturbed in mid-run");
        expect(chip.read(CTRL) == 14 && chip.read(STATUS) == status, "disturbed, status");
        const long off = (long)(chip.cycles - begin) - (long)chip.read(CYCLES);
        expect(std::labs(off) < 100, "disturbed, cycles: off by", off);
    }
    // addresses that are not multiples of four
    for (unsigned odd = 1; odd < 4; odd++) {
        chip.start(ORIGIN + odd, ORIGIN + 0x8000, 9);
        chip.run(100);
        expect(chip.read(CTRL) == 14 && chip.read(STATUS) == STATUS_REFUSED, "odd request", odd);
        chip.start(ORIGIN, ORIGIN + 0x8000 + odd, 9);
        chip.run(100);
        expect(chip.read(CTRL) == 14 && chip.read(STATUS) == STATUS_REFUSED, "odd response", odd);
    }

    // errors: seed, key, target, the target's second reading; each burst of the response
    const int words = 14 + 4 * 128 + 256 + 256;
    std::vector<int> places = {0, 13, 14, 29, 141, words - 1};
    for (int k = 0; k < (quick ? 2 : 12); k++) places.push_back(rng() % words);
    for (int place : places)
        for (int kind = 0; kind < 2; kind++) {
            Manners manners;
            manners.stall = place % 2 * 60;
            (kind ? manners.odd_last : manners.fail_read) = place;
            const Result r = attempt(requests[0], 9, manners);
            expect(r.ended && r.status == 4, kind ? "an odd last word" : "a failed read", place);
            expect(r.untouched, "the response stays untouched", place);
            expect(chip.bus.words_after_error == 0, "no burst after an error", place);
        }
    for (int burst : {0, 3, 15}) {
        Manners manners;
        manners.fail_write = burst;
        const Result r = attempt(requests[0], 9, manners);
        expect(r.ended && r.status == 4, "a failed write", burst);
        expect(chip.bus.words_after_error == 0, "no burst after a failed write", burst);
    }
    chip.bus.behave({});
    chip.start(ORIGIN + 0x40000000, ORIGIN, 9);
    chip.run(MOST);
    expect(chip.read(CTRL) == 14 && chip.read(STATUS) == 4, "an address where no memory is");
    {
        const Result r = attempt(requests[0], 9, {});
        expect(r.ended && r.equal, "an attempt after errors");
    }

    // invalid keys: the status is the C++ kernel's, and the attempt ends
    uint64_t longest = 0;
    for (int kind = 0; kind < 8; kind++)
        for (unsigned logn : {9u, 10u}) {
            if (quick && logn == 10) continue;
            Request request(request_bytes(logn));
            const unsigned n = 1u << logn;
            for (uint8_t &byte : request) {
                const uint8_t forms[] = {0, (uint8_t)(rng() % 3 - 1), (uint8_t)rng(),
                                         (uint8_t)(rng() % 13 - 6), 127, 128,
                                         (uint8_t)(rng() % 41 - 20), 1};
                byte = forms[kind];
            }
            if (kind > 2) new_message(request, logn, rng);
            new_seed(request, logn, rng);
            std::vector<int16_t> want(n);
            uint32_t status, version;
            falcon_sign(request.data(), want.data(), logn, &status, &version);
            const Result r = attempt(request, logn, {});
            expect(r.ended && r.status == status, "no key: the status", kind * 16 + logn);
            expect(r.status == STATUS_SIGNED || r.zeros, "no key: zeros", kind * 16 + logn);
            longest = r.cycles > longest ? r.cycles : longest;
        }

    // after the end no bit of the netlist depends on key, message or seed
    for (unsigned logn : {9u, 10u}) {
        if (quick && logn == 10) continue;
        const unsigned n = 1u << logn;
        const std::string one = attempt(requests[logn - 9], logn, {}, 0, 0x8000, false).left;
        auto other = with_seed(logn);
        for (unsigned k = 0; k < n; k++) {  // -f, -g, -F, -G is a key too
            for (unsigned part = 0; part < 4; part++) other[part * n + k] = -other[part * n + k];
            other[4 * n + 2 * k] ^= rng() & 63;
        }
        const Result r = attempt(other, logn, {}, 0, 0x8000, false);
        expect(r.ended && r.equal && r.status == STATUS_SIGNED, "with the other key", logn);
        const std::string &two = r.left;
        unsigned differ = one.size() != two.size();
        for (size_t k = 0; k < one.size() && k < two.size(); k++) differ += one[k] != two[k];
        expect(differ == 0, "bytes of the netlist's state that depend on the key", differ);
        // the comparison detects a remaining key: there is one during a run
        std::memcpy(device.data(), other.data(), other.size());
        chip.start(ORIGIN, ORIGIN + 0x8000, logn);
        chip.run(100000);
        const std::string amid = state();
        unsigned seen = 0;
        for (size_t k = 0; k < one.size(); k++) seen += one[k] != amid[k];
        expect(seen > 1000, "a run in its middle differs", seen);
        chip.run(MOST);
        chip.read(CTRL);
        // nor after a reset in the middle of a run, before the sampler makes the times differ
        std::string after_reset[2];
        for (int key = 0; key < 2; key++) {
            const auto &request = key ? other : requests[logn - 9];
            std::memcpy(device.data(), request.data(), request.size());
            chip.start(ORIGIN, ORIGIN + 0x8000, logn);
            chip.run(40000);
            chip.reset(4);
            for (unsigned k = 0; k < Chip::WIPE_CYCLES; k++) chip.tick();
            after_reset[key] = state();
        }
        expect(after_reset[0] == after_reset[1], "state after a reset depends on the key", logn);
    }
    for (const std::string &what : chip.bus.violations) expect(false, what.c_str());
    std::printf("protocol: %u checks, %s; longest refusal or retry %lu cycles\n", checks,
                failed ? "FAILED" : "all good", (unsigned long)longest);
    return failed != 0;
}
