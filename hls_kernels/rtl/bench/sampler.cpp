// SamplerZ in the netlist: recorded answers, and pairs of samples with random bytes that often leave
// the rejection test undecided, compared with the C++ sampler. The engine is started in the middle of
// its program with the bytes in the generator's buffers. Every case of a verdict must be covered.
//   sampler <pairs> <recorded> ...
#include <cstdio>
#include <cstdlib>
#include <set>

#include "chip.h"
#include "generator.h"
#include "signer.h"

using namespace falcon;
static Chip chip;
static const unsigned MOST_WRONG = 20;  // then the bench ends, because wrong pairs take long
static std::mt19937_64 rng(9);

static uint64_t bits(double d) {
    uint64_t x;
    std::memcpy(&x, &d, 8);
    return x;
}

// Both buffers of the generator, and what the C++ sampler takes from them.
struct Stream {
    uint8_t bytes[1024];
    unsigned position;

    void begin_draw() {
        if (position % 512 >= 503) position = (position / 512 + 1) * 512;
    }
    uint8_t &next() { return bytes[position++ % 1024]; }
};

static std::set<unsigned> verdicts, depths;

// Start the engine at its instruction `sample` and run it to the end.
static bool netlist(Stream stream, unsigned start, const Sampler s[2], bool second_only,
                    int64_t samples[2], unsigned *used, unsigned tries = 0) {
    Vfalcon_sign &u = chip.u;
    auto *const r = u.rootp;
    for (unsigned word = 0; word < 256; word++)
        INSIDE(u_draws__DOT__buffers)[word] = load_word(stream.bytes + 4 * word);
    INSIDE(u_draws__DOT__filled) = 3;
    INSIDE(u_draws__DOT__position) = INSIDE(u_draws__DOT__committed) = start;
    INSIDE(u_draws__DOT__head) = INSIDE(u_draws__DOT__held) = 0;
    INSIDE(u_draws__DOT__was) = start >> 9;
    INSIDE(u_draws__DOT__live) = INSIDE(u_draws__DOT__state) = 0;
#define BANK(bank, port) r->falcon_sign__DOT__u_datapath__DOT__##bank##__DOT__ports__BRA__##port##__KET____DOT__words
#define SET(bank, register, value)                                                            \
    BANK(bank, 0)[register] = BANK(bank, 1)[register] = BANK(bank, 2)[register] =              \
        BANK(bank, 3)[register] = BANK(bank, 4)[register] = (value)
    SET(bank_a, 29, bits(s[0].centre_fraction));
    SET(bank_a, 28, bits(s[1].centre_fraction));
    SET(bank_m, 31, bits(s[1].half_inverse_variance));
    const uint64_t scale = (uint64_t)truncate(s[1].acceptance_scale * 0x1p63) << 1;
    SET(bank_l, 31, scale);
    INSIDE(u_datapath__DOT__scale) = scale >> (64 - SCALE_BITS);
    for (int k = 0; k < 2; k++)
        INSIDE(u_datapath__DOT__integers)[k] = (uint64_t)s[k].centre_floor & 0xfffffffffffff;
    INSIDE(u_sequencer__DOT__instruction) = (5ull << 5 | KERNEL_CLOSE_LEAF) << 30;
    INSIDE(u_sequencer__DOT__level) = 1;
    INSIDE(u_sequencer__DOT__sampling) = 1;
    INSIDE(u_sequencer__DOT__second_only) = second_only;
    INSIDE(u_sequencer__DOT__second) = 0;
    INSIDE(u_sequencer__DOT__tries) = tries;
    INSIDE(u_sequencer__DOT__state) = Chip::SEQ_DRAW;
    u.eval();
    for (unsigned k = 0; INSIDE(u_sequencer__DOT__sampling); k++) {
        const unsigned state = INSIDE(u_sequencer__DOT__state);
        if (state == Chip::SEQ_JUDGE || state == Chip::SEQ_COMPARE) {
            const unsigned outcome = INSIDE(u_sequencer__DOT__is_less)    ? 0
                                     : INSIDE(u_sequencer__DOT__is_equal) ? 1
                                                                          : 2;
            if (state == Chip::SEQ_JUDGE)
                verdicts.insert(INSIDE(u_sequencer__DOT__exact) << 8 | outcome << 6 |
                                INSIDE(u_sequencer__DOT__second_only) << 5 |
                                INSIDE(u_sequencer__DOT__second) << 4 |
                                INSIDE(u_sequencer__DOT__judge_draw));
            depths.insert(INSIDE(u_sequencer__DOT__byte_at) * 4 + outcome);
        }
        if (k == 200000) return false;
        chip.tick();
        if (INSIDE(u_sequencer__DOT__state) == Chip::SEQ_STOPPED) {     // it gave up
            INSIDE(u_sequencer__DOT__sampling) = 0;
            INSIDE(state) = Chip::TOP_REST;
            for (int wait = 0; wait < 3000; wait++) chip.tick();
            INSIDE(state) = Chip::TOP_WALK;
            return false;
        }
    }
    for (int k = 0; k < 5; k++) chip.tick();
    for (int k = 0; k < 2; k++)
        samples[k] = (int64_t)(INSIDE(u_datapath__DOT__integers)[k] << 12) >> 12;
    *used = INSIDE(u_draws__DOT__committed);
    INSIDE(u_sequencer__DOT__state) = Chip::SEQ_STOPPED;
    for (int k = 0; k < 300; k++) chip.tick();  // until kernel and queue are idle
    return true;
}

