// Every vector kernel of the microcode compared with the C++ kernels at every size, by all bits of
// the memory. Signatures do not reveal a wrong last bit; this does.
//   steps <runs>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "Vdatapath.h"
#include "Vdatapath___024root.h"
#include "engine.h"
#include "kernel_numbers.h"
#include "memory.h"

using namespace falcon;
static Vdatapath u;
static const unsigned WORDS = BANKS * BANK_SIZE;
static double want[WORDS], got[WORDS];
static std::mt19937_64 rng(5);
static unsigned failed;

// Copy the engine's memory from or to `values`.
static void copy_memory(double *values, bool to_engine) {
    const auto copy = [&](auto &bank) {
        if (to_engine) std::memcpy(&bank[0], values, sizeof(double) * BANK_SIZE);
        else std::memcpy(values, &bank[0], sizeof(double) * BANK_SIZE);
        values += BANK_SIZE;
    };
    USE_BANKS(u.rootp, datapath__DOT__, copy)
}
static void tick() { u.clk = 0; u.eval(); u.clk = 1; u.eval(); }

struct Places { unsigned a = 0, b = 0, c = 0, d = 0, e = 0, f = 0; };

static void run(int kernel, unsigned level, const Places &p, unsigned pair_bit = 0, unsigned root = 0) {
    const unsigned places[6] = {p.a, p.b, p.c, p.d, p.e, p.f};
    unsigned __int128 packed = 0;
    for (unsigned place : places) packed = packed << 15 | place;
    for (int word = 0; word < 3; word++) u.places[word] = (uint32_t)(packed >> (32 * word));
    u.kernel = kernel;
    u.level = level;
    u.pair_bit = pair_bit;
    u.root = root;
    u.start = 0;
    for (int k = 0; k < 4; k++) tick();
    u.start = 1;
    u.eval();
    while (!u.ready) tick();
    tick();
    u.start = 0;
}

static void drain() {
    u.eval();
    while (!u.idle) tick();
    for (int k = 0; k < 12; k++) tick();
}

// Values of every size; sometimes a zero of either sign where the kernel does not divide by it.
static void fill(bool zeros) {
    for (double &x : want) {
        x = (double)((int64_t)rng() >> (10 + rng() % 40)) * 0x1p-30;
        if (x == 0) x = 1.5;
        if (zeros && rng() % 64 == 0) x = (rng() & 1) ? 0.0 : -0.0;
    }
    copy_memory(want, true);
}

static void check(const char *name, unsigned level, int runs, bool zeros,
                  const std::function<void()> &cpp, const std::function<void()> &netlist) {
    unsigned words = 0;
    for (int k = 0; k < runs; k++) {
        fill(zeros);
        cpp();
        netlist();
        drain();
        copy_memory(got, false);
        for (unsigned at = 0; at < WORDS; at++)
            words += std::memcmp(want + at, got + at, sizeof(double)) != 0;
    }
    if (words) std::printf("  %s, 2^%u: %u words differ in %d runs\n", name, level, words, runs);
    failed += words != 0;
}

