// A board with the engine behind a serial line, as a pseudo-terminal that a driver opens in place of
// /dev/ttyUSB0: the sources, or with GATE the netlist of the ULX3S after synthesis.
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

#ifdef GATE
#include "Vulx3s.h"
static const unsigned READY_CYCLES = 90'000;    // the button's delay, and clearing the memory
struct Board : Vulx3s {
    Board() { btn_n = 1; }
    void tick(bool line) { ftdi_txd = line, clk_25mhz = 0, eval(), clk_25mhz = 1, eval(); }
    void reset(bool) {}                         // it is in reset after its configuration
    bool line() const { return ftdi_rxd; }
    bool framed() const { return led >> 1 & 1; }
    bool written() const { return led >> 2 & 1; }
    bool running() const { return written(); }  // the netlist does not show more
};
#else
#include "Vfalcon_serial.h"
#include "Vfalcon_serial___024root.h"
static const unsigned READY_CYCLES = 20'000;
struct Board : Vfalcon_serial {
    void tick(bool line) { receive = line, clk = 0, eval(), clk = 1, eval(); }
    void reset(bool on) { rst = on; }
    bool line() const { return send; }
    bool framed() const { return in_frame; }
    bool written() const { return holds_data; }
    bool running() const { return rootp->falcon_serial__DOT__u_engine__DOT__u_control__DOT__running; }
};
#endif

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
    Board board;
    std::deque<uint8_t> incoming;
    Sender sender;
    Receiver receiver;
    uint64_t quiet = 0;
    int waited = 0;                         // milliseconds without a byte
    board.reset(true);
    for (uint64_t cycle = 0;; cycle++) {
        if (cycle == 16) board.reset(false);
        quiet = sender.left || receiver.left || board.running() || !incoming.empty() ? 0 : quiet + 1;
        const bool still = quiet > QUIET_CYCLES && cycle > READY_CYCLES;
        if (still || cycle % 128 == 0) {
            if (still) {                    // the clock stands while nothing happens
                pollfd file{terminal, POLLIN, 0};
                waited = poll(&file, 1, 100) > 0 ? 0 : waited + 100;
                if ((board.framed() && waited >= FRAME_MILLISECONDS) ||
                    (board.written() && waited >= WATCH_MILLISECONDS)) {
                    const uint64_t cycles = 1ull << (board.framed() ? SILENCE_BITS : WATCH_BITS);
                    for (uint64_t k = 0; k < cycles; k++) board.tick(true);
                    waited = quiet = 0;
                }
            }
            uint8_t bytes[256];
            const long count = read(terminal, bytes, sizeof bytes);
            for (long k = 0; k < count; k++) incoming.push_back(bytes[k]);
        }
        if (sender.left == 0 && !incoming.empty() && cycle > READY_CYCLES) {
            sender.start(incoming.front());
            incoming.pop_front();
        }
        board.tick(sender.level());
        sender.tick();
        if (receiver.tick(board.line())) {
            const uint8_t byte = receiver.bits;
            while (write(terminal, &byte, 1) != 1) poll(nullptr, 0, 1);
        }
    }
}
