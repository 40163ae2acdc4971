always_ff @(posedge clk) if (settled) begin
    // AXI4: an offered beat or response is stable until it is accepted (its word: same address, no store)
    if ($past(rvalid & ~rready)) assert (rvalid & $stable(at) & $stable(rlast) & $stable(rresp) & ~write);
    if ($past(bvalid & ~bready)) assert (bvalid & $stable(bresp));
    // one access at a time, of the engine or of the host
    assert ($onehot0({arready & arvalid, awready & awvalid, rvalid, wready, bvalid, host_done}));
    // a burst has as many beats as its address said, and ends with the last one
    if ($past(arvalid & arready)) assert (left == $past(arlen));
    if ($past(rvalid & rready)) assert (left == $past(left) - 8'd1);
    if ($past(rvalid & rready & rlast)) assert (~rvalid & state == FREE);
    if (bvalid & $past(~bvalid)) assert ($past(state == STORE & last));
    // only beats and the host's words are stored, never those of an address that does not exist
    if (write) assert ($past((state == TAKE & wvalid & ~outside) | (state == FREE & host_access & host_write)));
    // the host's access ends in the second cycle after it began, once
    if (host_done) assert ($past(state == HOST) & $past(host_access, 2));
    if ($past(host_done)) assert (~host_done);
end
