// The signing engine with 16 KiB of memory, behind a serial line: see bridge.sv for its frames.
module falcon_serial #(
    parameter int unsigned BIT_CYCLES = 75,     // clock cycles for a bit of the line
    parameter int unsigned SILENCE_BITS = 22,
    parameter int unsigned WATCH_BITS = 28,
    parameter ROM = "rom/"                      // the folder of the images, with a slash
) (
    input  logic clk,
    input  logic rst,
    input  logic receive,
    output logic send,
    output logic in_frame,
    output logic holds_data,
    output logic rejected
);
    logic        engine_reset, heard, say, say_ready;
    logic [7:0]  heard_byte, say_byte;
    logic        memory_access, memory_write, memory_done;
    logic [11:0] memory_at;
    logic [31:0] memory_value, memory_word;
    logic [6:0]  register_at;
    logic        awvalid, awready, bvalid, arvalid, arready, rvalid;
    logic [31:0] wdata, rdata;
    serial_receive #(.BIT_CYCLES(BIT_CYCLES)) u_receive (
        .clk, .rst, .line(receive), .valid(heard), .data(heard_byte));
    serial_send #(.BIT_CYCLES(BIT_CYCLES)) u_send (
        .clk, .rst, .valid(say), .data(say_byte), .ready(say_ready), .line(send));
    bridge #(.SILENCE_BITS(SILENCE_BITS), .WATCH_BITS(WATCH_BITS)) u_bridge (
        .clk, .rst, .engine_reset, .heard, .heard_byte, .say, .say_byte, .say_ready, .memory_access,
        .memory_write, .memory_at, .memory_value, .memory_done, .memory_word, .register_at, .awvalid,
        .awready, .wdata, .bvalid, .arvalid, .arready, .rdata, .rvalid, .in_frame, .holds_data,
        .rejected);

    logic [63:0] m_araddr, m_awaddr;
    logic [7:0]  m_arlen;
    logic [31:0] m_rdata, m_wdata;
    logic [1:0]  m_rresp, m_bresp;
    logic        m_arvalid, m_arready, m_rlast, m_rvalid, m_rready, m_awvalid, m_awready, m_wlast,
                 m_wvalid, m_wready, m_bvalid, m_bready;
    board_memory u_memory (
        .clk, .rst(engine_reset), .araddr(m_araddr), .arlen(m_arlen), .arvalid(m_arvalid),
        .arready(m_arready), .rdata(m_rdata), .rresp(m_rresp), .rlast(m_rlast), .rvalid(m_rvalid),
        .rready(m_rready), .awaddr(m_awaddr), .awvalid(m_awvalid), .awready(m_awready),
        .wdata(m_wdata), .wlast(m_wlast), .wvalid(m_wvalid), .wready(m_wready), .bresp(m_bresp),
        .bvalid(m_bvalid), .bready(m_bready), .host_access(memory_access),
        .host_write(memory_write), .host_at(memory_at), .host_value(memory_value),
        .host_done(memory_done), .host_word(memory_word));
    falcon_sign #(.ROM(ROM)) u_engine (
        .ap_clk(clk), .ap_rst_n(~engine_reset), .interrupt(),
        .s_axi_control_AWADDR(register_at), .s_axi_control_AWVALID(awvalid),
        .s_axi_control_AWREADY(awready), .s_axi_control_WDATA(wdata), .s_axi_control_WSTRB(4'hf),
        .s_axi_control_WVALID(awvalid), .s_axi_control_WREADY(), .s_axi_control_BRESP(),
        .s_axi_control_BVALID(bvalid), .s_axi_control_BREADY(1'b1),
        .s_axi_control_ARADDR(register_at), .s_axi_control_ARVALID(arvalid),
        .s_axi_control_ARREADY(arready), .s_axi_control_RDATA(rdata), .s_axi_control_RRESP(),
        .s_axi_control_RVALID(rvalid), .s_axi_control_RREADY(1'b1),
        .m_axi_gmem_ARID(), .m_axi_gmem_ARADDR(m_araddr), .m_axi_gmem_ARLEN(m_arlen),
        .m_axi_gmem_ARSIZE(), .m_axi_gmem_ARBURST(), .m_axi_gmem_ARLOCK(), .m_axi_gmem_ARCACHE(),
        .m_axi_gmem_ARPROT(), .m_axi_gmem_ARQOS(), .m_axi_gmem_ARREGION(),
        .m_axi_gmem_ARVALID(m_arvalid), .m_axi_gmem_ARREADY(m_arready), .m_axi_gmem_RID(1'b0),
        .m_axi_gmem_RDATA(m_rdata), .m_axi_gmem_RRESP(m_rresp), .m_axi_gmem_RLAST(m_rlast),
        .m_axi_gmem_RVALID(m_rvalid), .m_axi_gmem_RREADY(m_rready), .m_axi_gmem_AWID(),
        .m_axi_gmem_AWADDR(m_awaddr), .m_axi_gmem_AWLEN(), .m_axi_gmem_AWSIZE(),
        .m_axi_gmem_AWBURST(), .m_axi_gmem_AWLOCK(), .m_axi_gmem_AWCACHE(), .m_axi_gmem_AWPROT(),
        .m_axi_gmem_AWQOS(), .m_axi_gmem_AWREGION(), .m_axi_gmem_AWVALID(m_awvalid),
        .m_axi_gmem_AWREADY(m_awready), .m_axi_gmem_WDATA(m_wdata), .m_axi_gmem_WSTRB(),
        .m_axi_gmem_WLAST(m_wlast), .m_axi_gmem_WVALID(m_wvalid), .m_axi_gmem_WREADY(m_wready),
        .m_axi_gmem_BID(1'b0), .m_axi_gmem_BRESP(m_bresp), .m_axi_gmem_BVALID(m_bvalid),
        .m_axi_gmem_BREADY(m_bready));
endmodule
