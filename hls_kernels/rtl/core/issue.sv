// Issues microwords: runs kernels without a gap, and turns loop counters into
// addresses. Reading the microcode takes two cycles, a third rotates registers and picks addresses.
module issue #(
    parameter ROM = "rom/"
) (
    input  logic        clk,
    input  logic        rst,
    // the next kernel; `kernel` and `level` are valid a cycle before `start`
    input  logic        start,
    output logic        ready,          // taken when `start` and `ready`
    output logic        idle,           // no operation is in progress
    input  logic [4:0]  kernel,
    input  logic [3:0]  level,          // polynomials of 2^level words
    input  logic [3:0]  pair_bit,       // position of the extra bit in the address of a pair
    input  logic [9:0]  root,           // first root of unity
    input  logic [89:0] places,         // 15 bits each for a, b, c, d, e, f
    input  logic        second_sample,  // lanes of the first sample test the second
    // to the units
    output logic [89:0] microword,      // registers already rotated
    output logic        load_on,
    output logic        multiply_on,
    output logic        add_on,
    output logic        store_on,
    output logic [14:0] load_place,
    output logic [9:0]  load_root,
    output logic [14:0] store_place
);
    `include "falcon_program.svh"

    // ------------------------------------------------------------------------ one word after another
    logic [KERNEL_BITS-1:0]    kernels [0:31];
    logic [MICROWORD_BITS-1:0] code    [0:MICROWORDS-1];
    initial begin
        $readmemh({ROM, "kernels.hex"}, kernels);
        $readmemh({ROM, "microcode.hex"}, code);
    end

    kernel_t     entry, looked_up;
    logic [10:0] count;                 // iterations
    logic [1:0]  count_kind;
    assign looked_up  = kernels[kernel];
    assign count_kind = looked_up.count;
    always_ff @(posedge clk) begin
        entry <= looked_up;
        case (count_kind)
            2'd0:    count <= 11'd1;
            2'd1:    count <= 11'd1 << level >> 2;
            2'd2:    count <= 11'd1 << level >> 1;
            default: count <= 11'd1 << level;
        endcase
    end

    logic        running, final_turn, ending;
    logic [9:0]  at, first, last, stop;
    logic [10:0] turn, turns_left, iterations;
    logic [7:0]  live;                  // valid iterations in progress, newest first
    logic        wrap, next_final;
    logic [9:0]  next_at;
    logic [10:0] next_turn;
    assign wrap       = at == last;
    assign next_at    = wrap ? first : at + 10'd1;
    assign next_turn  = turn + 11'd1;
    assign next_final = wrap ? turns_left == 11'd1 : final_turn;
    assign ready      = ~running | ending;
    always_ff @(posedge clk)
        if (rst) running <= 1'b0;
        else if (ready) begin
            running    <= start;
            {at, first, last, stop} <= {entry.first, entry.first, entry.last, entry.stop};
            turn       <= '0;
            iterations <= count;
            turns_left <= count + {8'b0, entry.more_stages} - 11'd1;
            final_turn <= entry.more_stages == '0 & entry.count == '0;
            ending     <= 1'b0;         // no kernel is a single word of a single turn
            live       <= 8'd1;
        end else begin
            at         <= next_at;
            final_turn <= next_final;
            ending     <= next_final & next_at == stop;
            if (wrap) begin
                turn       <= next_turn;
                turns_left <= turns_left - 11'd1;
                live       <= {live[6:0], next_turn < iterations};
            end
        end

    // ------------------------------------------------------------------ read, and follow the counters
    logic [MICROWORD_BITS-1:0] read;
    microword_t  v, w;
    logic        on1, on2, on3, began0, began1, began2;
    logic [10:0] turn1, turn2, pair2, above2;
    logic [7:0]  live1, live2;
    logic [3:0]  pair_bit0, pair_bit1, pair_bit2, level0;
    logic [10:0] low;
    assign pair_bit1 = began1 ? pair_bit0 : pair_bit2;
    assign low       = ~(11'h7ff << pair_bit1);
    always_ff @(posedge clk) begin
        read <= code[at];
        v    <= read;
        {on1, turn1, live1} <= {running & ~rst, turn, live};
        {on2, turn2, live2} <= {on1 & ~rst, turn1, live1};
        on3    <= on2 & ~rst;
        pair2  <= (turn1 & low) | ((turn1 & ~low) << 1);
        above2 <= turn1 >> pair_bit1;
        {began2, began1, began0} <= {began1, began0, ready & start};
        if (began1) pair_bit2 <= pair_bit0;
    end
    assign idle = ~running & ~on1 & ~on2 & ~on3;

    // an operation of stage s belongs to the iteration that began s turns ago
    logic [32:0] history [0:15], load_past, store_past, load_then, store_then;
    logic [3:0]  load_at, store_at;
    assign load_at    = turn2[3:0] - {1'b0, v.ld_stage};
    assign store_at   = turn2[3:0] - {1'b0, v.st_stage};
    assign load_past  = history[load_at];
    assign store_past = history[store_at];
    always_ff @(posedge clk) begin
        history[turn2[3:0]] <= {above2, pair2, turn2};
        load_then  <= v.ld_stage == 0 ? {above2, pair2, turn2} : load_past;
        store_then <= v.st_stage == 0 ? {above2, pair2, turn2} : store_past;
    end

    // --------------------------------------------------------------------------- rotate, and address
    logic [9:0]  root0, root3;
    logic [89:0] places0;
    logic [14:0] places3 [0:5];
    logic [14:0] whole3, apart3;        // a polynomial; the two of a pair
    always_ff @(posedge clk) begin
        if (ready & start) {places0, pair_bit0, root0, level0} <= {places, pair_bit, root, level};
        if (began2) begin               // the sequencer needs more than three cycles for the next one
            for (int i = 0; i < 6; i++) places3[i] <= places0[15*(5-i) +: 15];
            root3  <= root0;
            whole3 <= 15'd1 << level0;
            apart3 <= 15'd1 << pair_bit0;
        end
        w       <= v;
        w.ld_to <= v.ld_to + turn2[4:0];
        w.mul_to <= v.mul_kind == 3'd0 | v.mul_kind == 3'd2 | v.mul_kind == 3'd3
                  ? v.mul_to + turn2[4:0] : v.mul_to;
        w.mul_a <= v.mul_a + turn2[4:0];
        w.mul_b <= v.mul_b + turn2[4:0];
        w.add_to <= v.add_to + turn2[4:0];
        w.add_a <= v.add_a_bank == 2'd3 ? v.add_a : v.add_a + turn2[4:0];
        w.add_b <= second_sample & v.add_b == FIRST_FRACTION[4:0] ? v.add_b - 5'd1
                 : v.add_b + turn2[4:0];
        w.st_from <= v.st_from + turn2[4:0];
        load_on     <= on2 & v.ld_on & live2[v.ld_stage];
        multiply_on <= on2 & v.mul_on & live2[v.mul_stage];
        add_on      <= on2 & v.add_on & live2[v.add_stage];
        store_on    <= on2 & v.st_on & live2[v.st_stage];
    end
    assign microword = w;

    // half, quarter and second of a pair are bits that the index leaves free, so they need no adder
    function automatic logic [14:0] place(input logic [7:0] how, input logic [21:0] then);
        logic [14:0] offset;
        offset = {4'b0, how[3] ? then[21:11] : then[10:0]} | (how[4] ? apart3 : '0)
               | (how[5] ? whole3 >> 1 : '0) | (how[6] ? whole3 >> 2 : '0) | (how[7] ? whole3 : '0);
        place = places3[how[2:0]] + offset;
    endfunction
    assign load_place  = place(w.ld_arg, load_then[21:0]);
    assign store_place = place(w.st_place, store_then[21:0]);
    assign load_root   = root3 + load_then[31:22];

`ifndef SYNTHESIS
    always_ff @(posedge clk)
        if (~rst & ready & start) assert (~(began0 | began1 | began2)) else $error("kernels too close");
`endif
endmodule
