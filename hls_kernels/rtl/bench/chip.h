// The engine with its two buses, and a profile of its cycles.
#ifndef FALCON_RTL_CHIP_H
#define FALCON_RTL_CHIP_H

#include "Vfalcon_sign.h"
#include "Vfalcon_sign___024root.h"
#include "bus.h"
#include "kernel_numbers.h"

#ifdef RTL_COVERAGE
#include <cstdlib>

#include "verilated_cov.h"
#endif

static const unsigned CTRL = REGISTER_CTRL, REQUEST = REGISTER_REQUEST_1,
                      RESPONSE = REGISTER_RESPONSE_1, LOGN = REGISTER_LOGN,
                      STATUS = REGISTER_STATUS, VERSION = REGISTER_VERSION,
                      CYCLES = REGISTER_CYCLES, ABORT = REGISTER_ABORT;
enum Place { VERDICTS = KERNELS, RANDOM_BITS, TRANSFERS, WIPING, SEQUENCING, PLACES };

#define INSIDE(name) (u.rootp->falcon_sign__DOT__##name)

class Chip {
  public:
    Vfalcon_sign u;
    Bus bus;
    uint64_t cycles = 0;
    uint64_t spent[PLACES] = {};    // cycles by kernel and by other causes
    uint64_t starts[KERNELS] = {};

    // Names of the sequencer's and the top's states, in their order in the source.
    enum { SEQ_STOPPED, SEQ_FETCH, SEQ_READ, SEQ_DECODE, SEQ_PREPARE, SEQ_ISSUE, SEQ_LOADING,
           SEQ_DRAW, SEQ_WEIGH, SEQ_JUDGE, SEQ_ASK, SEQ_HEAR, SEQ_COMPARE, SEQ_REFINE };
    enum { TOP_CLEAR, TOP_REST, TOP_SEED, TOP_WALK, TOP_GIVE };

    static const unsigned WIPE_CYCLES = 1024 + 16;  // after a reset, until every word is zero

    Chip() {
        // with random power-on state the inputs are random, too
        u.s_axi_control_ARVALID = u.s_axi_control_AWVALID = u.s_axi_control_WVALID = 0;
        reset(8);
        for (unsigned k = 0; k < WIPE_CYCLES; k++) tick();
    }

#ifdef RTL_COVERAGE
    // Write the counts before they are freed with the model: a numbered file for each chip.
    ~Chip() {
        static int number = 0;
        VerilatedCovContext *const counts = Verilated::threadContextp()->coveragep();
        counts->write((std::getenv("COVERAGE_FILE") + std::to_string(number++)).c_str());
        counts->clear();
    }
#endif

    // Reset the core for some cycles; `bus_too`: and the memory on its bus.
    void reset(unsigned length, bool bus_too = true) {
        bus.reset(bus_too);
        u.ap_rst_n = 0;
        for (unsigned k = 0; k < length; k++) tick();
        u.ap_rst_n = 1;
        tick();
        bus.reset(bus_too);
    }

    void tick() {
        u.ap_clk = 0;
        bus.offer(u);
        account();
        bus.take(u);
        u.ap_clk = 1;
        u.eval();
        cycles++;
    }

    // Delays of the host on AXI4-Lite, in cycles: address and data of a write, READY of responses.
    unsigned late_address = 0, late_data = 0, late_ready = 0;

    void write(unsigned at, uint32_t value, unsigned strobes = 15) {
        u.s_axi_control_AWADDR = at;
        u.s_axi_control_WDATA = value;
        u.s_axi_control_WSTRB = strobes;
        u.s_axi_control_BREADY = late_ready == 0;
        bool taken = false;
        for (unsigned k = 0; !taken; k++) {
            u.s_axi_control_AWVALID = k >= late_address;
            u.s_axi_control_WVALID = k >= late_data;
            u.eval();
            taken = u.s_axi_control_AWREADY && u.s_axi_control_WREADY;
            tick();
        }
        u.s_axi_control_AWVALID = u.s_axi_control_WVALID = 0;
        while (!u.s_axi_control_BVALID) tick();
        for (unsigned k = 0; k < late_ready; k++) tick();
        u.s_axi_control_BREADY = 1;
        tick();
    }

    uint32_t read(unsigned at) {
        u.s_axi_control_ARADDR = at;
        u.s_axi_control_ARVALID = 1;
        u.s_axi_control_RREADY = late_ready == 0;
        for (bool taken = false; !taken;) {
            u.eval();
            taken = u.s_axi_control_ARREADY;
            tick();
        }
        u.s_axi_control_ARVALID = 0;
        while (!u.s_axi_control_RVALID) tick();
        for (unsigned k = 0; k < late_ready; k++) tick();
        u.s_axi_control_RREADY = 1;
        const uint32_t value = u.s_axi_control_RDATA;
        tick();
        return value;
    }

    bool running() { return INSIDE(u_control__DOT__running); }

    // Tick until the attempt has ended, or for a maximum number of cycles.
    uint64_t run(uint64_t most) {
        const uint64_t begin = cycles;
        while (cycles - begin < most && running()) tick();
        return cycles - begin;
    }

    void start(uint64_t request, uint64_t response, uint32_t logn) {
        write(REQUEST, (uint32_t)request);
        write(REQUEST + 4, request >> 32);
        write(RESPONSE, (uint32_t)response);
        write(RESPONSE + 4, response >> 32);
        write(LOGN, logn);
        write(CTRL, 1);
    }

  private:
    void account() {
        const int top = INSIDE(state), step = INSIDE(u_sequencer__DOT__state);
        if (top == TOP_CLEAR || top == TOP_REST) return;
        if (top != TOP_WALK) {
            spent[INSIDE(wipe) ? WIPING : TRANSFERS]++;
        } else if (step == SEQ_LOADING) {
            spent[TRANSFERS]++;
        } else if (INSIDE(u_datapath__DOT__u_issue__DOT__running)) {
            spent[now]++;
        } else if (step == SEQ_DRAW && !INSIDE(u_draws__DOT__ready)) {
            spent[RANDOM_BITS]++;
        } else {
            spent[INSIDE(u_sequencer__DOT__sampling) ? VERDICTS : SEQUENCING]++;
        }
        if (u.rootp->falcon_sign__DOT__start && u.rootp->falcon_sign__DOT__ready) {
            now = INSIDE(u_datapath__DOT__u_issue__DOT__kernel);
            starts[now]++;
        }
    }
    int now = 0;
};

#endif
