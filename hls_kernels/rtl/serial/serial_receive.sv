// Receives bytes of a serial line: 8 bits, no parity, one stop bit, BIT_CYCLES cycles for a bit.
module serial_receive #(
    parameter int unsigned BIT_CYCLES = 75
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       line,
    output logic       valid,           // pulse; a byte without a stop bit is dropped
    output logic [7:0] data
);
    localparam int unsigned WIDTH = $clog2(BIT_CYCLES);
    localparam logic [WIDTH-1:0] WHOLE_BIT = WIDTH'(BIT_CYCLES - 1), HALF_BIT = WIDTH'(BIT_CYCLES / 2 - 1);
    typedef enum logic [1:0] {IDLE, START, BITS, STOP} state_t;
    state_t           state;
    logic [2:0]       samples;          // two flip-flops against metastability, a third for the edge
    logic [WIDTH-1:0] timer;
    logic [2:0]       index;
    always_ff @(posedge clk) begin
        samples <= {samples[1:0], line};
        valid   <= 1'b0;
        timer   <= timer == '0 ? WHOLE_BIT : timer - 1'b1;
        case (state)
            IDLE: begin
                index <= '0;
                timer <= HALF_BIT;
                if (samples[2] & ~samples[1]) state <= START;
            end
            START: if (timer == '0) state <= samples[1] ? IDLE : BITS;   // a spike is no start bit
            BITS:
                if (timer == '0) begin
                    data  <= {samples[1], data[7:1]};
                    index <= index + 3'd1;
                    if (index == 3'd7) state <= STOP;
                end
            STOP:
                if (timer == '0) begin
                    valid <= samples[1];
                    state <= IDLE;
                end
        endcase
        if (rst) begin
            state   <= IDLE;
            samples <= '1;
            valid   <= 1'b0;
        end
    end
endmodule
