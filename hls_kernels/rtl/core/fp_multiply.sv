// binary64 a * b, to nearest even, subnormals are zero. Or, with `horner_in`, a step of Horner's rule
// on integers of 64 bits: the high half of (a - product) * b, where `product` is the output of
// the multiplier five cycles earlier; with `first_in` nothing is subtracted.
//
// Both use one 64 x 64 multiplier of 3 x 4 pieces of 24 x 17 bits, which is what a DSP slice of xc7
// takes. One result per cycle, seven registers; `product` is valid after five.
module fp_multiply (
    input  logic        clk,
    input  logic        horner_in,
    input  logic        first_in,
    input  logic [63:0] a_in,
    input  logic [63:0] b_in,
    output logic [63:0] a,              // the operand, a cycle later, for units that share the port
    output logic [63:0] product,
    output logic [63:0] y
);
    // ---------------------------------------------------------------------------------- 1: operands
    logic [63:0] b;
    logic        horner, first;
    always_ff @(posedge clk) {a, b, horner, first} <= {a_in, b_in, horner_in, first_in};

    // ---------------------------------------------------------- 2: factors, mantissas at their top
    logic [63:0] factor_a, factor_b;
    logic        sign2, zero2;
    logic [11:0] exponent2;             // its top bit: below zero
    always_ff @(posedge clk) begin
        factor_a  <= horner ? a - (first ? 64'b0 : product) : {1'b1, a[51:0], 11'b0};
        factor_b  <= horner ? b : {1'b1, b[51:0], 11'b0};
        sign2     <= a[63] ^ b[63];
        zero2     <= ~|a[62:52] | ~|b[62:52];
        exponent2 <= {1'b0, a[62:52]} + {1'b0, b[62:52]} - 12'd1023;
    end

    // ------------------------------------------------- 3, 4: pieces, registered inside the slices too
    logic [71:0] wide_a;
    logic [67:0] wide_b;
    logic [40:0] piece3 [0:2][0:3], piece4 [0:2][0:3];
    logic        sign3, zero3, sign4, zero4;
    logic [11:0] exponent3, exponent4;
    assign wide_a = {8'b0, factor_a};
    assign wide_b = {4'b0, factor_b};
    always_ff @(posedge clk) begin
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) begin
                piece3[i][j] <= wide_a[24*i +: 24] * wide_b[17*j +: 17];
                piece4[i][j] <= piece3[i][j];
            end
        {sign3, zero3, exponent3} <= {sign2, zero2, exponent2};
        {sign4, zero4, exponent4} <= {sign3, zero3, exponent3};
    end

    // ------------------------------------------------------------------------ 5: rows; 6: the product
    logic [91:0]  row [0:2];
    logic [127:0] sum;
    logic [41:0]  below;                // of the product's low half, what can decide a rounding
    logic         sign5, zero5, sign6, zero6;
    logic [11:0]  exponent5, exponent6;
    assign sum = {36'b0, row[0]} + {12'b0, row[1], 24'b0} + {row[2][79:0], 48'b0};
    always_ff @(posedge clk) begin
        for (int i = 0; i < 3; i++)
            row[i] <= {17'b0, piece4[i][2], 34'b0} + {51'b0, piece4[i][0]}
                    + {piece4[i][3], 51'b0} + {34'b0, piece4[i][1], 17'b0};
        {sign5, zero5, exponent5} <= {sign4, zero4, exponent4};
        product <= sum[127:64];
        below   <= sum[63:22];
        {sign6, zero6, exponent6} <= {sign5, zero5, exponent5};
    end

    // ------------------------------------------- 7: normalise; the product of mantissas is in [1, 4)
    logic [53:0] kept;
    logic        sticky, sign7, zero7, above_two;
    logic [10:0] exponent7;
    assign above_two = product[63];
    always_ff @(posedge clk) begin
        kept      <= above_two ? product[63:10] : product[62:9];
        sticky    <= |below | (|product[8:0]) | (above_two & product[9]);
        sign7     <= sign6;
        zero7     <= zero6 | exponent6[11] | (exponent6 == '0 & ~above_two);
        exponent7 <= exponent6[10:0] + {10'b0, above_two};
    end

    // ---------------------------------------------------------------------- round, without a register
    logic up;
    assign up = kept[0] & (kept[1] | sticky);
    assign y  = {sign7, zero7 ? 63'b0 : {exponent7, kept[52:1]} + {62'b0, up}};
endmodule
