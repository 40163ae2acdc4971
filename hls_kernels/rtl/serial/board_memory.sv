// 16 KiB of memory at address 0 of the engine's bus, which the host writes and reads as well. Accesses
// to other addresses end with an error response (DECERR).
module board_memory (
    input  logic        clk,
    input  logic        rst,
    // the engine's bus: bursts of whole words at rising addresses
    input  logic [63:0] araddr,
    input  logic [7:0]  arlen,
    input  logic        arvalid,
    output logic        arready,
    output logic [31:0] rdata,
    output logic [1:0]  rresp,
    output logic        rlast,
    output logic        rvalid,
    input  logic        rready,
    input  logic [63:0] awaddr,
    input  logic        awvalid,
    output logic        awready,
    input  logic [31:0] wdata,
    input  logic        wlast,
    input  logic        wvalid,
    output logic        wready,
    output logic [1:0]  bresp,
    output logic        bvalid,
    input  logic        bready,
    // the host: one word at a time, between bursts of the engine
    input  logic        host_access,    // until `host_done`
    input  logic        host_write,
    input  logic [11:0] host_at,
    input  logic [31:0] host_value,
    output logic        host_done,      // pulse
    output logic [31:0] host_word       // valid with `host_done`
);
    localparam logic [1:0] OKAY = 2'b00, DECERR = 2'b11;
    typedef enum logic [2:0] {FREE, READ, SHOW, TAKE, STORE, ANSWER, HOST, HOST_DONE} state_t;
    state_t      state;
    logic [11:0] at;
    logic [31:0] value, word;
    logic [7:0]  left;                  // beats of the burst, but one
    logic        write, outside, last;
    (* ram_style = "block" *) logic [31:0] words [0:4095];
    always_ff @(posedge clk) begin
        if (write) words[at] <= value;
        word <= words[at];
    end

    assign arready   = state == FREE;
    assign awready   = state == FREE & ~arvalid;
    assign rvalid    = state == SHOW;
    assign rdata     = outside ? 32'b0 : word;
    assign rlast     = left == '0;
    assign wready    = state == TAKE;
    assign bvalid    = state == ANSWER;
    assign rresp     = outside ? DECERR : OKAY;
    assign bresp     = rresp;
    assign host_done = state == HOST_DONE;
    assign host_word = word;
    always_ff @(posedge clk) begin
        write <= 1'b0;
        case (state)
            FREE:
                if (arvalid) begin
                    {outside, at, left} <= {|araddr[63:14], araddr[13:2], arlen};
                    state <= READ;
                end else if (awvalid) begin
                    {outside, at} <= {|awaddr[63:14], awaddr[13:2]};
                    state <= TAKE;
                end else if (host_access) begin
                    {at, value, write} <= {host_at, host_value, host_write};
                    state <= HOST;
                end
            READ: state <= SHOW;
            SHOW:
                if (rready) begin
                    at    <= at + 12'd1;
                    left  <= left - 8'd1;
                    state <= rlast ? FREE : READ;
                end
            TAKE:
                if (wvalid) begin
                    {value, write, last} <= {wdata, ~outside, wlast};
                    state <= STORE;
                end
            STORE: begin
                at    <= at + 12'd1;
                state <= last ? ANSWER : TAKE;
            end
            ANSWER: if (bready) state <= FREE;
            HOST: state <= HOST_DONE;
            HOST_DONE: state <= FREE;
        endcase
        if (rst) begin
            state <= FREE;
            write <= 1'b0;
        end
    end
endmodule
