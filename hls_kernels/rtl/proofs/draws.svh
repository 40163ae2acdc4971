// Assumption: the sequencer consumes only available draws, and does not consume and drop at once.
always_comb if (~rst & ~wipe & ~seeded) assume (
    (~consume | ({1'b0, consume_count} <= held & consume_count != '0)) & ~(consume & more));
// The generator: words come between `go` and `full`.
logic under_way;
always_ff @(posedge clk) under_way <= ~(rst | seeded | wipe) & (go | (under_way & ~full));
always_comb assume ((under_way | ~(word_write | full)) & (busy | ~under_way | full));

// An arbitrary draw is followed through the queue.
(* anyseq *) logic begin_here;
logic       followed;
logic [3:0] place;              // number of draws before it
logic [24:0] written;
logic [2:0] slot;
assign slot = head + place[2:0];
always_ff @(posedge clk) begin
    if (state == PUSH & begin_here & ~followed) begin
        followed <= 1'b1;
        place    <= held - (consume ? {1'b0, consume_count} : 4'd0);
        written  <= {sign[0] ? {1'b0, base} + 6'd1 : -{1'b0, base}, base, last, position[5:0]};
    end else if (consume) begin
        place    <= place - {1'b0, consume_count};
        followed <= followed & {1'b0, consume_count} <= place;
    end
    if (more | seeded | rst | wipe) followed <= 1'b0;
end

always_ff @(posedge clk) if (settled & ~$past(wipe)) begin
    assert (held <= 4'd8);
    assert (state <= MORE);
    if (state == TAKE | state == COMPARE | state == PUSH) assert (~held[3]);
    if (state == MORE) assert (held == '0);
    assert (ready == (held >= DRAWS[3:0]));
    // a pushed draw is read at its position, unchanged, until it is consumed
    if (followed) begin
        assert (place < held);
        assert ({candidates[slot], bases[slot], randoms[slot], behind[slot][5:0]} == written);
    end
    // the buffer being filled is not the one being read
    if (under_way) assert (~filled[filling]);
    if (word_write & take) assert (position[9] != filling);
end
