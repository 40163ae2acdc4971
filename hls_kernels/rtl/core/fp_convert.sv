// From binary64 to integers, and the threshold of the sampler's rejection test, with one shifter:
//   floor     floor(x), |x| < 2^63
//   halvings  2 trunc(|x| 2^63), or ones if |x| is 1 or more
//   fraction  2 trunc(x 2^63), |x| < 1
//   threshold (2 product - 1) >> halvings
// `y` is valid three cycles after the operands; `top` is the threshold's first byte.
module fp_convert (
    input  logic        clk,
    input  logic [1:0]  kind,
    input  logic [63:0] x,
    input  logic [63:0] product,
    input  logic [6:0]  halvings,
    output logic [63:0] y,
    output logic        negative,       // x, of halvings
    output logic [7:0]  top
);
    localparam logic [1:0] FLOOR = 0, HALVINGS = 1, FRACTION = 2, THRESHOLD = 3;

    // ------------------------------------------------------------------------------ 1: value and shift
    logic [63:0] value1;
    logic [5:0]  shift1;
    logic        sign1, none1, some1, even1, floor1, negative1, negative2, clipped;
    logic [11:0] places;
    assign places = (kind == FRACTION | kind == HALVINGS ? 12'd1022 : 12'd1086) - {1'b0, x[62:52]};
    assign clipped  = kind == HALVINGS & places[11];
    always_ff @(posedge clk) begin
        value1 <= kind == THRESHOLD ? {product[62:0], 1'b0} - 64'd1
                : {1'b1, x[51:0], 11'b0} | {64{clipped}};
        // beyond 63 halvings the probability is below 2^-63
        shift1 <= kind == THRESHOLD ? (halvings[6] ? 6'd63 : halvings[5:0])
                : clipped ? 6'd0 : places[5:0];
        none1  <= kind != THRESHOLD & ~clipped & (|places[11:6]);
        some1  <= |x[62:52];
        sign1  <= (kind == FLOOR | kind == FRACTION) & x[63];
        even1  <= kind == FRACTION | kind == HALVINGS;
        floor1 <= kind == FLOOR;
        {negative, negative2, negative1} <= {negative2, negative1, x[63]};
    end

    // ------------------------------------------- 2: by eights; 3: by ones; `off` is what falls off
    logic [63:0] value2, fine, value3;
    logic [2:0]  shift2;
    logic        sign2, even2, floor2, off1, off2, sign3, carry3;
    always_comb begin
        case (shift1[5:3])
            3'd0: off1 = 1'b0;
            3'd1: off1 = |value1[7:0];
            3'd2: off1 = |value1[15:0];
            3'd3: off1 = |value1[23:0];
            3'd4: off1 = |value1[31:0];
            3'd5: off1 = |value1[39:0];
            3'd6: off1 = |value1[47:0];
            default: off1 = |value1[55:0];
        endcase
        if (none1) off1 = some1;
    end
    assign fine = value2 >> shift2;
    always_ff @(posedge clk) begin
        value2 <= none1 ? 64'b0 : value1 >> {shift1[5:3], 3'b0};
        {shift2, sign2, even2, floor2, off2} <= {shift1[2:0], sign1, even1, floor1, off1};
        value3 <= {fine[63:1], fine[0] & ~even2};
        sign3  <= sign2;
        // -trunc(|x|) is ~t + 1; the floor of a negative x is ~t if a fraction fell off
        carry3 <= sign2 & ~(floor2 & (off2 | (|(value2[6:0] & ~(7'h7f << shift2)))));
    end
    assign y   = (value3 ^ {64{sign3}}) + {63'b0, carry3};
    assign top = value3[63:56];
endmodule