// One sample in C++. `craft`: choose the bytes of the rejection test, so that it is often close.
// `rejections`: let so many draws be rejected at once, and the next one be close.
static unsigned reference(Sampler &s, Stream &stream, bool craft, unsigned rejections = 0) {
    unsigned rejected = 0;
    const bool directed = rejections > 0;
    for (Verdict verdict = REJECTED; verdict != ACCEPTED;) {
        stream.begin_draw();
        uint64_t low = 0;
        for (unsigned k = 0; k < 8; k++) low |= (uint64_t)stream.next() << (8 * k);
        const uint8_t high = stream.next(), sign = stream.next();
        attempt(&s, low, high, sign, 0);
        s.shift = 56;
        // a quarter at random, the others beside the first byte or equal in some bytes
        unsigned close = !craft || rng() % 4 == 0 ? 0 : rng() % 2 ? 1 : 1 + rng() % 8;
        if (directed) close = rejected == rejections;
        do {
            uint8_t &random = stream.next();
            if (rejected < rejections) random = 255;
            if (close > 0) random = s.threshold >> s.shift;
            if (close == 1 && craft && rng() % 2) random += (rng() % 2) * 2 - 1;
            close -= close > 0;
            verdict = compare_byte(&s, random);
        } while (verdict == UNDECIDED);
        rejected += verdict == REJECTED;
    }
    return rejected;
}

