// The registers, at the offsets that Vitis HLS gives a function with these arguments, and one more:
// the cycles of the last attempt. README.md has the register map.
module control #(
    parameter logic [31:0] VERSION = 32'h46530001
) (
    input  logic        clk,
    input  logic        rst,
    output logic        interrupt,
    input  logic [6:0]  awaddr,
    input  logic        awvalid,
    output logic        awready,
    input  logic [31:0] wdata,
    input  logic [3:0]  wstrb,
    input  logic        wvalid,
    output logic        wready,
    output logic [1:0]  bresp,
    output logic        bvalid,
    input  logic        bready,
    input  logic [6:0]  araddr,
    input  logic        arvalid,
    output logic        arready,
    output logic [31:0] rdata,
    output logic [1:0]  rresp,
    output logic        rvalid,
    input  logic        rready,
    // the engine
    output logic        go,             // pulse
    input  logic        done,           // pulse
    input  logic [31:0] status_in,
    output logic [63:0] request,
    output logic [63:0] response,
    output logic [31:0] logn,
    output logic        abort,          // end the attempt
    output logic        keep_key,
    output logic        use_key,
    output logic        forget_key,     // pulse
    input  logic        key_kept
);
    `include "falcon_program.svh"
    logic        running, finished, status_new, version_new, interrupt_on;
    logic [1:0]  enabled, pending;      // done, ready
    logic [31:0] status, cycles;

    // a write is accepted when address and data are both valid, which the standard allows
    logic        taken;
    logic [31:0] mask;
    assign taken     = awvalid & wvalid & ~bvalid;
    assign awready   = taken;
    assign wready    = taken;
    assign arready   = ~rvalid;
    assign bresp     = '0;
    assign rresp     = '0;
    assign interrupt = interrupt_on & |pending;
    assign mask      = {{8{wstrb[3]}}, {8{wstrb[2]}}, {8{wstrb[1]}}, {8{wstrb[0]}}};
    function automatic logic [31:0] merged(input logic [31:0] old, now, where);
        merged = (old & ~where) | (now & where);
    endfunction

    logic reading, busy;                // while busy, writes to arguments and start bit are ignored
    assign reading = arvalid & arready;
    assign busy    = running | go;
    always_ff @(posedge clk) begin
        {go, forget_key} <= '0;
        if (taken) begin
            bvalid <= 1'b1;
            case ({awaddr[6:2], 2'b0})
                REGISTER_CTRL: go <= wdata[0] & wstrb[0] & ~busy;
                REGISTER_GIER: if (wstrb[0]) interrupt_on <= wdata[0];
                REGISTER_IP_IER: if (wstrb[0]) enabled <= wdata[1:0];
                REGISTER_IP_ISR: if (wstrb[0]) pending <= pending ^ wdata[1:0];
                REGISTER_REQUEST_1: if (~busy) request[31:0]   <= merged(request[31:0], wdata, mask);
                REGISTER_REQUEST_2: if (~busy) request[63:32]  <= merged(request[63:32], wdata, mask);
                REGISTER_RESPONSE_1: if (~busy) response[31:0]  <= merged(response[31:0], wdata, mask);
                REGISTER_RESPONSE_2: if (~busy) response[63:32] <= merged(response[63:32], wdata, mask);
                REGISTER_LOGN: if (~busy) logn            <= merged(logn, wdata, mask);
                REGISTER_ABORT: if (wdata[0] & wstrb[0] & busy) abort <= 1'b1;
                REGISTER_KEY:
                    if (wstrb[0] & ~busy & KEEPS_KEY[0]) begin
                        {use_key, keep_key} <= wdata[1:0];
                        forget_key <= ~wdata[0];
                    end
                default: ;
            endcase
        end else if (bready) bvalid <= 1'b0;
        if (reading) begin
            rvalid <= 1'b1;
            case ({araddr[6:2], 2'b0})
                REGISTER_CTRL:   rdata <= {28'b0, finished, ~busy, finished, busy};
                REGISTER_GIER:   rdata <= {31'b0, interrupt_on};
                REGISTER_IP_IER:   rdata <= {30'b0, enabled};
                REGISTER_IP_ISR:   rdata <= {30'b0, pending};
                REGISTER_REQUEST_1:   rdata <= request[31:0];
                REGISTER_REQUEST_2:   rdata <= request[63:32];
                REGISTER_RESPONSE_1:   rdata <= response[31:0];
                REGISTER_RESPONSE_2:   rdata <= response[63:32];
                REGISTER_LOGN:   rdata <= logn;
                REGISTER_STATUS:   rdata <= status;
                REGISTER_STATUS_CTRL:   rdata <= {31'b0, status_new};
                REGISTER_VERSION:   rdata <= VERSION;
                REGISTER_VERSION_CTRL:   rdata <= {31'b0, version_new};
                REGISTER_CYCLES:   rdata <= cycles;
                REGISTER_ABORT:   rdata <= {31'b0, abort};
                REGISTER_KEY:   rdata <= {29'b0, key_kept, use_key, keep_key};
                default: rdata <= '0;
            endcase
            // reading these clears them
            if ({araddr[6:2], 2'b0} == REGISTER_CTRL) finished <= 1'b0;
            if ({araddr[6:2], 2'b0} == REGISTER_STATUS_CTRL) status_new <= 1'b0;
            if ({araddr[6:2], 2'b0} == REGISTER_VERSION_CTRL) version_new <= 1'b0;
        end else if (rready) rvalid <= 1'b0;
        if (go) begin
            running <= 1'b1;
            cycles  <= '0;
        end else if (running) cycles <= cycles + 32'd1;
        if (done) begin
            running <= 1'b0;
            abort   <= 1'b0;
            status  <= status_in;
            {finished, status_new, version_new} <= '1;
            if (enabled[0]) pending[0] <= 1'b1;
            if (enabled[1]) pending[1] <= 1'b1;
        end
        if (rst) begin
            {bvalid, rvalid, running, finished, status_new, version_new, interrupt_on, enabled, pending,
             go, abort, keep_key, use_key, forget_key, status, cycles, request, response, logn, rdata} <= '0;
        end
    end
endmodule
