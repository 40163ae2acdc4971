// Assumption: the engine signals done only while it runs.
always_ff @(posedge clk) if (~rst) assume (~done | running);

always_ff @(posedge clk) if (settled) begin
    // AXI4-Lite: a response for every accepted request, stable until it is accepted
    if ($past(bvalid & ~bready)) assert (bvalid);
    if ($past(rvalid & ~rready)) assert (rvalid & $stable(rdata));
    if (bvalid & $past(~bvalid)) assert ($past(awvalid & awready & wvalid & wready));
    if (rvalid & $past(~rvalid)) assert ($past(arvalid & arready));
    if ($past(awvalid & awready)) assert (bvalid & $past(wvalid & wready & ~bvalid));
    if ($past(arvalid & arready)) assert (rvalid & $past(~rvalid));
    // an attempt begins by the start bit, once, and never during another
    if (go) assert ($past(taken & wdata[0] & wstrb[0] & awaddr[6:2] == 5'd0));
    assert (~go | (~running & $past(~go & ~running)));
    if ($past(busy)) assert ($stable(request) & $stable(response) & $stable(logn));
    // done ends it, and stays until it is read
    if ($past(done)) assert (finished & ~running & status_new & status == $past(status_in));
    if ($past(finished) & ~finished) assert ($past(reading & araddr[6:2] == 5'd0));
    if ($past(running & ~done)) assert (running);
    if ($past(running & ~go)) assert (cycles == $past(cycles) + 32'd1);
    // an abort needs a run, and lasts until its end
    if (abort) assert (running);
    if ($past(abort & ~done)) assert (abort);
    // an interrupt requires done, and interrupts enabled
    if (pending[0] & $past(~pending[0] & ~(taken & awaddr[6:2] == 5'd3)))
        assert ($past(done & enabled[0]));
end
