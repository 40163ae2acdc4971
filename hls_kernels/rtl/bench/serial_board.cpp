// A board with the engine behind a serial line, as a pseudo-terminal that a driver opens in place of
// /dev/ttyUSB0.
//   serial_board      prints the name of the terminal, and runs until it is killed
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <deque>

#include "Vfalcon_serial.h"
#include "Vfalcon_serial___024root.h"

static const unsigned QUIET_CYCLES = 20'000;    // longer than clearing the memory
static const int FRAME_MILLISECONDS = 300;      // then a frame that stopped is dropped
static const int WATCH_MILLISECONDS = 1'000;    // then a host is gone

static int open_terminal(int *other) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    termios raw;
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) exit((perror("pseudo-terminal"), 2));
    *other = open(ptsname(terminal), O_RDWR | O_NOCTTY);     // open, so that a driver may come and go
    tcgetattr(*other, &raw);
    cfmakeraw(&raw);
    tcsetattr(*other, TCSANOW, &raw);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    return terminal;
}

// One direction of the line, a bit every BIT_CYCLES cycles.
struct Sender {
    unsigned bits = 0, left = 0, timer = 0;
    void start(uint8_t byte) { bits = 0x200u | byte << 1, left = 10, timer = BIT_CYCLES; }
    bool level() const { return left == 0 || (bits & 1); }
    void tick() {
        if (left && --timer == 0) bits >>= 1, left--, timer = BIT_CYCLES;
    }
};

struct Receiver {
    unsigned bits = 0, left = 0, timer = 0;
    // Whether a byte is complete.
    bool tick(bool level) {
        if (left == 0) {
            if (!level) left = 9, timer = BIT_CYCLES + BIT_CYCLES / 2, bits = 0;
            return false;
        }
        if (--timer) return false;
        timer = BIT_CYCLES;
        if (--left == 0) return true;
        bits |= (unsigned)level << (8 - left);
        return false;
    }
};

int main() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int other;
    const int terminal = open_terminal(&other);
    printf("%s\n", ptsname(terminal));
    fflush(stdout);
    Vfalcon_serial u;
    std::deque<uint8_t> incoming;
    Sender sender;
    Receiver receiver;
    uint64_t quiet = 0;
    int waited = 0;                         // milliseconds without a byte
    u.rst = 1;
    for (uint64_t cycle = 0;; cycle++) {
        if (cycle == 16) u.rst = 0;
        const bool running = u.rootp->falcon_serial__DOT__u_engine__DOT__u_control__DOT__running;
        quiet = sender.left || receiver.left || running || !incoming.empty() ? 0 : quiet + 1;
        const bool still = quiet > QUIET_CYCLES;
        if (still || cycle % 128 == 0) {
            if (still) {                    // the clock stands while nothing happens
                pollfd file{terminal, POLLIN, 0};
                waited = poll(&file, 1, 100) > 0 ? 0 : waited + 100;
                if ((u.in_frame && waited >= FRAME_MILLISECONDS) ||
                    (u.holds_data && waited >= WATCH_MILLISECONDS)) {
                    const uint64_t cycles = 1ull << (u.in_frame ? SILENCE_BITS : WATCH_BITS);
                    for (uint64_t k = 0; k < cycles; k++) u.clk = 0, u.eval(), u.clk = 1, u.eval();
                    waited = quiet = 0;
                }
            }
            uint8_t bytes[256];
            const long count = read(terminal, bytes, sizeof bytes);
            for (long k = 0; k < count; k++) incoming.push_back(bytes[k]);
        }
        if (sender.left == 0 && !incoming.empty() && cycle > 20'000) {
            sender.start(incoming.front());
            incoming.pop_front();
        }
        u.receive = sender.level();
        sender.tick();
        u.clk = 0, u.eval(), u.clk = 1, u.eval();
        if (receiver.tick(u.send)) {
            const uint8_t byte = receiver.bits;
            while (write(terminal, &byte, 1) != 1) poll(nullptr, 0, 1);
        }
    }
}
