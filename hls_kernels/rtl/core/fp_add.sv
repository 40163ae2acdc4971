// binary64 a + b or a - b, halved on request: to nearest even. One result per cycle, seven registers;
// the register bank that takes the result is the eighth.
//
// Subnormal results are zero and there is no infinity and no NaN: signing has no such operands
// or results, and the bench of the units tests the limit.
module fp_add (
    input  logic        clk,
    input  logic [63:0] a_in,
    input  logic [63:0] b_in,
    input  logic        subtract_in,
    input  logic        halve_in,
    output logic [63:0] y
);
    // ---------------------------------------------------------------------------------- 1: operands
    logic [63:0] a, b;
    logic        subtract, halve;
    always_ff @(posedge clk) {a, b, subtract, halve} <= {a_in, b_in, subtract_in, halve_in};

    // ------------------------------------------------------------------ 2: larger magnitude, distance
    logic        sign_b, swap;
    logic [10:0] a_less_b, b_less_a;
    logic [52:0] mantissa_a, mantissa_b;
    assign sign_b     = b[63] ^ subtract;
    assign swap       = a[62:0] < b[62:0];
    assign a_less_b   = a[62:52] - b[62:52];
    assign b_less_a   = b[62:52] - a[62:52];
    assign mantissa_a = {|a[62:52], a[51:0]};
    assign mantissa_b = {|b[62:52], b[51:0]};

    logic        sign2, minus2, opposite2, halve2;
    logic [10:0] exponent2, distance2;
    logic [52:0] large2, small2;
    always_ff @(posedge clk) begin
        sign2     <= swap ? sign_b : a[63];
        minus2    <= a[63] & sign_b;    // both: then the sign of a zero is minus
        opposite2 <= a[63] ^ sign_b;
        halve2    <= halve;
        exponent2 <= swap ? b[62:52] : a[62:52];
        distance2 <= swap ? b_less_a : a_less_b;
        large2    <= swap ? mantissa_b : mantissa_a;
        small2    <= swap ? mantissa_a : mantissa_b;
    end

    // --------------------------- 3, 4: align by eights, then by ones; what falls off is one sticky bit
    logic [55:0] wide, coarse;
    logic        off;
    assign wide = {small2, 3'b0};
    always_comb begin
        coarse = wide >> {distance2[5:3], 3'b0};
        case (distance2[5:3])
            3'd0: off = 1'b0;
            3'd1: off = |wide[7:0];
            3'd2: off = |wide[15:0];
            3'd3: off = |wide[23:0];
            3'd4: off = |wide[31:0];
            3'd5: off = |wide[39:0];
            3'd6: off = |wide[47:0];
            default: off = |wide;
        endcase
        if (|distance2[10:6]) {coarse, off} = {56'b0, |small2};
    end

    logic        sign3, minus3, opposite3, halve3, off3;
    logic [10:0] exponent3;
    logic [52:0] large3;
    logic [55:0] coarse3, fine;
    logic [2:0]  distance3;
    logic [6:0]  off_fine;
    assign fine     = coarse3 >> distance3;
    assign off_fine = coarse3[6:0] & ~(7'h7f << distance3);

    logic        sign4, minus4, opposite4, halve4;
    logic [10:0] exponent4;
    logic [52:0] large4;
    logic [55:0] small4;
    always_ff @(posedge clk) begin
        {sign3, minus3, opposite3, halve3, exponent3, large3}
            <= {sign2, minus2, opposite2, halve2, exponent2, large2};
        {coarse3, off3, distance3} <= {coarse, off, distance2[2:0]};
        {sign4, minus4, opposite4, halve4, exponent4, large4}
            <= {sign3, minus3, opposite3, halve3, exponent3, large3};
        small4 <= {fine[55:1], fine[0] | off3 | (|off_fine)};
    end

    // ---------------------------------------------------------------------------------------- 5: add
    logic        sign5, minus5, halve5;
    logic [10:0] exponent5;
    logic [56:0] sum5;
    always_ff @(posedge clk) begin
        {sign5, minus5, halve5, exponent5} <= {sign4, minus4, halve4, exponent4};
        sum5 <= {1'b0, large4, 3'b0} + ({1'b0, small4} ^ {57{opposite4}}) + {56'b0, opposite4};
    end

    // ------------------------- 6: leading zeros, by groups of four bits and groups of such groups
    logic [59:0] padded;
    logic [14:0] some;                  // a group with a one in it
    logic [1:0]  ahead [0:14];         // zeros before its first one
    logic [3:0]  group;
    logic [1:0]  choice [0:3], low;
    assign padded = {sum5, 3'b0};
    always_comb begin
        for (int i = 0; i < 15; i++) begin
            some[i]   = |padded[4*i +: 4];
            ahead[i] = {~(padded[4*i+3] | padded[4*i+2]),
                         ~(padded[4*i+3] | (~padded[4*i+2] & padded[4*i+1]))};
        end
        group = some[14] ? 4'd0 : some[13] ? 4'd1 : some[12] ? 4'd2 : 4'd3;
        if (~|some[14:11]) group = some[10] ? 4'd4 : some[9] ? 4'd5 : some[8] ? 4'd6 : 4'd7;
        if (~|some[14:7]) group = some[6] ? 4'd8 : some[5] ? 4'd9 : some[4] ? 4'd10 : 4'd11;
        if (~|some[14:3]) group = some[2] ? 4'd12 : some[1] ? 4'd13 : 4'd14;
        choice[0] = some[14] ? ahead[14] : some[13] ? ahead[13] : some[12] ? ahead[12] : ahead[11];
        choice[1] = some[10] ? ahead[10] : some[9] ? ahead[9] : some[8] ? ahead[8] : ahead[7];
        choice[2] = some[6] ? ahead[6] : some[5] ? ahead[5] : some[4] ? ahead[4] : ahead[3];
        choice[3] = some[2] ? ahead[2] : some[1] ? ahead[1] : ahead[0];
        low = |some[14:11] ? choice[0] : |some[10:7] ? choice[1] : |some[6:3] ? choice[2] : choice[3];
    end

    logic        sign6, zero6, halve6;
    logic [10:0] exponent6;
    logic [56:0] sum6;
    logic [5:0]  zeros6;
    always_ff @(posedge clk) begin
        {halve6, exponent6, sum6, zeros6} <= {halve5, exponent5, sum5, group, low};
        zero6 <= ~|some;
        sign6 <= |some ? sign5 : minus5;    // x - x is +0
    end

    // ---------------------------------------------------------------------------------- 7: normalise
    logic        sign7, zero7;
    logic [11:0] exponent7;             // its top bit: below zero
    logic [56:0] sum7;
    always_ff @(posedge clk) begin
        {sign7, zero7} <= {sign6, zero6};
        exponent7      <= {1'b0, exponent6} - {6'b0, zeros6} + {11'b0, ~halve6};
        sum7           <= sum6 << zeros6;
    end

    // ------------- round, without a register; a carry out of the mantissa is one more in the exponent
    logic up;
    assign up = sum7[3] & (sum7[4] | (|sum7[2:0]));
    assign y  = {sign7, zero7 | exponent7[11] | ~|exponent7 ? 63'b0
                      : {exponent7[10:0], sum7[55:4]} + {62'b0, up}};
endmodule
