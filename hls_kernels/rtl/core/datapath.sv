// The units controlled by microcode: the memory, the read-only memory, three register banks, one adder,
// one multiplier, one divider, and one converter to integers.
module datapath #(
    parameter ROM = "rom/"
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        wipe,           // write zeros into every register, by index `wipe_at`
    input  logic [4:0]  wipe_at,
    input  logic        is_1024,
    // the next kernel: see issue.sv
    input  logic        start,
    output logic        ready,
    output logic        idle,
    input  logic [4:0]  kernel,
    input  logic [3:0]  level,
    input  logic [3:0]  pair_bit,
    input  logic [9:0]  root,
    input  logic [89:0] places,
    // the sampler's draws
    output logic [2:0]  table_draw,
    input  logic [5:0]  table_candidate,
    input  logic [4:0]  table_base,
    output logic [2:0]  weigh_draw,
    input  logic [7:0]  weigh_random,
    // the sampler's verdicts
    input  logic        second_sample,  // lanes of the first sample test the second
    input  logic        exact,          // kernel `exact` tests this draw
    input  logic [2:0]  exact_draw,
    output logic        weighed,        // pulse: the comparison of every lane is valid
    output logic [7:0]  less,           // by lane: the random byte is less than the threshold's first
    output logic [7:0]  equal,          // equal, or the threshold is not known exactly enough
    output logic [63:0] threshold,      // exactly
    input  logic        accept,         // pulse: the sample is the floor of its centre plus ...
    input  logic        accept_second,
    input  logic [5:0]  accept_candidate,
    // memory from outside, while idle
    input  logic        outer_write,
    input  logic        outer_wipe,     // write to this word of every bank
    input  logic        spare_key,      // but not to those of basis and tree
    input  logic [14:0] outer_place,
    input  logic [63:0] outer_value,
    output logic [63:0] outer_read      // four cycles after its address
);
    `include "falcon_program.svh"
    localparam logic [2:0] PRODUCT = 0, HORNER = 1, RECIPROCAL = 2, SQUARE_ROOT = 3, FRACTION = 6,
                           THRESHOLD = 7;

    logic [MICROWORD_BITS-1:0] microword;
    microword_t  w;
    logic        load_on, multiply_on, add_on, store_on;
    logic [14:0] load_place, store_place;
    logic [9:0]  load_root;
    assign w = microword;
    issue #(.ROM(ROM)) u_issue (
        .clk, .rst, .start, .ready, .idle, .kernel, .level, .pair_bit, .root, .places, .second_sample,
        .microword, .load_on, .multiply_on, .add_on, .store_on, .load_place, .load_root,
        .store_place);

    // -------------------------------------------------------- register banks, by the unit that writes
    logic [24:0]  from;
    logic [319:0] read_l, read_m, read_a;
    logic         write_l, write_m, write_a;
    logic [4:0]   to_l, to_m, to_a;
    logic [63:0]  value_l, value_m, value_a;
    assign from = {w.st_from, w.add_b, w.add_a, w.mul_b, w.mul_a};
    register_bank bank_l (
        .clk, .from, .read(read_l), .write(write_l | wipe), .to(wipe ? wipe_at : to_l),
        .value(wipe ? 64'b0 : value_l));
    register_bank bank_m (
        .clk, .from, .read(read_m), .write(write_m | wipe), .to(wipe ? wipe_at : to_m),
        .value(wipe ? 64'b0 : value_m));
    register_bank bank_a (
        .clk, .from, .read(read_a), .write(write_a | wipe), .to(wipe ? wipe_at : to_a),
        .value(wipe ? 64'b0 : value_a));

    function automatic logic [63:0] pick(input logic [1:0] bank, input logic [63:0] l, m, a, x);
        case (bank)
            2'd0:    pick = l;
            2'd1:    pick = m;
            2'd2:    pick = a;
            default: pick = x;
        endcase
    endfunction
    logic [63:0] quotient, whole, multiply_a, multiply_b, add_a, add_b, store_value;
    assign multiply_a  = pick(w.mul_a_bank, read_l[63:0], read_m[63:0], read_a[63:0], quotient);
    assign multiply_b  = pick(w.mul_b_bank, read_l[127:64], read_m[127:64], read_a[127:64], 64'b0);
    assign add_a       = pick(w.add_a_bank, read_l[191:128], read_m[191:128], read_a[191:128], whole);
    assign add_b       = pick(w.add_b_bank, read_l[255:192], read_m[255:192], read_a[255:192], 64'b0);
    assign store_value = pick(w.st_bank, read_l[319:256], read_m[319:256], read_a[319:256], 64'b0);

    // ----------------------------------------------------------------------------------------- adder
    fp_add adder (
        .clk, .a_in(add_a), .b_in(add_b), .subtract_in(w.add_subtract), .halve_in(w.add_halve),
        .y(value_a));
    logic [5:0] adding [0:6];           // on, register
    always_ff @(posedge clk) begin
        adding[0] <= {add_on, w.add_to};
        for (int i = 1; i < 7; i++) adding[i] <= adding[i-1];
    end
    assign {write_a, to_a} = adding[6];

    // --------------------------------------------------- multiplier, divider, converter: from one slot
    logic [63:0] operand, product, value_multiply;
    fp_multiply multiplier (
        .clk, .horner_in(w.mul_kind == HORNER), .first_in(w.mul_to[0]), .a_in(multiply_a),
        .b_in(multiply_b), .a(operand), .product, .y(value_multiply));
    logic [5:0] multiplying [0:6];
    logic       on1, hold1, dividing;
    logic [2:0] kind1;
    logic [4:0] to1;
    always_ff @(posedge clk) begin
        multiplying[0] <= {multiply_on & w.mul_kind == PRODUCT, w.mul_to};
        for (int i = 1; i < 7; i++) multiplying[i] <= multiplying[i-1];
        {on1, kind1, to1} <= {multiply_on, w.mul_kind, w.mul_to};
        hold1 <= w.mul_b_bank[0];
    end

    logic       divided;
    logic [4:0] divide_to;
    logic [5:0] divide_left;            // a root that stays in the divider needs no register
    assign dividing = on1 & (kind1 == RECIPROCAL | kind1 == SQUARE_ROOT);
    fp_divide divider (
        .clk, .start(dividing | wipe), .root_in(kind1[0]), .x(operand), .y(quotient));
    always_ff @(posedge clk) begin
        divided <= divide_left == 6'd1 & ~dividing;
        if (rst | wipe) divide_left <= '0;
        else if (dividing) begin
            divide_left <= kind1[0] ? (hold1 ? 6'd0 : 6'd55) : 6'd29;
            divide_to   <= to1;
        end else if (|divide_left) divide_left <= divide_left - 6'd1;
    end
    assign write_m = divided | multiplying[6][5];
    assign {to_m, value_m} = divided ? {divide_to, quotient} : {multiplying[6][4:0], value_multiply};

    logic [63:0] converted;
    logic [7:0]  converted_top;
    logic [6:0]  halvings;              // of the exact threshold
    logic        negative;
    fp_convert converter (
        .clk, .kind(kind1[1:0]), .x(operand), .product, .halvings, .y(converted), .negative,
        .top(converted_top));
    logic       converting [0:3];
    logic [1:0] convert_kind [0:3];
    logic [4:0] convert_to [0:3];
    always_ff @(posedge clk) begin
        {converting[0], convert_kind[0], convert_to[0]}
            <= {multiply_on & w.mul_kind[2], w.mul_kind[1:0], w.mul_to};
        for (int i = 1; i < 4; i++)
            {converting[i], convert_kind[i], convert_to[i]}
                <= {converting[i-1], convert_kind[i-1], convert_to[i-1]};
    end

    // ----------------------------------------------------------------------------- the sampler's own
    logic        new_floor, new_halvings, fraction_now, new_threshold;
    assign new_floor     = converting[3] & convert_kind[3] == 2'd0;
    assign new_halvings  = converting[3] & convert_kind[3] == 2'd1;
    assign fraction_now  = converting[3] & convert_kind[3] == FRACTION[1:0];
    assign new_threshold = converting[3] & convert_kind[3] == THRESHOLD[1:0];

    // Bounds of a threshold's first byte: y = x / log 2 with seven integer bits, the halvings; the
    // next eight select a lower bound of 2^-y before halving. Its product with the leading bits of
    // the scale is below the threshold, by less than the slack. Just above an integer, rounding
    // errors of x decide on the halvings: such a y, and a negative one, is left to kernel `exact`. So
    // is every y if the scale is 0, when the threshold wraps around to 2^64 - 1: an invalid key's
    // scale is 0 if it is 1 or more.
    // In LUTs: block RAM in front of the product would be the longest path.
    (* rom_style = "logic" *) logic [POWER_BITS-1:0] powers [0:255];
    logic [POWER_BITS-1:0] power2;
    logic [SCALE_BITS-1:0] scale;
    initial $readmemh({ROM, "powers.hex"}, powers);
    localparam int BYTE = POWER_BITS + SCALE_BITS - 8;
    logic [POWER_BITS+SCALE_BITS:0] product3;
    logic [7:0]  power1, least4, random;
    logic [8:0]  most4;
    logic [3:0]  shift1, shift2, shift3;
    logic        open1, open2, open3, open4;
    logic [3:0]  bounding [0:3];        // on, lane
    always_ff @(posedge clk) begin
        bounding[0] <= {new_halvings, convert_to[3][2:0]};
        for (int i = 1; i < 4; i++) bounding[i] <= bounding[i-1];
        power1 <= converted[56:49];
        shift1 <= |converted[63:61] ? 4'd15 : converted[60:57];
        open1  <= negative | ~|converted[56:41];
        power2 <= powers[power1];
        {shift2, open2} <= {shift1, open1};
        product3 <= {1'b0, power2 * {{POWER_BITS{1'b0}}, scale}};
        {shift3, open3} <= {shift2, open2 | ~|scale};
        least4 <= 8'(product3 >> shift3 >> BYTE);
        most4  <= 9'((product3 + POWER_SLACK[POWER_BITS+SCALE_BITS:0]) >> shift3 >> BYTE);
        open4  <= open3;
        random <= weigh_random;
        if (fraction_now & convert_to[3] == SCALE_REGISTER[4:0])
            scale <= converted[63 -: SCALE_BITS];
        if (wipe) scale <= '0;
    end
    assign weigh_draw = exact ? exact_draw : LANE_DRAW[3*bounding[2][2:0] +: 3];

    always_ff @(posedge clk) begin
        if (new_halvings) halvings <= ~negative ? converted[63:57] : {7{|converted[63:57]}};
        if (new_threshold) threshold <= converted;
        weighed <= new_threshold | bounding[3] == {1'b1, 3'(LANES - 1)};
        if (bounding[3][3]) begin
            less[bounding[3][2:0]]  <= ~open4 & random < least4;
            equal[bounding[3][2:0]] <= open4 | (random >= least4 & {1'b0, random} <= most4);
        end
        if (new_threshold) begin
            less[EXACT_LANE]  <= random < converted_top;
            equal[EXACT_LANE] <= random == converted_top;
        end
        // two statements, because yosys refuses to mix arrays written by index with others
        if (wipe) {less, equal} <= '0;
        if (wipe) {halvings, threshold} <= '0;
    end

    // floors of both centres; once accepted, samples
    logic [51:0] integers [0:1];
    always_ff @(posedge clk)
        for (int i = 0; i < 2; i++)
            if (wipe) integers[i] <= '0;
            else if (new_floor & convert_to[3][0] == i[0]) integers[i] <= converted[51:0];
            else if (accept & accept_second == i[0])
                integers[i] <= integers[i] + {{46{accept_candidate[5]}}, accept_candidate};
    logic [51:0] integer_;
    assign integer_ = integers[w.add_a[0]];
    assign whole    = {12'h433, ~integer_[51], integer_[50:0]};    // above 1.5 * 2^52

    // ---------------------------------------------------------------------------------------- memory
    localparam int WORDS = POLYNOMIALS << MAX_LOGN;
    localparam int BANKS = (WORDS + 1023) / 1024;
    logic        store1, wipe1;
    logic [14:0] store_to1;
    logic [63:0] store_value1;
    always_ff @(posedge clk) begin
        wipe1        <= outer_wipe;
        store1       <= store_on | outer_write;
        store_to1    <= outer_write ? outer_place : store_place;
        store_value1 <= outer_write ? outer_value : {store_value[63] ^ w.st_negate, store_value[62:0]};
    end
    logic [63:0] bank_words [0:BANKS-1];    // two cycles after the address
    logic [63:0] any_bank;
    logic [4:0]  bank2;
    genvar b;
    // basis and tree end with the level of the top; for degree 512 in half of the banks
    localparam int KEY_POLYNOMIALS = PLACE_TREE + 1;
    localparam logic [BANKS-1:0] KEY_1024 = BANKS'((1 << (KEY_POLYNOMIALS + 10)) - 1),
                                 KEY_512 = BANKS'((1 << (KEY_POLYNOMIALS + 9) / 2) - 1);
    logic [BANKS-1:0] spared;
    assign spared = ~spare_key ? '0 : is_1024 ? KEY_1024 : KEY_512;
    generate
        for (b = 0; b < BANKS; b++) begin : banks
            memory_bank bank (
                .clk, .write(wipe1 ? ~spared[b] : store1 & store_to1[14:10] == b), .to(store_to1[9:0]),
                .value(store_value1), .from(load_from1[9:0]), .selected(bank2 == b),
                .read(bank_words[b]));
        end
    endgenerate
    always_comb begin
        any_bank = '0;
        for (int i = 0; i < BANKS; i++) any_bank = any_bank | bank_words[i];
    end

    logic [63:0] rom [0:(1 << MAX_LOGN) + 255];
    initial $readmemh({ROM, "constants.hex"}, rom);
    logic [7:0]  tail;                  // constant, after the roots
    assign table_draw = exact ? exact_draw : w.ld_arg[2:0];
    always_comb
        case ({w.ld_kind, w.ld_arg[4:3]})
            4'b11_00: tail = {2'b01, table_candidate};
            4'b11_01: tail = {3'b001, table_base};
            4'b11_10: tail = {1'b1, halvings};
            default:  tail = {w.ld_arg[7:4], w.ld_arg[3] | (is_1024 & ~|w.ld_arg[7:3]), w.ld_arg[2:0]};
        endcase
    logic [14:0] load_from1;
    logic [10:0] rom_from1;
    logic        from_rom [0:3];
    logic [63:0] memory4, rom2, rom3, rom4;
    logic [5:0]  loading [0:3];         // on, register
    always_ff @(posedge clk) begin
        load_from1 <= idle ? outer_place : load_place;
        rom_from1  <= w.ld_kind[1] ? (11'd1 << MAX_LOGN) + {3'b0, tail}
                                   : {load_root, w.ld_arg[0]};
        bank2      <= load_from1[14:10];
        memory4    <= any_bank;
        rom2       <= rom[rom_from1];
        rom3       <= rom2;
        rom4       <= rom3;
        loading[0]  <= {load_on, w.ld_to};
        from_rom[0] <= |w.ld_kind;
        for (int i = 1; i < 4; i++) {loading[i], from_rom[i]} <= {loading[i-1], from_rom[i-1]};
    end
    assign outer_read = memory4;
    assign write_l = fraction_now | loading[3][5];
    assign to_l    = fraction_now ? convert_to[3] : loading[3][4:0];
    assign value_l = fraction_now ? converted : from_rom[3] ? rom4 : memory4;

`ifndef SYNTHESIS
    // properties of the schedules
    always_ff @(posedge clk)
        if (~rst) begin
            assert (~(fraction_now & loading[3][5])) else $error("two values for bank L");
            assert (~(divided & multiplying[6][5])) else $error("two values for bank M");
            assert (~(dividing & |divide_left)) else $error("the divider is busy");
            assert (~(outer_write & store_on)) else $error("two stores");
            assert (~(new_floor & accept)) else $error("a floor while a sample is accepted");
            assert (~store1 | 32'(store_to1) < WORDS) else $error("a store behind the memory");
        end
`endif
endmodule