int main(int argc, char **argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 2;
    double *const w = want;
    unsigned checks = 0;
    static double x[1024], y[1024], z[1024];
    u.rst = 1;
    for (int k = 0; k < 5; k++) tick();
    u.rst = 0;
    const auto take = [](double *to, unsigned from, unsigned n) { std::memcpy(to, want + from, 8 * n); };
    for (unsigned logn : {9u, 10u}) {
        const unsigned n = 1u << logn;
        u.is_1024 = logn == 10;
        const auto step = [&](const char *name, unsigned level, bool zeros,
                              const std::function<void()> &cpp, const std::function<void()> &netlist) {
            check(name, level, runs, zeros, cpp, netlist);
            checks++;
        };
        step("forward", logn, true, [&] { forward_transform(w, logn); }, [&] {
            for (unsigned p = 1; p < logn; p++)
                run(KERNEL_FORWARD, logn, {}, logn - 1 - p, 1u << (p - 1));
        });
        step("inverse", logn, true, [&] {
            inverse_transform(w, logn);
            for (unsigned k = 0; k < n; k++) w[k] = w[k] * (n / 2.0);   // its scale is a power of two
        }, [&] {
            for (unsigned p = logn - 1; p > 0; p--)
                run(KERNEL_INVERSE, logn, {}, logn - 1 - p, 1u << (p - 1));
        });
        step("negate", logn, true, [&] { negate_all(w, logn); }, [&] { run(KERNEL_NEGATE, logn, {}); });
        for (int minus = 0; minus < 2; minus++) {
            const double q = minus ? -falcon_tables::inverse_q : falcon_tables::inverse_q;
            step("divide_by_q", logn, true, [&] {
                std::memcpy(w, w + n, 8 * n);
                multiply(w, w + 2 * n, logn);
                scale(w, q, logn);
            }, [&] { run(minus ? KERNEL_DIVIDE_BY_MINUS_Q : KERNEL_DIVIDE_BY_Q, logn, {0, n, 2 * n}); });
            step("round", logn, true, [&] {
                for (unsigned k = 0; k < n; k++) {
                    const double v = w[k] * (2.0 / n), room = 6755399441055744.0;
                    w[k] = minus ? room - v : v + room;
                }
            }, [&] { run(minus ? KERNEL_ROUND_MINUS : KERNEL_ROUND, logn, {}); });
        }
        step("norm", logn, true, [&] {
            take(x, n, n);
            take(y, 2 * n, n);
            multiply_own_adjoint(x, logn);
            multiply_own_adjoint(y, logn);
            add_to(x, y, logn);
            std::memcpy(w, x, 8 * n);
        }, [&] { run(KERNEL_NORM, logn, {0, n, 2 * n}); });
        for (int adjoint = 0; adjoint < 2; adjoint++)
            step(adjoint ? "gram" : "combine", logn, true, [&] {
                take(x, n, n);
                take(y, 3 * n, n);
                const auto product = adjoint ? multiply_adjoint : multiply;
                product(x, w + 2 * n, logn);
                product(y, w + 4 * n, logn);
                add_to(x, y, logn);
                std::memcpy(w, x, 8 * n);
            }, [&] {
                run(adjoint ? KERNEL_GRAM : KERNEL_COMBINE, logn, {0, n, 2 * n, 3 * n, 4 * n});
            });
        for (unsigned level = logn; level > 1; level--) {
            const unsigned N = 1u << level, h = N / 2, first = 1u << (level - 2);
            const unsigned a = 0, b = 2 * n, c = 3 * n, d = 4 * n, e = 5 * n, f = 7 * n;
            step("decompose", level, false, [&] {
                take(x, c, N);
                decompose(w + a, w + b, x, w + d, level);       // x <- d11
                split(w + e, w + e + h, x, level);
                split(w + e + N, w + e + N + h, w + b, level);
                if (!KEEPS_KEY) split(w + a + N, w + a + N + h, w + f, level);
            }, [&] { run(KERNEL_DECOMPOSE, level, {a, b, c, d, e, f}, 0, first); });
#if KEEPS_KEY
            step("split", level, true, [&] { split(w + a, w + a + h, w + b, level); },
                 [&] { run(KERNEL_SPLIT, level, {a, b}, 0, first); });
#endif
            step("turn", level, true, [&] {
                take(x, a, N);
                merge(z, w + d, w + d + h, level);
                correct(x, w + b, z, w + c, level);
                split(w + d, w + d + h, x, level);
            }, [&] { run(KERNEL_TURN, level, {a, b, c, d}, 0, first); });
            step("merge", level, true, [&] { merge(w + a, w + b, w + b + h, level); },
                 [&] { run(KERNEL_MERGE, level, {a, b}, 0, first); });
        }
    }
    std::printf("steps: %u kernels and sizes, %d runs each, %s\n", checks, runs,
                failed ? "FAILED" : "all bits equal");
    return failed != 0;
}
