// The engine says done while it runs, and not otherwise.
always_ff @(posedge clk) if (~rst) assume (~done | running);

always_ff @(posedge clk) if (settled) begin
    // AXI4-Lite: an answer for what was taken, and it stays until it is taken
    if ($past(bvalid & ~bready)) assert (bvalid);
    if ($past(rvalid & ~rready)) assert (rvalid & $stable(rdata));
    if (bvalid & $past(~bvalid)) assert ($past(awvalid & awready & wvalid & wready));
    if (rvalid & $past(~rvalid)) assert ($past(arvalid & arready));
    if ($past(awvalid & awready)) assert (bvalid & $past(wvalid & wready & ~bvalid));
    if ($past(arvalid & arready)) assert (rvalid & $past(~rvalid));
    // an attempt begins by the start bit, once, and never while one is under way
    if (go) assert ($past(taken & wdata[0] & wstrb[0] & awaddr[6:2] == 5'd0));
    assert (~go | (~running & $past(~go & ~running)));
    if ($past(busy)) assert ($stable(request) & $stable(response) & $stable(logn));
    // done ends it, and stays to be read
    if ($past(done)) assert (finished & ~running & status_new & status == $past(status_in));
    if ($past(finished) & ~finished) assert ($past(reading & araddr[6:2] == 5'd0));
    if ($past(running & ~done)) assert (running);
    if ($past(running & ~go)) assert (cycles == $past(cycles) + 32'd1);
    // an interrupt waits for done and for being enabled
    if (pending[0] & $past(~pending[0] & ~(taken & awaddr[6:2] == 5'd3)))
        assert ($past(done & enabled[0]));
end
