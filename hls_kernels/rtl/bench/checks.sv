// Assertions on every handshake of the engine's two buses, and functional coverage, bound to the
// sources by `make rtl-coverage`, which counts the cover points: docs/design/falcon-testplan.md.

`define COVER(name, condition) name: cover property (@(posedge clk) (condition));
`define STABLE(name, valid, ready, offered) \
    name: assert property (@(posedge clk) disable iff (rst) valid & ~ready |=> valid & $stable(offered)) \
        else $error("name");

// Both buses at the ports. `rst` holds from the first cycle of a reset to the one after its last.
module falcon_sign_checks (
    input logic        ap_clk,
    input logic        ap_rst_n,
    input logic [6:0]  s_axi_control_AWADDR, s_axi_control_ARADDR,
    input logic        s_axi_control_AWVALID, s_axi_control_AWREADY, s_axi_control_WVALID,
    input logic        s_axi_control_WREADY, s_axi_control_BVALID, s_axi_control_BREADY,
    input logic        s_axi_control_ARVALID, s_axi_control_ARREADY, s_axi_control_RVALID,
    input logic        s_axi_control_RREADY,
    input logic [31:0] s_axi_control_WDATA, s_axi_control_RDATA,
    input logic [3:0]  s_axi_control_WSTRB,
    input logic [63:0] m_axi_gmem_ARADDR, m_axi_gmem_AWADDR,
    input logic [7:0]  m_axi_gmem_ARLEN, m_axi_gmem_AWLEN,
    input logic        m_axi_gmem_ARVALID, m_axi_gmem_ARREADY, m_axi_gmem_RVALID, m_axi_gmem_RREADY,
    input logic        m_axi_gmem_AWVALID, m_axi_gmem_AWREADY, m_axi_gmem_WVALID,
    input logic        m_axi_gmem_WREADY, m_axi_gmem_WLAST, m_axi_gmem_BVALID, m_axi_gmem_BREADY,
    input logic [1:0]  m_axi_gmem_RRESP, m_axi_gmem_BRESP,
    input logic [31:0] m_axi_gmem_WDATA,
    input logic        interrupt
);
    logic clk, rst, resetting;
    assign clk = ap_clk;
    assign rst = ~ap_rst_n | resetting;
    always_ff @(posedge clk) resetting <= ~ap_rst_n;

    // AXI4-Lite: what either side offers is stable until it is accepted
    `STABLE(write_address, s_axi_control_AWVALID, s_axi_control_AWREADY, s_axi_control_AWADDR)
    `STABLE(write_data, s_axi_control_WVALID, s_axi_control_WREADY, {s_axi_control_WDATA, s_axi_control_WSTRB})
    `STABLE(write_response, s_axi_control_BVALID, s_axi_control_BREADY, 1'b0)
    `STABLE(read_address, s_axi_control_ARVALID, s_axi_control_ARREADY, s_axi_control_ARADDR)
    `STABLE(read_data, s_axi_control_RVALID, s_axi_control_RREADY, s_axi_control_RDATA)
    // AXI4: the same, for the channels that the engine drives
    `STABLE(burst_read, m_axi_gmem_ARVALID, m_axi_gmem_ARREADY, {m_axi_gmem_ARADDR, m_axi_gmem_ARLEN})
    `STABLE(burst_write, m_axi_gmem_AWVALID, m_axi_gmem_AWREADY, {m_axi_gmem_AWADDR, m_axi_gmem_AWLEN})
    `STABLE(beat_write, m_axi_gmem_WVALID, m_axi_gmem_WREADY, {m_axi_gmem_WDATA, m_axi_gmem_WLAST})
    // nothing is offered during a reset
    silent: assert property (@(posedge clk) ~ap_rst_n |-> ~(m_axi_gmem_ARVALID | m_axi_gmem_AWVALID
        | m_axi_gmem_WVALID | s_axi_control_BVALID | s_axi_control_RVALID)) else $error("valid in reset");
    // bursts have at most 16 beats and end in their block of 64 bytes, one at a time
    read_in_block: assert property (@(posedge clk) m_axi_gmem_ARVALID |->
        {1'b0, m_axi_gmem_ARADDR[5:2]} + m_axi_gmem_ARLEN[4:0] <= 5'd15 & m_axi_gmem_ARLEN[7:4] == '0
        & m_axi_gmem_ARADDR[1:0] == '0) else $error("read burst");
    write_in_block: assert property (@(posedge clk) m_axi_gmem_AWVALID |->
        {1'b0, m_axi_gmem_AWADDR[5:2]} + m_axi_gmem_AWLEN[4:0] <= 5'd15 & m_axi_gmem_AWLEN[7:4] == '0
        & m_axi_gmem_AWADDR[1:0] == '0) else $error("write burst");
    one_offer: assert property (@(posedge clk)
        $onehot0({m_axi_gmem_ARVALID, m_axi_gmem_AWVALID, m_axi_gmem_WVALID})) else $error("two offers");
    // the last beat is where the burst's length said
    logic [7:0] beats;
    always_ff @(posedge clk)
        if (m_axi_gmem_AWVALID & m_axi_gmem_AWREADY) beats <= m_axi_gmem_AWLEN;
        else if (m_axi_gmem_WVALID & m_axi_gmem_WREADY) beats <= beats - 8'd1;
    last_beat: assert property (@(posedge clk) disable iff (rst)
        m_axi_gmem_WVALID |-> m_axi_gmem_WLAST == (beats == '0)) else $error("last beat");

    `COVER(write_response_waits, s_axi_control_BVALID & ~s_axi_control_BREADY)
    `COVER(read_data_waits, s_axi_control_RVALID & ~s_axi_control_RREADY)
    `COVER(address_before_data, s_axi_control_AWVALID & ~s_axi_control_WVALID)
    `COVER(data_before_address, ~s_axi_control_AWVALID & s_axi_control_WVALID)
    `COVER(part_of_a_register, s_axi_control_WVALID & s_axi_control_WREADY & ~&s_axi_control_WSTRB)
    `COVER(read_burst_waits, m_axi_gmem_ARVALID & ~m_axi_gmem_ARREADY)
    `COVER(read_beat_is_late, m_axi_gmem_RREADY & ~m_axi_gmem_RVALID)
    `COVER(read_burst_of_one, m_axi_gmem_ARVALID & m_axi_gmem_ARLEN == 8'd0)
    `COVER(read_burst_of_sixteen, m_axi_gmem_ARVALID & m_axi_gmem_ARLEN == 8'd15)
    `COVER(read_error, m_axi_gmem_RVALID & m_axi_gmem_RREADY & m_axi_gmem_RRESP != '0)
    `COVER(write_burst_waits, m_axi_gmem_AWVALID & ~m_axi_gmem_AWREADY)
    `COVER(write_beat_waits, m_axi_gmem_WVALID & ~m_axi_gmem_WREADY)
    `COVER(write_burst_of_one, m_axi_gmem_AWVALID & m_axi_gmem_AWLEN == 8'd0)
    `COVER(write_burst_of_sixteen, m_axi_gmem_AWVALID & m_axi_gmem_AWLEN == 8'd15)
    `COVER(write_error, m_axi_gmem_BVALID & m_axi_gmem_BREADY & m_axi_gmem_BRESP != '0)
    `COVER(interrupt_raised, interrupt)
endmodule

module control_checks (
    input logic        clk, rst, go, done, running, abort, taken,
    input logic [6:0]  awaddr,
    input logic [31:0] status_in, logn
);
    `COVER(signed_512, done & status_in == 32'd1 & logn == 32'd9)
    `COVER(signed_1024, done & status_in == 32'd1 & logn == 32'd10)
    `COVER(too_long, done & status_in == 32'd2)
    `COVER(rejected, done & status_in == 32'd3)
    `COVER(bus_error, done & status_in == 32'd4)
    `COVER(aborted, done & status_in == 32'd5)
    `COVER(start_while_running, running & taken & awaddr == 7'd0)
    `COVER(argument_while_running, running & taken & awaddr == 7'h28)
    `COVER(reset_while_running, running & rst)
    `COVER(reset_while_aborting, abort & rst)
    `COVER(attempts_back_to_back, go & $past(done, 8))
endmodule

module mover_checks (
    input logic       clk, rst, abort, rvalid, rlast, is_seed,
    input logic [3:0] state, beats_left
);
    // IDLE, AIM, ASK, TAKE, UNPACK, SETTLE, DRAIN, NORM, JUDGE, OFFER, FETCH, SEND, ANSWER, WIPE
    bound: assert property (@(posedge clk) disable iff (rst) state <= 4'd13) else $error("state");
    `COVER(early_last_beat, state == 4'd3 & rvalid & rlast & beats_left != '0)
    `COVER(missing_last_beat, state == 4'd3 & rvalid & ~rlast & beats_left == '0)
    `COVER(beats_drained, state == 4'd6 & rvalid & ~rlast)
    `COVER(abort_while_seeding, abort & is_seed & state == 4'd3)
    `COVER(abort_while_asking, abort & state == 4'd2)
    `COVER(abort_while_reading, abort & ~is_seed & state == 4'd3)
    `COVER(abort_while_unpacking, abort & state == 4'd4)
    `COVER(abort_while_measuring, abort & state == 4'd7)
    `COVER(abort_while_writing, abort & (state == 4'd10 | state == 4'd11))
    `COVER(abort_while_waiting_for_an_answer, abort & state == 4'd12)
    `COVER(reset_while_reading, rst & state == 4'd3)
    `COVER(reset_while_writing, rst & (state == 4'd10 | state == 4'd11))
    `COVER(reset_while_wiping, rst & state == 4'd13)
endmodule

module draws_checks (
    input logic       clk, rst, wipe, ready, consume, more, more_first, busy,
    input logic [2:0] consume_count,
    input logic [3:0] held,
    input logic [8:0] position
);
    bound: assert property (@(posedge clk) disable iff (rst | wipe) held <= 4'd8) else $error("held");
    `COVER(queue_full, held == 4'd8)
    `COVER(queue_without_a_round, ~ready & busy & held != '0)
    `COVER(draws_dropped, more & more_first & held != '0)
    `COVER(second_further_byte, more & ~more_first)
    `COVER(one_draw_consumed, consume & consume_count == 3'd1)
    `COVER(two_draws_consumed, consume & consume_count == 3'd2)
    `COVER(three_draws_consumed, consume & consume_count == 3'd3)
    `COVER(four_draws_consumed, consume & consume_count == 3'd4)
    `COVER(end_of_a_buffer, position > 9'd502)
endmodule

module sequencer_checks (
    input logic       clk, rst, accept, accept_second, sampling, failed, done, is_1024,
    input logic [3:0] level
);
    bound: assert property (@(posedge clk) disable iff (rst)
        sampling |-> level <= (is_1024 ? 4'd10 : 4'd9)) else $error("level");
    `COVER(first_sample_accepted, accept & ~accept_second)
    `COVER(second_sample_accepted, accept & accept_second)
    `COVER(tries_exhausted, failed & done & ~$past(done))
    `COVER(reset_in_a_round, rst & sampling)
endmodule

bind falcon_sign falcon_sign_checks checks (.*);
bind control control_checks checks (.*);
bind mover mover_checks checks (.*);
bind draws draws_checks checks (.*, .position(position[8:0]));
bind sequencer sequencer_checks checks (.*);
