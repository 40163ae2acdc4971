// All transfers over the bus: seed, key and target in, the short vector out. Then wipes the memory.
//
// An AXI4 master of 32 bits with one burst at a time. A burst ends at the next multiple of 64
// bytes, so it has at most 16 beats (what the AXI3 ports of a Zynq-7000 take) and crosses no 4 KiB page.
// A response other than OKAY, or an early or late last beat, ends all traffic: nothing more is read or
// written, and the attempt ends with the status "bus".
//
// `abort` ends all traffic after the burst that is under way. A reset wipes, too, and beats of a read
// burst that it cut off are taken and ignored meanwhile.
module mover (
    input  logic        clk,
    input  logic        rst,
    input  logic        is_1024,
    input  logic        abort,          // no further burst
    input  logic [63:0] request,
    input  logic [63:0] response,
    // commands: pulses
    input  logic        seed,           // the generator's seed
    input  logic        load,           // a part of the request, into memory
    input  logic [2:0]  load_part,
    input  logic [14:0] load_place,
    input  logic        give,           // compare the length with the bound, write the response, wipe
    input  logic        refused,        // the response is all zeros
    input  logic        clear,          // wipe
    output logic        done,           // pulse
    output logic        short_enough,
    output logic        failed,         // the bus
    output logic        idle,           // no command is in progress or just beginning
    output logic        wipe,
    output logic [9:0]  wipe_at,
    // memory of the engine; `read` is valid four cycles after its address
    output logic        write,
    output logic        write_banks,    // to this word of every bank
    output logic [14:0] place,
    output logic [63:0] value,
    input  logic [63:0] read,
    // the generator's seed
    output logic        seed_write,
    output logic [3:0]  seed_at,
    output logic [31:0] seed_value,
    // AXI
    output logic [63:0] araddr,
    output logic [7:0]  arlen,
    output logic        arvalid,
    input  logic        arready,
    input  logic [31:0] rdata,
    input  logic [1:0]  rresp,
    input  logic        rlast,
    input  logic        rvalid,
    output logic        rready,
    output logic [63:0] awaddr,
    output logic [7:0]  awlen,
    output logic        awvalid,
    input  logic        awready,
    output logic [31:0] wdata,
    output logic        wlast,
    output logic        wvalid,
    input  logic        wready,
    input  logic [1:0]  bresp,
    input  logic        bvalid,
    output logic        bready
);
    `include "falcon_program.svh"
    typedef enum logic [3:0] {
        IDLE, AIM, ASK, TAKE, UNPACK, SETTLE, DRAIN, NORM, JUDGE, OFFER, FETCH, SEND, ANSWER, WIPE
    } state_t;
    state_t      state;
    logic        is_seed, is_target, as_integers, second_turn;
    logic [14:0] n, to, index, behind;  // behind: offset in the request
    logic [9:0]  words_left;            // of 32 bits
    logic [3:0]  beats_left;            // of the burst, but one
    logic [31:0] word;
    logic [1:0]  part, turn;
    logic [2:0]  wait_;
    logic [15:0] low;
    assign n = is_1024 ? 15'd1024 : 15'd512;
    function automatic logic [14:0] polynomials(input logic [4:0] count);
        polynomials = is_1024 ? {count, 10'b0} : {1'b0, count, 9'b0};
    endfunction

    // a burst: to the next multiple of 64 bytes, or the remaining words
    logic [3:0] room, burst;            // beats but one
    assign room  = 4'd15 - (state == ASK ? araddr[5:2] : awaddr[5:2]);
    assign burst = words_left <= {6'b0, room} ? words_left[3:0] - 4'd1 : room;
    assign arlen = {4'b0, burst};
    assign awlen = {4'b0, burst};
    assign arvalid = state == ASK;
    assign awvalid = state == OFFER;
    assign rready  = state == TAKE | state == DRAIN | state == IDLE | state == WIPE;
    assign bready  = state == ANSWER | state == IDLE | state == WIPE;
    assign wvalid  = state == SEND;
    assign wlast   = beats_left == '0;
    assign seed_value = rdata;
    assign seed_write = state == TAKE & rvalid & is_seed;

    // ----------------------------------------- small integers become binary64, in two cycles, or stay
    logic [15:0] piece, magnitude, aligned;
    logic [14:0] to1;
    logic        on1, minus1;
    logic [3:0]  zeros;
    assign piece = is_target ? word[15:0] : {{8{word[7]}}, word[7:0]};
    always_comb begin
        zeros = '0;
        for (int i = 0; i < 16; i++) if (magnitude[i]) zeros = 4'd15 - i[3:0];
        aligned = magnitude << zeros;
    end
    always_ff @(posedge clk) begin
        on1       <= state == UNPACK;
        minus1    <= piece[15] & ~as_integers;
        magnitude <= piece[15] & ~as_integers ? -piece : piece;
        to1       <= to;
        write     <= on1;
        if (on1)
            value <= as_integers ? {48'b0, magnitude}
                   : {minus1, ~|magnitude ? 63'b0 : {11'd1038 - {7'b0, zeros}, aligned[14:0], 37'b0}};
        if (wipe) {write, value} <= {1'b1, 64'b0};
        write_banks <= wipe;
        if (rst) {on1, write, write_banks} <= '0;
    end
    logic [14:0] to2;
    always_ff @(posedge clk) to2 <= wipe ? {5'b0, wipe_at} : to1;

    // ----------------------------------------------------------------------------- length of the vector
    logic       on_d [0:3];
    logic [1:0] which_d [0:3];
    logic       fits;
    always_ff @(posedge clk) begin
        {on_d[0], which_d[0]} <= {state == NORM, turn};
        for (int i = 1; i < 4; i++) {on_d[i], which_d[i]} <= {on_d[i-1], which_d[i-1]};
    end
    norm u_norm (
        .clk, .clear(wipe | state == IDLE), .is_1024, .on(on_d[3]), .which(which_d[3]), .value(read),
        .short_enough(fits));
    logic [14:0] polynomial;
    always_comb begin
        case (state == NORM ? turn : 2'd2)
            2'd0:    polynomial = polynomials(PLACE_T0[4:0]);
            2'd1:    polynomial = polynomials(PLACE_FRAMES[4:0]);
            default: polynomial = polynomials(PLACE_T1[4:0]);
        endcase
        place = write ? to2 : polynomial + index;
    end

    always_ff @(posedge clk) begin
        done <= 1'b0;
        case (state)
            IDLE: begin
                is_seed     <= seed;
                is_target   <= load_part[2];
                as_integers <= load_part == PART_INTEGERS[2:0];
                {seed_at, index, turn} <= '0;
                to          <= load_place;
                if (seed) begin
                    behind     <= polynomials(5'd6);
                    words_left <= 10'd14;
                    failed     <= 1'b0;
                    state      <= AIM;
                end else if (load) begin
                    behind     <= polynomials(load_part[2] ? 5'd4 : {2'b0, load_part});
                    words_left <= load_part[2] ? n[10:1] : n[11:2];
                    state      <= AIM;
                end else if (give) begin
                    awaddr       <= response;
                    words_left   <= n[10:1];
                    short_enough <= 1'b0;
                    state        <= failed | abort ? WIPE : refused ? OFFER : NORM;
                end else if (clear) state <= WIPE;
            end
            // ------------------------------------------------------------------------------- reading
            AIM: begin
                araddr <= request + {49'b0, behind};
                state  <= abort ? SETTLE : ASK;
            end
            ASK:
                if (arready) begin
                    araddr     <= {araddr[63:6] + 58'd1, 6'b0};
                    beats_left <= burst;
                    state      <= TAKE;
                end
            TAKE:
                if (rvalid) begin
                    word       <= rdata;
                    part       <= '0;
                    seed_at    <= seed_at + 4'd1;
                    words_left <= words_left - 10'd1;
                    beats_left <= beats_left - 4'd1;
                    state      <= ~is_seed ? UNPACK : words_left == 10'd1 ? SETTLE
                                : beats_left == '0 ? ASK : TAKE;
                    if (rresp != '0 | rlast != (beats_left == '0)) begin
                        failed <= 1'b1;
                        state  <= rlast ? SETTLE : DRAIN;
                    end else if (abort) state <= rlast ? SETTLE : DRAIN;
                end
            UNPACK: begin
                to   <= to + 15'd1;
                part <= part + 2'd1;
                word <= is_target ? word >> 16 : word >> 8;
                if (part == (is_target ? 2'd1 : 2'd3))
                    state <= words_left == '0 | (beats_left == 4'd15 & abort) ? SETTLE
                           : beats_left == 4'd15 ? ASK : TAKE;
            end
            DRAIN: if (rvalid & rlast) state <= SETTLE;
            SETTLE: begin               // the last values are being written to memory
                turn <= turn + 2'd1;
                if (turn == 2'd3) begin
                    done  <= 1'b1;
                    state <= IDLE;
                end
            end
            // ------------------------------------------------------------------------------- writing
            NORM: begin
                turn <= turn == 2'd2 ? 2'd0 : turn + 2'd1;
                if (turn == 2'd2) begin
                    index <= index == n - 15'd1 ? 15'd0 : index + 15'd1;
                    if (index == n - 15'd1) begin
                        wait_ <= '0;
                        state <= JUDGE;
                    end
                end
            end
            JUDGE: begin
                wait_ <= wait_ + 3'd1;
                if (wait_ == 3'd7) begin
                    short_enough <= fits;
                    state        <= abort ? WIPE : OFFER;
                end
            end
            OFFER: begin
                wait_ <= '0;
                if (awready) begin
                    beats_left <= burst;
                    awaddr     <= {awaddr[63:6] + 58'd1, 6'b0};
                    state      <= FETCH;
                end
            end
            FETCH: begin                // two coefficients, each four cycles after its address
                wait_ <= wait_ + 3'd1;
                if (wait_ == 3'd0 | wait_ == 3'd1) index <= index + 15'd1;
                if (wait_ == 3'd4) low <= read[15:0];
                if (wait_ == 3'd5) begin
                    wdata <= short_enough ? {read[15:0], low} : 32'b0;
                    state <= SEND;
                end
            end
            SEND:
                if (wready) begin
                    wait_      <= '0;
                    words_left <= words_left - 10'd1;
                    beats_left <= beats_left - 4'd1;
                    state      <= wlast ? ANSWER : FETCH;
                end
            ANSWER:
                if (bvalid) begin
                    failed <= bresp != '0;
                    state  <= words_left == '0 | bresp != '0 | abort ? WIPE : OFFER;
                end
            default: begin              // WIPE
                // eight words twice, so that nothing that was read before remains in a register
                wipe_at <= wipe_at + 10'd1;
                second_turn <= second_turn | wipe_at == 10'd1023;
                if (second_turn & wipe_at == 10'd7) begin
                    done  <= 1'b1;
                    state <= IDLE;
                end
            end
        endcase
        if (state != WIPE) {wipe_at, second_turn} <= '0;
        if (wipe) {word, low, wdata} <= '0;
        if (rst) begin
            state <= WIPE;
            {done, failed, wipe_at, second_turn} <= '0;
        end
    end
    assign wipe = state == WIPE;
    assign idle = state == IDLE & ~(seed | load | give | clear);
endmodule
