// 1 / x by two binary digits per cycle, or the square root of x > 0 by one; to nearest even.
// Restoring recurrences: rest' = 4 rest - q d with precomputed d and 3 d, and
// rest' = 2 rest - q (2 r + u) with r the root so far and u the weight of its next digit.
// `y` is valid 31 cycles after `start` for 1 / x and 57 for the root, until the next start.
module fp_divide (
    input  logic        clk,
    input  logic        start,
    input  logic        root_in,
    input  logic [63:0] x,
    output logic [63:0] y
);
    localparam int W = 61;              // 3 digits before the point, 58 after it
    logic [W-1:0] rest, factor, thrice, unit;
    logic [54:0]  digits;
    logic         root, sign;
    logic [5:0]   left;
    logic [10:0]  exponent;
    logic [W-1:0] mantissa, radicand;
    assign mantissa = {2'b0, 1'b1, x[51:0], 6'b0};
    assign radicand = x[52] ? mantissa : mantissa << 1;     // an odd exponent's bit moves in

    logic [W+1:0] shifted, less_1, less_2, less_3;
    logic [1:0]   digit;
    always_comb begin
        shifted = root ? {1'b0, rest, 1'b0} : {rest, 2'b0};
        less_1  = shifted - {2'b0, factor};
        less_2  = shifted - {1'b0, factor, 1'b0};
        less_3  = shifted - {2'b0, thrice};
        digit   = less_1[W+1] ? 2'd0 : (root | less_2[W+1]) ? 2'd1 : less_3[W+1] ? 2'd2 : 2'd3;
    end
    always_ff @(posedge clk)
        if (start) begin
            root     <= root_in;
            sign     <= x[63];
            factor   <= root_in ? {3'b010, 1'b1, 57'b0} : mantissa;
            thrice   <= mantissa + (mantissa << 1);
            rest     <= root_in ? radicand - {3'b001, 58'b0} : {5'b00001, 56'b0};
            digits   <= {54'b0, root_in};
            unit     <= {4'b0001, 57'b0};
            left     <= root_in ? 6'd54 : 6'd28;
            // (e - 1023) / 2 + 1023, and 1023 - (e - 1023) - 1
            exponent <= root_in ? {1'b0, x[62:53]} + 11'd511 + {10'b0, x[52]} : 11'd2045 - x[62:52];
        end else if (|left) begin
            left   <= left - 6'd1;
            case (digit)
                2'd0: rest <= shifted[W-1:0];
                2'd1: rest <= less_1[W-1:0];
                2'd2: rest <= less_2[W-1:0];
                2'd3: rest <= less_3[W-1:0];
            endcase
            digits <= root ? {digits[53:0], digit[0]} : {digits[52:0], digit};
            if (root) factor <= (factor & ~unit) | (digit[0] ? unit << 1 : '0) | (unit >> 1);
            unit <= unit >> 1;
        end

    // only the reciprocal of a power of two has a digit before the point
    logic        whole, sticky, sign1, up;
    logic [53:0] kept;
    logic [10:0] exponent1;
    assign whole = digits[54];
    always_ff @(posedge clk) begin
        kept      <= whole ? digits[54:1] : digits[53:0];
        sticky    <= (whole & digits[0]) | (|rest);
        exponent1 <= exponent + {10'b0, whole & ~root};
        sign1     <= sign;
    end
    assign up = kept[0] & (kept[1] | sticky);
    assign y  = {sign1, {exponent1, kept[52:1]} + {62'b0, up}};
endmodule
