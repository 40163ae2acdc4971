// The engine behind two shift registers, so that a device with few pins can hold it: for place and
// route as a proxy of the clock, and for nothing else.
module few_pins (
    input  logic clk,
    input  logic in,
    output logic out
);
    logic [99:0] given;
    logic [319:0] taken, held;
    logic [8:0]   count;
    always_ff @(posedge clk) begin
        given <= {given[98:0], in};
        count <= count + 9'd1;
        held  <= count == '0 ? taken : {1'b0, held[319:1]};
        out   <= held[0];
    end
    assign taken[319:306] = '0;
    falcon_sign u (
        .ap_clk(clk), .ap_rst_n(given[0]), .interrupt(taken[0]),
        .s_axi_control_AWADDR(given[7:1]), .s_axi_control_AWVALID(given[8]),
        .s_axi_control_AWREADY(taken[1]), .s_axi_control_WDATA(given[40:9]),
        .s_axi_control_WSTRB(given[44:41]), .s_axi_control_WVALID(given[45]),
        .s_axi_control_WREADY(taken[2]), .s_axi_control_BRESP(taken[4:3]),
        .s_axi_control_BVALID(taken[5]), .s_axi_control_BREADY(given[46]),
        .s_axi_control_ARADDR(given[53:47]), .s_axi_control_ARVALID(given[54]),
        .s_axi_control_ARREADY(taken[6]), .s_axi_control_RDATA(taken[38:7]),
        .s_axi_control_RRESP(taken[40:39]), .s_axi_control_RVALID(taken[41]),
        .s_axi_control_RREADY(given[55]),
        .m_axi_gmem_ARID(taken[42]), .m_axi_gmem_ARADDR(taken[106:43]),
        .m_axi_gmem_ARLEN(taken[114:107]), .m_axi_gmem_ARSIZE(taken[117:115]),
        .m_axi_gmem_ARBURST(taken[119:118]), .m_axi_gmem_ARLOCK(taken[121:120]),
        .m_axi_gmem_ARCACHE(taken[125:122]), .m_axi_gmem_ARPROT(taken[128:126]),
        .m_axi_gmem_ARQOS(taken[132:129]), .m_axi_gmem_ARREGION(taken[136:133]),
        .m_axi_gmem_ARVALID(taken[137]), .m_axi_gmem_ARREADY(given[56]),
        .m_axi_gmem_RID(given[57]), .m_axi_gmem_RDATA(given[89:58]),
        .m_axi_gmem_RRESP(given[91:90]), .m_axi_gmem_RLAST(given[92]),
        .m_axi_gmem_RVALID(given[93]), .m_axi_gmem_RREADY(taken[138]),
        .m_axi_gmem_AWID(taken[139]), .m_axi_gmem_AWADDR(taken[203:140]),
        .m_axi_gmem_AWLEN(taken[211:204]), .m_axi_gmem_AWSIZE(taken[214:212]),
        .m_axi_gmem_AWBURST(taken[216:215]), .m_axi_gmem_AWLOCK(taken[218:217]),
        .m_axi_gmem_AWCACHE(taken[222:219]), .m_axi_gmem_AWPROT(taken[225:223]),
        .m_axi_gmem_AWQOS(taken[229:226]), .m_axi_gmem_AWREGION(taken[233:230]),
        .m_axi_gmem_AWVALID(taken[234]), .m_axi_gmem_AWREADY(given[94]),
        .m_axi_gmem_WDATA(taken[266:235]), .m_axi_gmem_WSTRB(taken[270:267]),
        .m_axi_gmem_WLAST(taken[271]), .m_axi_gmem_WVALID(taken[272]),
        .m_axi_gmem_WREADY(given[95]), .m_axi_gmem_BID(given[96]), .m_axi_gmem_BRESP(given[98:97]),
        .m_axi_gmem_BVALID(given[99]), .m_axi_gmem_BREADY(taken[273]));
    assign taken[305:274] = '0;
endmodule
