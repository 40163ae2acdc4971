// Sends bytes on a serial line: 8 bits, no parity, one stop bit, BIT_CYCLES cycles for a bit.
module serial_send #(
    parameter int unsigned BIT_CYCLES = 75
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       valid,           // the byte is taken when `valid` and `ready`
    input  logic [7:0] data,
    output logic       ready,
    output logic       line
);
    localparam int unsigned WIDTH = $clog2(BIT_CYCLES);
    logic [9:0]       bits;             // start bit first; ones follow
    logic [3:0]       left;
    logic [WIDTH-1:0] timer;
    assign ready = left == '0;
    assign line  = bits[0];
    always_ff @(posedge clk) begin
        if (ready) begin
            timer <= WIDTH'(BIT_CYCLES - 1);
            if (valid) begin
                bits <= {1'b1, data, 1'b0};
                left <= 4'd10;
            end
        end else if (timer != '0) timer <= timer - 1'b1;
        else begin
            timer <= WIDTH'(BIT_CYCLES - 1);
            bits  <= {1'b1, bits[9:1]};
            left  <= left - 4'd1;
        end
        if (rst) begin
            bits <= '1;
            left <= '0;
        end
    end
endmodule
