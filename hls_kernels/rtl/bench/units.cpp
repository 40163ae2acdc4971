// One arithmetic unit compared with the machine's binary64, on random operands and at the limits of
// rounding, cancellation, zeros and underflow. UNIT names the unit at compile time.
//   units <random cases>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#include TEXT(JOIN(V, UNIT).h)

static JOIN(V, UNIT) u;
static std::mt19937_64 rng(20);
static uint64_t wrong, cases;

static double real(uint64_t x) { double d; std::memcpy(&d, &x, 8); return d; }
static uint64_t bits(double d) { uint64_t x; std::memcpy(&x, &d, 8); return x; }
static const double LEAST = 0x1p-1022;

static void check(const char *what, uint64_t a, uint64_t b, uint64_t got, uint64_t want) {
    cases++;
    if (got != want && wrong++ < 5)
        std::printf("  %s of %016lx and %016lx: %016lx, expected %016lx\n", what, (unsigned long)a,
                    (unsigned long)b, (unsigned long)got, (unsigned long)want);
}

// A result below the normal numbers is a zero of its sign; one that rounds to the least normal number
// may be either.
static void check_real(const char *what, uint64_t a, uint64_t b, uint64_t got, double want) {
    if (std::fabs(want) == LEAST && (got & ~(1ull << 63)) == 0) want = std::copysign(0.0, want);
    check(what, a, b, got, bits(want != 0 && std::fabs(want) < LEAST ? std::copysign(0.0, want) : want));
}

static void tick() { u.clk = 0; u.eval(); u.clk = 1; u.eval(); }

// A normal number or a zero: exponents within `spread` of 1, mantissas with runs of zeros or ones.
static uint64_t operand(int spread) {
    const uint64_t how = rng(), exponent = 1023 - spread + rng() % (2 * spread + 1);
    uint64_t x = (rng() & 0xfffffffffffff) | exponent << 52 | (how & 1) << 63;
    const unsigned run = (how >> 8) % 53;
    if ((how >> 16) % 4 == 0) x &= ~0ull << run;
    if ((how >> 16) % 4 == 1) x |= 0xfffffffffffffull >> run;
    if ((how >> 20) % 64 == 0) x &= 1ull << 63;
    return x;
}

