always_ff @(posedge clk) if (settled) begin
    // bits that were not sent follow a start bit and end with ones, so the idle line is high
    assert (left <= 4'd10 & &(bits | ~(10'h3ff << left)));
    if (ready) assert (line);
    // a byte is taken only between two others; its start bit follows, and the stop bit is high
    if ($past(valid & ready)) assert (~ready & ~line & bits[8:1] == $past(data) & bits[9] & left == 4'd10);
    // a bit is stable for BIT_CYCLES cycles
    if ($past(~ready & timer != '0)) assert ($stable(line) & $stable(left));
    assert (timer <= WIDTH'(BIT_CYCLES - 1));
end
