// The expanded key between attempts: the same signatures as with the key in the request, also for
// requests without a key; wiped on command, by a reset, an abort and every failure.
//   key <attempts per degree> <recorded 512> <recorded 1024>
#include "chip.h"
#include "falcon_sign.h"
#include "requests.h"
#include "stores.h"

using namespace falcon;
static Chip chip;
static std::vector<uint8_t> device(1 << 16);
static Request recorded[2];
static const uint64_t ORIGIN = 0x10000000, RESPONSE_AT = 0x8000, MOST = 10'000'000;
static const unsigned KEEP = 1, USE = 3, KEPT = 4;
static std::mt19937_64 rng(40);
static unsigned failed, checks;

static void expect(bool good, const char *what, long value = 0) {
    checks++;
    if (!good && failed++ < 20) std::printf("  %s (%ld)\n", what, value);
}

struct Result {
    uint32_t status;
    bool ended, equal;
    uint64_t cycles;
};

// An attempt with a new message and seed; without `with_key`, the bytes of the key are ones. `until`:
// abort after that many cycles.
static Result attempt(unsigned logn, bool with_key, uint64_t until = MOST) {
    const unsigned n = 1u << logn;
    auto request = recorded[logn - 9];
    new_message(request, logn, rng);
    new_seed(request, logn, rng);
    std::vector<int16_t> want(n), got(n);
    uint32_t status, version;
    falcon_sign(request.data(), want.data(), logn, &status, &version);
    if (!with_key) std::memset(request.data(), 1, 4 * n);
    std::memcpy(device.data(), request.data(), request.size());
    chip.start(ORIGIN, ORIGIN + RESPONSE_AT, logn);
    const uint64_t begin = chip.cycles;
    chip.run(until);
    if (chip.running()) chip.write(ABORT, 1);
    chip.run(MOST);
    Result out{0, (chip.read(CTRL) & 2) != 0, false, chip.cycles - begin};
    out.status = chip.read(STATUS);
    std::memcpy(got.data(), device.data() + RESPONSE_AT, 2 * n);
    out.equal = out.status == status && got == want;
    return out;
}

static void expect_wiped(const char *what) {
    for (unsigned k = 0; k < Chip::WIPE_CYCLES; k++) chip.tick();
    expect(nonzero_words(chip.u) == 0, what, nonzero_words(chip.u));
    expect(!(chip.read(REGISTER_KEY) & KEPT), what);
}

static void keep(unsigned logn) {
    chip.write(REGISTER_KEY, KEEP);
    const Result r = attempt(logn, true);
    expect(r.ended && r.equal && r.status == STATUS_SIGNED, "attempt that keeps the key", logn);
    expect(chip.read(REGISTER_KEY) == (KEEP | KEPT), "a key is kept", logn);
    chip.write(REGISTER_KEY, USE);
}

int main(int argc, char **argv) {
    if (argc != 4) return std::fprintf(stderr, "key <attempts> <recorded 512> <recorded 1024>\n"), 2;
    chip.bus.map(ORIGIN, device.data(), device.size());
    for (unsigned logn : {9u, 10u}) recorded[logn - 9] = read_requests(argv[logn - 7], logn).front();
    chip.write(REGISTER_KEY, KEEP);
    if (!KEEPS_KEY) {
        expect(chip.read(REGISTER_KEY) == 0, "no memory for a key");
        expect(attempt(9, true).equal, "the register changes nothing");
        expect_wiped("words without a kept key");
        std::printf("key: no memory for it, %s\n", failed ? "FAILED" : "all right");
        return failed != 0;
    }
    for (unsigned logn : {9u, 10u}) {
        keep(logn);
        long words = nonzero_words(chip.u), values = (long)(logn + 5) << logn;
        // zeros of the basis are rare, and imaginary parts of the top's l10 are not zero
        expect(words > values * 9 / 10 && words <= values, "words of basis and tree", words);
        uint64_t least = MOST, most = 0;
        for (int k = 0; k < std::atoi(argv[1]); k++) {
            const Result r = attempt(logn, k % 2);
            expect(r.ended && r.equal, "attempt with the kept key", k);
            least = std::min(least, r.cycles), most = std::max(most, r.cycles);
            expect(nonzero_words(chip.u) == words, "other words than the key's", nonzero_words(chip.u));
        }
        std::printf("n %4u: %s attempts with the kept key, cycles %lu to %lu\n", 1u << logn, argv[1],
                    (unsigned long)least, (unsigned long)most);
        Result r = attempt(19 - logn, true);
        expect(r.status == STATUS_REFUSED && r.cycles < 10, "use of a key of the other degree", r.status);
        expect(attempt(logn, false).equal, "after the refusal");
        chip.write(REGISTER_KEY, 0);
        expect_wiped("words after the command");
        chip.write(REGISTER_KEY, USE);
        r = attempt(logn, true);
        expect(r.status == STATUS_REFUSED && r.cycles < 10, "use without a key", r.status);
        // a start while the key is wiped waits
        keep(logn);
        chip.write(REGISTER_KEY, 0);
        chip.write(REGISTER_KEY, KEEP);
        expect(attempt(19 - logn, true).equal, "a start while wiping");
        expect(chip.read(REGISTER_KEY) == (KEEP | KEPT), "the other key is kept", logn);
        chip.write(REGISTER_KEY, 0);
        expect_wiped("words of the other key");
        // a reset, at rest and in a run; an abort at any time, also while the last words are wiped
        keep(logn);
        chip.reset(2);
        expect_wiped("words after a reset");
        for (int k = 0; k < 24; k++) {
            keep(logn);
            const bool use = k % 2;
            const uint64_t usual = use ? least : 2 * least;
            if (!use) chip.write(REGISTER_KEY, KEEP);
            r = attempt(logn, !use, k < 16 ? usual - 1100 + 100 * k : rng() % usual);
            expect(r.ended, "an abort ends", k);
            const bool kept = chip.read(REGISTER_KEY) & KEPT;
            if (kept) {     // too late: the key is complete
                chip.write(REGISTER_KEY, USE);
                expect(attempt(logn, false).equal, "after a late abort", k);
                chip.write(REGISTER_KEY, 0);
            } else expect(r.status == 5, "status of an abort", r.status);
            expect_wiped("words after an abort");
        }
        keep(logn);
        Manners manners;
        manners.fail_read = 3;
        chip.bus.behave(manners);
        expect(attempt(logn, false).status == 4, "a bus error");
        chip.bus.behave({});
        expect_wiped("words after a bus error");
        manners = {};
        keep(logn);
        manners.fail_write = (2 << logn) / 64 - 1;      // the last burst, after which wiping begins
        chip.bus.behave(manners);
        expect(attempt(logn, false).status == 4, "a bus error in the last burst");
        chip.bus.behave({});
        expect_wiped("words after the last burst failed");
    }
    for (const std::string &what : chip.bus.violations) expect(false, what.c_str());
    std::printf("key: %u checks, %s\n", checks, failed ? "FAILED" : "all right");
    return failed != 0;
}
