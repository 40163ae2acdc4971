// Resets, aborts and random power-on state: the next attempt is right, and no secret is left.
//   resets <count> <recorded 512> <recorded 1024> [seed]
#include "chip.h"
#include "falcon_sign.h"
#include "requests.h"
#include "stores.h"

using namespace falcon;
static std::vector<uint8_t> device(1 << 17);
static Request recorded[2];
static std::mt19937_64 rng;
static const uint64_t ORIGIN = 0x10000000, RESPONSE_AT = 0x8000;
static const uint64_t MOST = 10'000'000;
static const uint64_t ABORT_CYCLES = 6000;  // end of an abort, when the bus answers at once
static unsigned failed;

static unsigned any_degree() { return rng() % 8 ? 9 : 10; }

// A recorded key with a new message and seed, in the memory on the bus.
static Request put_request(unsigned logn) {
    auto request = recorded[logn - 9];
    new_message(request, logn, rng);
    new_seed(request, logn, rng);
    std::memset(device.data(), 0x55, device.size());
    std::memcpy(device.data(), request.data(), request.size());
    return request;
}

static void begin(Chip &chip, unsigned logn) {
    put_request(logn);
    chip.start(ORIGIN, ORIGIN + RESPONSE_AT, logn);
}

// A complete attempt; whether status and response are the C++ kernel's and nothing is left.
static bool sign(Chip &chip, unsigned logn) {
    const unsigned n = 1u << logn;
    const auto request = put_request(logn);
    std::vector<int16_t> want(n), got(n);
    uint32_t status, version;
    falcon_sign(request.data(), want.data(), logn, &status, &version);
    chip.start(ORIGIN, ORIGIN + RESPONSE_AT, logn);
    chip.run(MOST);
    const bool ended = chip.read(CTRL) & 2;
    const uint32_t actual = chip.read(STATUS);
    std::memcpy(got.data(), device.data() + RESPONSE_AT, 2 * n);
    return ended && actual == status && got == want && nonzero_words(chip.u) == 0;
}

static void map(Chip &chip) { chip.bus.map(ORIGIN, device.data(), device.size()); }
static void idle(Chip &chip, unsigned cycles) { for (unsigned k = 0; k < cycles; k++) chip.tick(); }
static uint64_t any_cycle(unsigned logn) { return rng() % (logn == 9 ? 330'000 : 690'000); }

static void report(const char *what, unsigned right, unsigned count, long words) {
    std::printf("%s: next attempt right %u of %u, words of a key left %ld\n", what, right, count, words);
    failed += right != count || words != 0;
}

static void violations(const Chip &chip) {
    for (const std::string &what : chip.bus.violations) std::printf("  %s\n", what.c_str()), failed++;
}

static void resets(unsigned count) {
    Chip chip;
    map(chip);
    unsigned right = 0;
    long words = 0;
    for (unsigned k = 0; k < count; k++) {
        const unsigned logn = any_degree();
        begin(chip, logn);
        chip.run(any_cycle(logn));
        chip.reset(1 + rng() % 6);
        if (k % 2) {        // half of the attempts start before the wiping has ended
            idle(chip, Chip::WIPE_CYCLES);
            words += nonzero_words(chip.u);
        } else idle(chip, rng() % Chip::WIPE_CYCLES);
        right += sign(chip, any_degree());
    }
    report("reset of core and bus at a random cycle", right, count, words);
    violations(chip);
}

static void resets_in_second_samples(unsigned count) {
    unsigned right = 0;
    for (unsigned k = 0; k < count; k++) {
        Chip chip;
        const Vfalcon_sign &u = chip.u;
        map(chip);
        begin(chip, 9);
        chip.run(100'000 + rng() % 100'000);
        while (chip.running() && !INSIDE(u_sequencer__DOT__second_only)) chip.tick();
        chip.reset(1 + rng() % 6);
        right += sign(chip, 9);
    }
    report("reset while only the second sample is missing", right, count, 0);
}

