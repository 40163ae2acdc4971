always_ff @(posedge clk) if (settled) begin
    // a byte is complete in the middle of a high stop bit, after eight bits
    if (valid) assert ($past(state == STOP & timer == '0 & samples[1]) & state == IDLE);
    if ($past(valid)) assert (~valid);
    if (state == STOP & $past(state != STOP)) assert ($past(state == BITS & index == 3'd7 & timer == '0));
    // a start bit is low at its beginning and in its middle
    if (state == START & $past(state != START)) assert ($past(state == IDLE & ~samples[1]));
    if (state == BITS & $past(state == START)) assert ($past(timer == '0 & ~samples[1]));
    assert (timer <= WHOLE_BIT);
end