static unsigned recorded(const char *path) {
    FILE *file = std::fopen(path, "r");
    if (!file) return std::perror(path), 1;
    char mu[64], sigma[64], sigmin[64];
    static char hex[4096];
    long expected;
    unsigned count = 0, right = 0;
    while (std::fscanf(file, "%63s %63s %63s %4095s %ld", mu, sigma, sigmin, hex, &expected) == 5) {
        count++;
        Stream stream = {};
        const unsigned bytes = std::strlen(hex) / 2;
        if (bytes > 450) continue;
        for (unsigned k = 0; k < bytes; k++) {
            const char two[3] = {hex[2 * k], hex[2 * k + 1], 0};
            stream.bytes[k] = std::strtoul(two, nullptr, 16);
        }
        Sampler s;
        begin_sample(&s, std::strtod(mu, nullptr), 1.0 / std::strtod(sigma, nullptr),
                     std::strtod(sigmin, nullptr));
        // in the file, the nine bytes of a base draw have the most significant one first
        Sampler turned = s;
        for (Verdict verdict = REJECTED; verdict != ACCEPTED && stream.position + 11 <= bytes;) {
            uint8_t *at = stream.bytes + stream.position;
            for (unsigned k = 0; k < 4; k++) std::swap(at[k], at[8 - k]);
            uint64_t low = 0;
            for (unsigned k = 0; k < 8; k++) low |= (uint64_t)at[k] << (8 * k);
            verdict = attempt(&turned, low, at[8], at[9], at[10]);
            stream.position += 11;
            while (verdict == UNDECIDED) verdict = compare_byte(&turned, stream.next());
        }
        const Sampler both[2] = {s, s};
        int64_t samples[2];
        unsigned used;
        const bool ended = netlist(stream, 0, both, true, samples, &used);
        right += ended && used == bytes && samples[1] == expected;
    }
    std::fclose(file);
    std::printf("sampler %s: %u of %u\n", path, right, count);
    return right != count || count == 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "sampler <pairs> <recorded> ...\n"), 2;
    unsigned failed = 0;
    chip.u.rootp->falcon_sign__DOT__state = Chip::TOP_WALK;
    for (int k = 2; k < argc; k++) failed += recorded(argv[k]);
    unsigned wrong = 0, gave_up = 0;
    const unsigned pairs = std::atoi(argv[1]);
    for (unsigned k = 0; k < pairs && wrong < MOST_WRONG; k++) {
        Stream stream;
        for (uint8_t &byte : stream.bytes) byte = rng();
        const unsigned start = stream.position = rng() % 400 + (k % 4 == 0 ? 100 : 0);
        const bool second_only = k % 8 == 7;
        Sampler s[2];
        // at times outside the range of deviations, as of an invalid key: below, the scale is 0;
        // above, the exponent can be negative, which the bounds leave to kernel `exact`
        const double deviation = k % 16 == 3    ? 1.2
                                 : k % 16 == 11 ? 1.9
                                                : 1.3 + (rng() % 1000) * 0.0005;
        // the last draws of a round are rarely reached, and rarely close
        const unsigned rejections = k % 16 == 7 ? k / 16 % 5 : 0;
        for (Sampler &each : s)
            begin_sample(&each, (double)(int64_t)(rng() >> 20) * 0x1p-36 - 128, 1 / deviation, 1.25);
        Sampler after[2] = {s[0], s[1]};
        if (!second_only) reference(after[0], stream, true);
        const unsigned rejected = reference(after[1], stream, true, rejections);
        if (stream.position > 1000) continue;   // a long run of rejections: not in two buffers
        int64_t samples[2];
        unsigned used = 0;
        // sometimes with only two tries left
        const unsigned tries = second_only && k % 16 == 15 ? MAX_ATTEMPTS - 2 : 0;
        const bool ended = netlist(stream, start, s, second_only, samples, &used, tries);
        if (tries && rejected >= 2) {
            wrong += ended;
            gave_up++;
            continue;
        }
        const bool equal = ended && used == stream.position % 1024 &&
                           samples[1] == sample_value(&after[1]) &&
                           (second_only || samples[0] == sample_value(&after[0]));
        if (!equal && wrong++ < 3)
            std::printf("  pair %u: samples %ld %ld, expected %ld %ld; byte %u, expected %u\n", k,
                        (long)samples[0], (long)samples[1], (long)sample_value(&after[0]),
                        (long)sample_value(&after[1]), used, stream.position);
    }
    std::printf("sampler: %u pairs, %u wrong\n", pairs, wrong);
    failed += wrong;
    // first sample: draws 0 to 2; second: 1 to 4; second only: 0 to 4; each by bounds and exactly:
    // accepted, close, rejected
    unsigned expected = 0, gone = 0;
    const auto way = [&](const std::set<unsigned> &covered, const char *name, unsigned code) {
        expected++;
        gone += covered.count(code);
        if (!covered.count(code)) std::printf("  never %s %03x\n", name, code);
    };
    for (unsigned exact = 0; exact < 2; exact++)
        for (unsigned outcome = 0; outcome < 3; outcome++)
            for (unsigned who = 0; who < 3; who++)
                for (unsigned draw = who == 1; draw < (who == 0 ? 3 : 5); draw++)
                    way(verdicts, "verdict",
                        exact << 8 | outcome << 6 | (who == 2) << 5 | (who == 1) << 4 | draw);
    // by bytes: seven more, each accepted or rejected, and all but the last again undecided
    for (unsigned depth = 1; depth < 8; depth++)
        for (unsigned outcome = 0; outcome < 3; outcome++)
            if (depth < 7 || outcome != 1) way(depths, "byte", 4 * depth + outcome);
    std::printf("sampler: %u of %u ways of a verdict\n", gone, expected);
    std::printf("sampler: gave up %u times, as it must\n", gave_up);
    return failed != 0 || gone != expected || gave_up == 0;
}
