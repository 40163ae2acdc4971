// The squared length of (target - v0, -v1), against the bound of the specification's table 3.3. Values
// come one per cycle, three for each index: target, v0, -v1; the latter two as integers above
// 1.5 * 2^52. A value that exceeds 18 bits makes the vector too long.
module norm (
    input  logic        clk,
    input  logic        clear,
    input  logic        is_1024,
    input  logic        on,
    input  logic [1:0]  which,
    input  logic [63:0] value,
    output logic        short_enough    // four cycles after the last value
);
    logic [15:0]        target;
    logic signed [23:0] term;
    logic signed [35:0] square;
    logic [47:0]        length;
    logic               on1, on2, wide, no_integer, over;
    assign short_enough = ~over & length <= (is_1024 ? 48'd70265242 : 48'd34034726);
    always_ff @(posedge clk) begin
        on1 <= on & which != 2'd0;
        on2 <= on1;
        if (on & which == 2'd0) target <= value[15:0];
        if (on & which == 2'd1) term <= {8'b0, target} - value[23:0];
        if (on & which == 2'd2) term <= value[23:0];
        no_integer <= on & which != 2'd0
            & (value[63:52] != 12'h433 | value[51] == value[17] | value[50:17] != {34{value[17]}});
        wide   <= on1 & ~(&term[23:17] | ~|term[23:17]);
        square <= $signed(term[17:0]) * $signed(term[17:0]);
        if (on2) length <= length + {12'b0, square};
        over <= over | wide | no_integer;
        if (clear) {target, term, square, length, on1, on2, wide, no_integer, over} <= '0;
    end
endmodule