static void resets_of_the_core_alone(unsigned count) {
    unsigned right = 0;
    for (unsigned k = 0; k < count; k++) {
        Chip chip;
        map(chip);
        begin(chip, 9);
        chip.run(rng() % 12'000);
        for (unsigned t = 0; t < MOST && !(chip.u.m_axi_gmem_ARVALID && chip.u.m_axi_gmem_ARREADY); t++)
            chip.tick();
        idle(chip, rng() % 20);
        chip.reset(1 + rng() % 6, false);
        right += sign(chip, 9);
    }
    report("reset of the core alone in a read burst", right, count, 0);
}

static void aborts(unsigned count) {
    Chip chip;
    map(chip);
    unsigned right = 0, aborted = 0, late = 0, k = 0;
    long words = 0;
    while (k < count) {
        const unsigned logn = any_degree();
        Manners manners;
        manners.stall = k % 2 * 100;
        manners.seed = rng();
        chip.bus.behave(manners);
        begin(chip, logn);
        // a third of the aborts during the transfers at the beginning
        chip.run(k % 3 ? any_cycle(logn) : rng() % 10'000);
        if (!chip.running()) continue;  // it had already ended
        k++;
        chip.write(ABORT, 1);
        late += chip.run(MOST) > ABORT_CYCLES || chip.read(ABORT) != 0;
        aborted += (chip.read(CTRL) & 2) && chip.read(STATUS) == 5;
        words += nonzero_words(chip.u);
        chip.bus.behave({});
        right += sign(chip, any_degree());
    }
    std::printf("abort at a random cycle: status aborted %u of %u, after more than %lu cycles %u\n",
                aborted, count, (unsigned long)ABORT_CYCLES, late);
    report("abort at a random cycle", right, count, words);
    failed += aborted != count || late;
    violations(chip);
}

// Aborts, and resets during aborts, in each phase of the transfers; random cycles rarely hit some.
static void aborts_in_each_phase() {
    typedef bool (*Condition)(const Vfalcon_sign &);
    Manners late_words, rarely_ready;
    late_words.read_delay = 40;
    rarely_ready.stall = 250;
    const struct {
        const char *name;
        Manners manners;
        Condition reached;
    } phases[] = {
        {"seed", late_words, [](const Vfalcon_sign &u) {
            return INSIDE(state) == Chip::TOP_SEED && u.m_axi_gmem_ARVALID; }},
        {"address of a burst", rarely_ready, [](const Vfalcon_sign &u) {
            return INSIDE(state) == Chip::TOP_WALK && u.m_axi_gmem_ARVALID; }},
        {"words of the key", {}, [](const Vfalcon_sign &u) {     // a beat waits while one is unpacked
            return INSIDE(state) == Chip::TOP_WALK && u.m_axi_gmem_RVALID && !u.m_axi_gmem_RREADY; }},
        {"length of the vector", {}, [](const Vfalcon_sign &u) {
            return INSIDE(state) == Chip::TOP_GIVE; }},
        {"response", {}, [](const Vfalcon_sign &u) { return u.m_axi_gmem_WVALID != 0; }},
    };
    Chip chip;
    map(chip);
    unsigned right = 0, count = 0;
    long words = 0;
    for (const bool reset : {false, true})
        for (const auto &phase : phases) {
            chip.bus.behave(phase.manners);
            begin(chip, 9);
            while (chip.running() && !phase.reached(chip.u)) chip.tick();
            chip.write(ABORT, 1);
            if (reset) {
                chip.reset(2);
                idle(chip, Chip::WIPE_CYCLES);
            } else {
                chip.run(MOST);
                if (!(chip.read(CTRL) & 2) || chip.read(STATUS) != 5)
                    std::printf("  no abort: %s\n", phase.name), failed++;
            }
            words += nonzero_words(chip.u);
            chip.bus.behave({});
            right += sign(chip, 9);
            count++;
        }
    report("abort, and reset during it, in each phase", right, count, words);
    violations(chip);
}

static void power_on(unsigned count) {
    unsigned right = 0;
    VerilatedContext *const context = Verilated::threadContextp();
    for (unsigned k = 0; k < count; k++) {
        context->randReset(2);
        context->randSeed(1 + rng() % 1'000'000);
        context->assertOn(false);       // before the reset, nothing is asserted
        Chip chip;
        context->assertOn(true);
        map(chip);
        const bool is_idle = chip.read(CTRL) == 4;
        right += sign(chip, any_degree()) && is_idle;
        violations(chip);
    }
    context->randReset(0);
    report("random power-on state", right, count, 0);
}

int main(int argc, char **argv) {
    if (argc < 4) return std::fprintf(stderr, "resets <count> <recorded 512> <recorded 1024> [seed]\n"), 2;
    const unsigned count = std::atoi(argv[1]);
    for (unsigned logn : {9u, 10u}) recorded[logn - 9] = read_requests(argv[logn - 7], logn).front();
    rng.seed(argc > 4 ? std::atoi(argv[4]) : 4711);
    resets(count);
    const unsigned some = count > 60 ? 60 : count;
    resets_in_second_samples((some + 3) / 4);
    resets_of_the_core_alone((some + 3) / 4);
    aborts(some);
    aborts_in_each_phase();
    power_on(some);
    std::printf("resets: %s\n", failed ? "FAILED" : "all right");
    return failed != 0;
}
