// Assumptions: one command at a time, while the mover is idle; no load after an error. The degree is
// stable, and addresses are multiples of four.
always_comb assume ($onehot0({seed, load, give, clear}) & (state == IDLE | ~(seed | load | give | clear)));
always_comb if (~rst) assume (~(load & failed));
always_ff @(posedge clk) if (settled & state != IDLE) assume ($stable(is_1024));
always_comb assume (request[1:0] == '0 & response[1:0] == '0);

// Outstanding beats of a requested burst.
logic [4:0] owed;
always_ff @(posedge clk)
    if (rst | state == IDLE) owed <= '0;
    else if (arvalid & arready) owed <= {1'b0, arlen[3:0]} + 5'd1;
    else if (rvalid & rready) owed <= owed - 5'd1;

always_ff @(posedge clk) if (settled) begin
    // AXI4: offered values are stable until they are accepted
    if ($past(arvalid & ~arready)) assert (arvalid & $stable(araddr) & $stable(arlen));
    if ($past(awvalid & ~awready)) assert (awvalid & $stable(awaddr) & $stable(awlen));
    if ($past(wvalid & ~wready)) assert (wvalid & $stable(wdata) & $stable(wlast));
    assert ($onehot0({arvalid, awvalid, wvalid, state == TAKE | state == DRAIN, state == ANSWER}));
    // leftovers of a burst that a reset cut off are taken only while nothing is requested
    if (arvalid | awvalid | wvalid) assert (~rready & ~bready);
    // an abort lets the offered burst end and requests no other
    if ($past(abort & ~arvalid)) assert (~arvalid);
    if ($past(abort & ~awvalid)) assert (~awvalid);
    // bursts end in their block of 64 bytes: at most 16 words, and within a page
    if (arvalid) assert ({1'b0, araddr[5:2]} + {1'b0, arlen[3:0]} <= 5'd15 & arlen[7:4] == '0);
    if (awvalid) assert ({1'b0, awaddr[5:2]} + {1'b0, awlen[3:0]} <= 5'd15 & awlen[7:4] == '0);
    if (arvalid) assert (araddr[1:0] == '0);
    if (awvalid) assert (awaddr[1:0] == '0);
    // one burst at a time
    if (arvalid | awvalid) assert (owed == '0);
    // after an error there are no requests
    if (failed & state != IDLE) assert (~arvalid & ~awvalid & ~wvalid);
    // invariants for the above: remaining words, and remaining words of the burst
    if (state == AIM | state == ASK | state == OFFER) assert (words_left != '0);
    if (state == TAKE | state == FETCH | state == SEND)
        assert (words_left > {6'b0, beats_left});
    if (state == UNPACK & beats_left != 4'd15) assert (words_left > {6'b0, beats_left});
    if (state == AIM | state == ASK | (state >= NORM & state != WIPE)) assert (owed == '0);
    if (state == TAKE) assert (owed == {1'b0, beats_left} + 5'd1);
    if (state == UNPACK) assert (owed == {1'b0, beats_left + 4'd1});
    if (state == AIM) assert (behind[1:0] == '0);
    assert (state <= WIPE);
    if (state == OFFER | state == FETCH | state == SEND | state == ANSWER) assert (~failed);
    if (state == NORM | state == JUDGE) assert (~failed & words_left != '0);
    if (state >= NORM & state != WIPE) assert (awaddr[1:0] == '0);
    if (state == ASK | state == TAKE | state == UNPACK) assert (araddr[1:0] == '0);
    if (state == AIM | state == ASK | state == TAKE | state == UNPACK) assert (~failed);
end
always_ff @(posedge clk) if (reset_once & ~settled) assert (state == WIPE & ~failed & wipe_at == '0);