#if defined(IS_fp_add)
static void run(long count) {
    struct Case { uint64_t a, b; bool subtract, halve; };
    std::deque<Case> under_way;
    const uint64_t edge[] = {0, 1ull << 63, bits(1), bits(-1), bits(1 + 0x1p-52), bits(0x1p-53),
                             bits(-0x1p-53), bits(0x1p-54), bits(1.5 * 0x1p52), bits(2 - 0x1p-52),
                             bits(LEAST), bits(-LEAST), bits(LEAST * 1.5), bits(LEAST * 2), bits(0x1p1000)};
    const unsigned edges = sizeof edge / sizeof *edge;
    const long directed = edges * edges * 4;
    for (long k = 0; k < count + directed + 7; k++) {
        Case c;
        if (k < directed) {
            c = {edge[k / 4 % edges], edge[k / 4 / edges], (k & 1) != 0, (k & 2) != 0};
        } else {
            const uint64_t how = rng();
            c = {operand(500), operand(500), (how & 1) != 0, (how & 6) == 0};
            if (how >> 3 & 1)  // close exponents: where bits cancel
                c.b = (c.b & ~(0x7ffull << 52)) |
                      (((c.a >> 52 & 0x7ff) + rng() % 112 - 56) & 0x7ff) << 52;
            if ((how >> 4 & 7) == 0) c.b = c.a + rng() % 9 - 4;  // neighbours
            if ((c.b >> 52 & 0x7ff) == 0) c.b &= 1ull << 63;
            if ((c.a >> 52 & 0x7ff) == 0) c.a &= 1ull << 63;
            if ((c.b >> 52 & 0x7ff) == 0x7ff) c.b = bits(1);
        }
        u.a_in = c.a; u.b_in = c.b; u.subtract_in = c.subtract; u.halve_in = c.halve;
        tick();
        under_way.push_back(c);
        if (under_way.size() < 7) continue;
        c = under_way.front();
        under_way.pop_front();
        double want = c.subtract ? real(c.a) - real(c.b) : real(c.a) + real(c.b);
        if (c.halve) want = std::fabs(want) < 2 * LEAST ? std::copysign(0.0, want) : want * 0.5;
        check_real(c.subtract ? "difference" : "sum", c.a, c.b, u.y, want);
    }
}
#elif defined(IS_fp_multiply)
static void run(long count) {
    struct Case { uint64_t a, b; };
    std::deque<Case> under_way;
    const uint64_t edge[] = {0, 1ull << 63, bits(1), bits(-1), bits(1 + 0x1p-52), bits(1 - 0x1p-53),
                             bits(1.5), bits(1 + 0x1p-26), bits(2 - 0x1p-52), bits(LEAST),
                             bits(LEAST * (2 - 0x1p-52)), bits(0x1p-511), bits(0x1p-512), bits(0x1p500),
                             bits(std::sqrt(2.0)), bits(0x1.6a09e667f3bccp+0)};
    const unsigned edges = sizeof edge / sizeof *edge;
    const long directed = edges * edges;
    u.horner_in = 0;
    for (long k = 0; k < count + directed + 7; k++) {
        Case c = k < directed ? Case{edge[k % edges], edge[k / edges]} : Case{operand(500), operand(500)};
        u.a_in = c.a; u.b_in = c.b;
        tick();
        under_way.push_back(c);
        if (under_way.size() < 7) continue;
        c = under_way.front();
        under_way.pop_front();
        check_real("product", c.a, c.b, u.y, real(c.a) * real(c.b));
    }
    // Horner's rule on five interleaved chains
    uint64_t chain[5] = {}, factor[5] = {}, coefficient = 0;
    std::deque<uint64_t> products;
    for (long k = 0; k < count / 4; k++) {
        const unsigned lane = k % 5, step = k / 5 % 13;
        if (lane == 0) coefficient = rng();
        if (step == 0) factor[lane] = rng();
        const uint64_t sum = coefficient - (step == 0 ? 0 : chain[lane]);
        chain[lane] = (unsigned __int128)sum * factor[lane] >> 64;
        u.horner_in = 1; u.first_in = step == 0; u.a_in = coefficient; u.b_in = factor[lane];
        tick();
        products.push_back(chain[lane]);
        if (products.size() < 6) continue;
        check("step of Horner's rule", coefficient, factor[lane], u.product, products.front());
        products.pop_front();
    }
}
#elif defined(IS_fp_divide)
static void run(long count) {
    for (long k = 0; k < 2 * count; k++) {
        const bool root = k & 1;
        uint64_t x = operand(400);
        if ((x & ~(1ull << 63)) == 0) x = bits(1);
        if (k < 64) x = bits(std::ldexp(1.0, k / 2 - 16));       // powers of two
        else if (k < 128) x = bits(1 + (double)(k / 2 - 48) * 0x1p-52);
        if (root) x &= ~(1ull << 63);
        if (root && k % 8 == 1) {  // squares and their neighbours
            const double q = real(bits(real(x)) & ~0ull << (26 + rng() % 20));
            x = bits(q * q) + rng() % 3 - 1;
        }
        u.x = x; u.root_in = root; u.start = 1;
        tick();
        u.start = 0; u.x = rng();
        for (int wait = 0; wait < (root ? 55 : 29); wait++) tick();
        check(root ? "root" : "reciprocal", x, 0, u.y, bits(root ? std::sqrt(real(x)) : 1 / real(x)));
    }
}
#elif defined(IS_norm)
// Vectors of every length near the bound, and values that exceed 18 bits or are not integers.
static void run(long count) {
    const uint64_t room = bits(1.5 * 0x1p52);
    for (long k = 0; k < count / 2000 + 200; k++) {
        const bool large = k & 1;
        const int64_t bound = large ? 70265242 : 34034726;
        const unsigned n = 4 + rng() % 8, how = k / 2 % 8;
        int64_t left = bound + (int64_t)(k / 16 % 3) - 1, length = 0;
        bool strange = false;
        u.is_1024 = large; u.clear = 1; u.on = 0;
        tick();
        u.clear = 0; u.on = 1;
        for (unsigned index = 0; index < n; index++) {
            const int64_t target = rng() % 12289;
            int64_t terms[2];
            for (int64_t &term : terms) {   // greedily, so that the sum is exact
                const int64_t most = (int64_t)std::sqrt((double)left);
                term = index + 2 < n ? most / 2 : most;
                if (rng() & 1) term = -term;
                if (how == 7 && index == 1) term = (rng() & 1 ? 1 : -1) * ((int64_t)1 << (17 + rng() % 6));
                if (left > 0) left -= term * term;
                left = left < 0 ? 0 : left;
                length += term * term;
            }
            const uint64_t values[3] = {(uint64_t)target, room + (uint64_t)(target - terms[0]),
                                        room + (uint64_t)terms[1]};
            for (unsigned which = 0; which < 3; which++) {
                u.which = which;
                u.value = values[which];
                if (how == 6 && index == 2 && which == 1 + k % 3 % 2) {
                    const uint64_t odd[] = {0, bits(1.0), values[which] ^ 1ull << (17 + rng() % 34),
                                            values[which] ^ 1ull << 52};
                    u.value = odd[rng() % 4];
                    strange = true;
                }
                tick();
            }
        }
        u.on = 0;
        for (int wait = 0; wait < 4; wait++) tick();
        check("length", (uint64_t)length, strange, u.short_enough, !strange && length <= bound);
    }
}
#else
static void run(long count) {
    for (long k = 0; k < count; k++) {
        const unsigned kind = k & 3;
        uint64_t x = operand(40), want = 0;
        const uint64_t product = rng(), halvings = rng() & 127;
        double d = real(x);
        if (kind == 0) {            // floor
            if (k % 64 == 0) d = std::floor(d);
            d = std::ldexp(d, -18);
            want = (uint64_t)(int64_t)std::floor(d);
        } else if (kind == 1) {     // halvings
            d = std::ldexp(d, -36);
            want = std::fabs(d) < 1 ? (uint64_t)(int64_t)(std::fabs(d) * 0x1p63) << 1 : ~0ull;
        } else if (kind == 2) {     // fraction
            int e;
            d = std::fabs(d) >= 1 ? std::frexp(d, &e) : d;
            want = (uint64_t)(int64_t)(d * 0x1p63) << 1;
        } else {
            want = ((product << 1) - 1) >> (halvings > 63 ? 63 : halvings);
        }
        u.kind = kind; u.x = bits(d); u.product = product; u.halvings = halvings;
        tick(); tick(); tick();
        static const char *const names[] = {"floor", "halvings", "fraction", "threshold"};
        const uint64_t mask = kind == 1 ? ~0ull << 1 : ~0ull;   // ones end with any bit
        check(names[kind], bits(d), product, u.y & mask, want & mask);
        if (kind == 1) check("sign", bits(d), product, u.negative, std::signbit(d));
        if (kind == 3) check("first byte", product, halvings, u.top, want >> 56);
    }
}
#endif

int main(int argc, char **argv) {
    run(argc > 1 ? std::atol(argv[1]) : 1000);
    std::printf("%s: %lu cases, %lu wrong\n", TEXT(UNIT), (unsigned long)cases, (unsigned long)wrong);
    return wrong != 0 || cases == 0;
}
