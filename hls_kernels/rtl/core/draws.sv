// Random bits for the sampler, drawn in advance into a queue. A draw is the input of one attempt from
// the generator, in the submission's order: nine bytes for the half Gaussian, one for the sign,
// one for the rejection test. When a test needs more bytes, the draws after it were drawn too early:
// they are dropped, and drawing continues after those bytes.
module draws #(
    parameter ROM = "rom/"
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        wipe,
    input  logic [7:0]  wipe_at,
    input  logic        seed_write,
    input  logic [3:0]  seed_at,
    input  logic [31:0] seed_value,
    input  logic        seeded,         // pulse: begin
    output logic        ready,          // the draws of a round are in the queue
    // the queue's oldest draws, 0 to 4, for three readers
    input  logic [2:0]  table_draw,
    output logic [5:0]  table_candidate,
    output logic [4:0]  table_base,
    input  logic [2:0]  weigh_draw,
    output logic [7:0]  weigh_random,
    input  logic [2:0]  judge_draw,
    output logic [5:0]  judge_candidate,
    input  logic        consume,        // pulse: remove this number of the oldest
    input  logic [2:0]  consume_count,
    input  logic        more,           // pulse: read the byte after a draw, or after the last such byte
    input  logic        more_first,
    output logic        more_valid,     // pulse
    output logic [7:0]  more_byte
);
    `include "falcon_program.svh"
    localparam logic [8:0] LAST_START = 9'd503; // fewer than ten bytes at the end are discarded

    // ---------------------------------- two buffers of 512 bytes: one is filled, the other is read
    logic [31:0] buffers [0:255];
    logic [1:0]  filled;
    logic        filling, go, busy, full, word_write, live, was;
    logic [6:0]  word_at;
    logic [31:0] word_value;
    logic [9:0]  position, committed, next_position;
    chacha generator (
        .clk, .rst(rst | seeded), .wipe, .seed_write, .seed_at, .seed_value, .go, .busy, .full,
        .word_write, .word_at, .word_value);
    assign go = live & ~busy & ~full & ~filled[filling];
    always_ff @(posedge clk)
        if (word_write | wipe) buffers[wipe ? wipe_at : {filling, word_at}] <= wipe ? '0 : word_value;

    // the byte at `position`, read ahead
    logic [31:0] word;
    logic [7:0]  byte_;
    logic        available;
    always_ff @(posedge clk) word <= buffers[next_position[9:2]];
    assign byte_     = word[8*position[1:0] +: 8];
    assign available = filled[position[9]];

    // ------------------------------------------------------------------------------------- the queue
    logic [5:0] candidates [0:7];
    logic [4:0] bases      [0:7];
    logic [7:0] randoms    [0:7];
    logic [9:0] behind     [0:7];       // position of the generator after a draw
    logic [2:0] head;
    logic [3:0] held;
    logic [2:0] table_at, weigh_at, judge_at, consume_at, tail, put_at;
    assign table_at   = head + table_draw;
    assign weigh_at   = head + weigh_draw;
    assign judge_at   = head + judge_draw;
    assign consume_at = head + consume_count - 3'd1;
    assign tail       = head + held[2:0];
    assign put_at     = wipe ? wipe_at[2:0] : tail;
    assign table_candidate = candidates[table_at];
    assign table_base      = bases[table_at];
    assign weigh_random    = randoms[weigh_at];
    assign judge_candidate = candidates[judge_at];
    assign ready = held >= DRAWS[3:0];

    // ---------------------------------------------------------------------------------------- a draw
    typedef enum logic [2:0] {BEGIN, TAKE, COMPARE, PUSH, MORE} state_t;
    state_t      state;
    logic [143:0] half_gaussian_table [0:15], limits;  // two entries each
    logic [71:0] bits;
    initial $readmemh({ROM, "half_gaussian.hex"}, half_gaussian_table);
    logic [3:0]  count;
    logic [7:0]  sign, last;
    logic [3:0]  entry;
    logic [4:0]  base;
    logic        take;
    assign more_byte  = byte_;
    assign more_valid = state == MORE & available;
    assign take = (state == TAKE | state == MORE) & available;
    always_comb begin
        next_position = position + {9'b0, take};
        if (state == BEGIN & ~held[3] & position[8:0] >= LAST_START)
            next_position = {~position[9], 9'b0};
        if (more) next_position = more_first ? behind[judge_at] : committed;
        if (seeded | rst | wipe) next_position = '0;
    end
    always_ff @(posedge clk) begin
        limits   <= half_gaussian_table[entry];
        position <= next_position;
        was      <= committed[9];
        // a buffer is free once all of its draws are consumed
        filled   <= (filled | ({1'b0, full} << filling)) & ~({1'b0, was != committed[9]} << was);
        if (full) filling <= ~filling;
        case (state)
            BEGIN:
                if (~held[3]) begin
                    count <= '0;
                    state <= TAKE;
                end
            TAKE:
                if (take) begin
                    count <= count + 4'd1;
                    {last, sign, bits} <= {byte_, last, sign, bits[71:8]};
                    {entry, base} <= '0;
                    if (count == 4'd10) state <= COMPARE;
                end
            COMPARE: begin              // every entry, so that the time does not depend on the result
                if (entry != '0)
                    base <= base + {4'b0, bits < limits[71:0]} + {4'b0, bits < limits[143:72]};
                entry <= entry + 4'd1;
                if (entry == 4'd9) state <= PUSH;
            end
            PUSH: state <= BEGIN;
            default: if (take) state <= BEGIN;
        endcase
        if (state == PUSH | wipe) begin
            candidates[put_at] <= wipe ? '0 : sign[0] ? {1'b0, base} + 6'd1 : -{1'b0, base};
            bases[put_at]      <= wipe ? '0 : base;
            randoms[put_at]    <= wipe ? '0 : last;
            behind[put_at]     <= wipe ? '0 : position;
        end
        held <= held + {3'b0, state == PUSH} - (consume ? {1'b0, consume_count} : 4'd0);
        if (consume) begin
            head      <= head + consume_count;
            committed <= behind[consume_at];
        end
        if (take & state == MORE) committed <= next_position;
        if (more) begin
            held  <= '0;
            state <= MORE;
            if (more_first) committed <= behind[judge_at];
        end
        if (seeded | rst | wipe) begin
            {filled, filling, held, head, committed, was} <= '0;
            state <= BEGIN;
            live  <= seeded;
        end
        if (wipe) begin
            {bits, sign, last, base, entry, count} <= '0;
        end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk)
        if (~rst & ~wipe) begin
            assert (~consume | {1'b0, consume_count} <= held) else $error("a draw that is not there");
            assert (held <= 4'd8) else $error("the queue is too full");
            assert (~(consume & more)) else $error("consume and more at once");
        end
`endif
endmodule
