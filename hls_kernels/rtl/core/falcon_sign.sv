// falcon_sign: one signing attempt of Falcon-512 or -1024 per start, with the registers and the bus of
// the core that Vitis HLS makes of hls_kernels/src/falcon_sign.cpp. The images of
// the assembler configure whether the key is kept expanded and whether degree 1024 is left out.
module falcon_sign #(
    parameter ROM = "rom/"                      // the folder of the images, with a slash
) (
    input  logic        ap_clk,
    input  logic        ap_rst_n,
    output logic        interrupt,
    // AXI4-Lite
    input  logic [6:0]  s_axi_control_AWADDR,
    input  logic        s_axi_control_AWVALID,
    output logic        s_axi_control_AWREADY,
    input  logic [31:0] s_axi_control_WDATA,
    input  logic [3:0]  s_axi_control_WSTRB,
    input  logic        s_axi_control_WVALID,
    output logic        s_axi_control_WREADY,
    output logic [1:0]  s_axi_control_BRESP,
    output logic        s_axi_control_BVALID,
    input  logic        s_axi_control_BREADY,
    input  logic [6:0]  s_axi_control_ARADDR,
    input  logic        s_axi_control_ARVALID,
    output logic        s_axi_control_ARREADY,
    output logic [31:0] s_axi_control_RDATA,
    output logic [1:0]  s_axi_control_RRESP,
    output logic        s_axi_control_RVALID,
    input  logic        s_axi_control_RREADY,
    // AXI4
    output logic [0:0]  m_axi_gmem_ARID,
    output logic [63:0] m_axi_gmem_ARADDR,
    output logic [7:0]  m_axi_gmem_ARLEN,
    output logic [2:0]  m_axi_gmem_ARSIZE,
    output logic [1:0]  m_axi_gmem_ARBURST,
    output logic [1:0]  m_axi_gmem_ARLOCK,
    output logic [3:0]  m_axi_gmem_ARCACHE,
    output logic [2:0]  m_axi_gmem_ARPROT,
    output logic [3:0]  m_axi_gmem_ARQOS,
    output logic [3:0]  m_axi_gmem_ARREGION,
    output logic        m_axi_gmem_ARVALID,
    input  logic        m_axi_gmem_ARREADY,
    input  logic [0:0]  m_axi_gmem_RID,
    input  logic [31:0] m_axi_gmem_RDATA,
    input  logic [1:0]  m_axi_gmem_RRESP,
    input  logic        m_axi_gmem_RLAST,
    input  logic        m_axi_gmem_RVALID,
    output logic        m_axi_gmem_RREADY,
    output logic [0:0]  m_axi_gmem_AWID,
    output logic [63:0] m_axi_gmem_AWADDR,
    output logic [7:0]  m_axi_gmem_AWLEN,
    output logic [2:0]  m_axi_gmem_AWSIZE,
    output logic [1:0]  m_axi_gmem_AWBURST,
    output logic [1:0]  m_axi_gmem_AWLOCK,
    output logic [3:0]  m_axi_gmem_AWCACHE,
    output logic [2:0]  m_axi_gmem_AWPROT,
    output logic [3:0]  m_axi_gmem_AWQOS,
    output logic [3:0]  m_axi_gmem_AWREGION,
    output logic        m_axi_gmem_AWVALID,
    input  logic        m_axi_gmem_AWREADY,
    output logic [31:0] m_axi_gmem_WDATA,
    output logic [3:0]  m_axi_gmem_WSTRB,
    output logic        m_axi_gmem_WLAST,
    output logic        m_axi_gmem_WVALID,
    input  logic        m_axi_gmem_WREADY,
    input  logic [0:0]  m_axi_gmem_BID,
    input  logic [1:0]  m_axi_gmem_BRESP,
    input  logic        m_axi_gmem_BVALID,
    output logic        m_axi_gmem_BREADY
);
    `include "falcon_program.svh"
    localparam logic [31:0] SIGNED = 1, RETRY = 2, REFUSED = 3, BUS = 4, ABORTED = 5;
    logic clk, rst;
    assign clk = ap_clk;
    always_ff @(posedge clk) rst <= ~ap_rst_n;

    // bursts of whole words at rising addresses, unprivileged, secure, cacheable as Vitis has it
    assign {m_axi_gmem_ARID, m_axi_gmem_AWID} = '0;
    assign m_axi_gmem_ARSIZE   = 3'b010;
    assign m_axi_gmem_AWSIZE   = 3'b010;
    assign m_axi_gmem_ARBURST  = 2'b01;
    assign m_axi_gmem_AWBURST  = 2'b01;
    assign m_axi_gmem_ARCACHE  = 4'b0011;
    assign m_axi_gmem_AWCACHE  = 4'b0011;
    assign {m_axi_gmem_ARLOCK, m_axi_gmem_ARPROT, m_axi_gmem_ARQOS, m_axi_gmem_ARREGION} = '0;
    assign {m_axi_gmem_AWLOCK, m_axi_gmem_AWPROT, m_axi_gmem_AWQOS, m_axi_gmem_AWREGION} = '0;
    assign m_axi_gmem_WSTRB    = 4'hf;

    // AXI requires that nothing is offered during a reset
    logic awake, arvalid, awvalid, wvalid, bvalid, rvalid;
    assign awake = ap_rst_n & ~rst;
    assign m_axi_gmem_ARVALID   = awake & arvalid;
    assign m_axi_gmem_AWVALID   = awake & awvalid;
    assign m_axi_gmem_WVALID    = awake & wvalid;
    assign s_axi_control_BVALID = awake & bvalid;
    assign s_axi_control_RVALID = awake & rvalid;

    // ------------------------------------------------------------------------------ order of business
    logic        go, done, seed, give, walk, walked, refused, mover_done, short_enough, bus_failed;
    logic        is_1024, can, waiting, abort, halt, mover_idle, clear;
    logic        keep_key, use_key, forget_key, key_kept, kept_1024, spare_key, wiped;
    logic [31:0] logn, status;
    logic [63:0] request, response;
    typedef enum logic [2:0] {CLEAR, REST, SEED, WALK, GIVE} state_t;
    state_t      state;
    assign is_1024 = logn[1];
    assign can = (logn == 32'd9 | (logn == 32'd10 & MAX_LOGN == 10))
               & request[1:0] == '0 & response[1:0] == '0
               & (~use_key | (key_kept & kept_1024 == is_1024));
    assign halt = state == WALK & abort & mover_idle;
    always_ff @(posedge clk) begin
        {seed, give, walk, done, clear} <= '0;
        // The key stays only after an attempt that ended well. This is decided when wiping begins: a
        // later abort must not leave half of it.
        wiped <= wipe;
        if (state == GIVE & ~wiped)
            spare_key <= KEEPS_KEY[0] & keep_key & ~(abort | bus_failed | refused);
        case (state)
            CLEAR: begin                // a reset wipes; a start waits for the end
                if (go) waiting <= 1'b1;
                if (mover_done) begin
                    key_kept <= 1'b0;
                    state    <= REST;
                end
            end
            REST:
                if (forget_key) begin
                    clear     <= 1'b1;
                    spare_key <= 1'b0;
                    state     <= CLEAR;
                end else if (go | waiting) begin
                    waiting <= 1'b0;
                    status  <= REFUSED;
                    seed    <= can;
                    done    <= ~can;
                    if (can) state <= SEED;
                end
            SEED:
                if (mover_done) begin
                    give  <= bus_failed;
                    walk  <= ~bus_failed;
                    state <= bus_failed ? GIVE : WALK;
                end
            WALK:
                if (walked | halt) begin
                    give  <= 1'b1;
                    state <= GIVE;
                end
            default:
                if (mover_done) begin
                    status <= abort ? ABORTED : bus_failed ? BUS : refused ? REFUSED
                            : short_enough ? SIGNED : RETRY;
                    key_kept  <= spare_key;
                    kept_1024 <= is_1024;
                    done   <= 1'b1;
                    state  <= REST;
                end
        endcase
        if (rst) begin
            state <= CLEAR;
            {seed, give, walk, done, clear, waiting, key_kept, kept_1024, spare_key, wiped} <= '0;
        end
    end

    // ------------------------------------------------------------------------------------------ parts
    logic        start, ready, idle, load, wipe, seed_write, outer_write, outer_wipe;
    logic        second_sample, exact, weighed, accept, accept_second, draws_ready, consume, more, more_first,
                 more_valid;
    logic [2:0]  load_part, consume_count, table_draw, weigh_draw, judge_draw;
    logic [3:0]  level, pair_bit, seed_at;
    logic [4:0]  kernel, table_base;
    logic [5:0]  table_candidate, judge_candidate, accept_candidate;
    logic [7:0]  weigh_random, more_byte, less, equal;
    logic [9:0]  root, wipe_at;
    logic [14:0] load_place, outer_place;
    logic [31:0] seed_value;
    logic [63:0] outer_value, outer_read, threshold;
    logic [89:0] places;

    control u_control (
        .clk, .rst, .interrupt, .go, .done, .status_in(status), .request, .response, .logn, .abort,
        .keep_key, .use_key, .forget_key, .key_kept, .awaddr(s_axi_control_AWADDR), .awvalid(s_axi_control_AWVALID),
        .awready(s_axi_control_AWREADY), .wdata(s_axi_control_WDATA), .wstrb(s_axi_control_WSTRB),
        .wvalid(s_axi_control_WVALID), .wready(s_axi_control_WREADY), .bresp(s_axi_control_BRESP),
        .bvalid, .bready(s_axi_control_BREADY), .araddr(s_axi_control_ARADDR),
        .arvalid(s_axi_control_ARVALID), .arready(s_axi_control_ARREADY),
        .rdata(s_axi_control_RDATA), .rresp(s_axi_control_RRESP), .rvalid,
        .rready(s_axi_control_RREADY));
    mover u_mover (
        .clk, .rst, .is_1024, .abort, .request, .response, .seed, .load, .load_part, .load_place, .give,
        .refused, .clear, .done(mover_done), .short_enough, .failed(bus_failed), .idle(mover_idle),
        .wipe, .wipe_at, .write(outer_write), .write_banks(outer_wipe), .place(outer_place),
        .value(outer_value), .read(outer_read), .seed_write, .seed_at, .seed_value,
        .araddr(m_axi_gmem_ARADDR), .arlen(m_axi_gmem_ARLEN),
        .arvalid, .arready(m_axi_gmem_ARREADY), .rdata(m_axi_gmem_RDATA),
        .rresp(m_axi_gmem_RRESP), .rlast(m_axi_gmem_RLAST), .rvalid(m_axi_gmem_RVALID),
        .rready(m_axi_gmem_RREADY), .awaddr(m_axi_gmem_AWADDR), .awlen(m_axi_gmem_AWLEN),
        .awvalid, .awready(m_axi_gmem_AWREADY), .wdata(m_axi_gmem_WDATA),
        .wlast(m_axi_gmem_WLAST), .wvalid, .wready(m_axi_gmem_WREADY),
        .bresp(m_axi_gmem_BRESP), .bvalid(m_axi_gmem_BVALID), .bready(m_axi_gmem_BREADY));
    sequencer #(.ROM(ROM)) u_sequencer (
        .clk, .rst(rst | halt), .wipe, .is_1024, .key_kept(use_key), .go(walk), .done(walked), .failed(refused), .start,
        .ready, .idle, .kernel, .level, .pair_bit, .root, .places, .load, .load_part, .load_place,
        .load_done(mover_done), .load_failed(bus_failed), .second_sample, .exact, .weighed, .less, .equal,
        .threshold, .accept, .accept_second, .accept_candidate, .draws_ready, .judge_draw,
        .judge_candidate, .consume, .consume_count, .more, .more_first, .more_valid, .more_byte);
    draws #(.ROM(ROM)) u_draws (
        .clk, .rst, .wipe, .wipe_at(wipe_at[7:0]), .seed_write, .seed_at, .seed_value, .seeded(walk),
        .ready(draws_ready), .table_draw, .table_candidate, .table_base, .weigh_draw, .weigh_random,
        .judge_draw, .judge_candidate, .consume, .consume_count, .more, .more_first, .more_valid,
        .more_byte);
    datapath #(.ROM(ROM)) u_datapath (
        .clk, .rst(rst | halt), .wipe, .wipe_at(wipe_at[4:0]), .is_1024, .start, .ready, .idle,
        .kernel, .level, .pair_bit, .root, .places, .table_draw, .table_candidate, .table_base, .weigh_draw,
        .weigh_random, .second_sample, .exact, .exact_draw(judge_draw), .weighed, .less, .equal,
        .threshold, .accept,
        .accept_second, .accept_candidate, .outer_write, .outer_wipe, .spare_key, .outer_place, .outer_value,
        .outer_read);
endmodule
