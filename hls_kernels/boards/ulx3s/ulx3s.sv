// ULX3S with an LFE5U-85F: a PLL from the board's 25 MHz, and the engine behind the USB serial line.
module ulx3s #(
    parameter int unsigned BIT_CYCLES = 75
) (
    input  logic       clk_25mhz,
    input  logic       btn_n,           // button PWR: low when pressed; resets
    input  logic       ftdi_txd,        // from the host
    output logic       ftdi_rxd,        // to the host
    output logic       wifi_gpio0,      // high: the board stays on
    output logic [7:0] led
);
    logic clk, locked;
    pll u_pll (.clk_25mhz, .clk, .locked);
    assign wifi_gpio0 = 1'b1;

    // in reset until the PLL is locked and the button is released for 2^16 cycles
    logic [1:0]  steady;
    logic [16:0] released = '0;
    always_ff @(posedge clk) begin
        steady <= {steady[0], btn_n & locked};
        if (~steady[1]) released <= '0;
        else if (~released[16]) released <= released + 17'd1;
    end
    logic rst, in_frame, holds_data, rejected;
    always_ff @(posedge clk) rst <= ~released[16];
    falcon_serial #(.BIT_CYCLES(BIT_CYCLES)) u_falcon (
        .clk, .rst, .receive(ftdi_txd), .send(ftdi_rxd), .in_frame, .holds_data, .rejected);

    logic [25:0] beat = '0;
    always_ff @(posedge clk) beat <= beat + 26'd1;
    assign led = {beat[25], 3'b0, rejected, holds_data, in_frame, ~rst};
endmodule
