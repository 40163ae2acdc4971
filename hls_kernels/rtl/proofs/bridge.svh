// Assumption: the board's memory reports done only during an access.
always_comb if (~rst) assume (~memory_done | memory_access);

// Words of the board's memory that were zeroed since the last reset of the engine.
logic [12:0] zeroed;
always_ff @(posedge clk)
    if (rst | state == RESET) zeroed <= '0;
    else if (state == ZERO & memory_done) zeroed <= zeroed + 13'd1;

// The word after the last one of the frame, as counted by address and count, and by the progress.
logic [16:0] behind, reached;
assign behind  = {1'b0, address} + {1'b0, count};
assign reached = {1'b0, place} + {1'b0, left};

always_ff @(posedge clk) if (settled) begin
    // offered accesses and bytes are stable until they are accepted, one at a time
    if ($past(awvalid & ~awready)) assert (awvalid & $stable(register_at) & $stable(wdata));
    if ($past(arvalid & ~arready)) assert (arvalid & $stable(register_at));
    if ($past(memory_access & ~memory_done))
        assert (memory_access & $stable(memory_write) & $stable(memory_at) & $stable(memory_value));
    if ($past(say & ~say_ready)) assert (say & $stable(say_byte));
    assert ($onehot0({awvalid, arvalid, memory_access, say}));
    // registers are accessed, and the engine is reset, only by a complete frame with the right checksum
    if (state == EXECUTE & $past(state != EXECUTE)) assert ($past(state == TRAILER & heard & index == 3'd3));
    if (awvalid) assert (command == WRITE_REGISTER & possible);
    if (arvalid) assert (command == READ_REGISTER & possible);
    if ((awvalid & $past(~awvalid)) | (arvalid & $past(~arvalid)))
        assert ($past(state == EXECUTE & check_good & ~check_busy));
    if (state == RESET & $past(state != RESET))
        assert (by_command ? $past(state == EXECUTE & check_good & possible & command == CLEAR_ALL)
                           : $past(state == IDLE & &watch & holds_data));
    // memory is accessed only at the addresses of the frame, which exist
    if (state == STORE) assert (command == WRITE_MEMORY & possible & reached + 17'd1 == behind);
    if (state == FETCH) assert (command == READ_MEMORY & possible & left != '0 & reached == behind);
    if (state == STORE | state == FETCH) assert (place >= address & {1'b0, place} < behind);
    if (memory_access) assert (place < 16'd4096);
    // written memory is not forgotten before all of it was zeroed
    if (state == STORE) assert (holds_data);
    if ($past(holds_data) & ~holds_data) assert (zeroed == 13'd4096);
    if (state == ZERO) assert (place == {3'b0, zeroed});
    // a host that disappears: its frame is dropped, and the memory is cleared
    if ($past(&silence & (state == HEADER | state == WORDS | state == TRAILER))) assert (state == IDLE);
    if ($past(&watch & holds_data & state == IDLE & ~heard)) assert (state == RESET);
    // a response has no more words than the request asked for
    if (state == SAY_HEADER | state == SAY_WORD) assert (left <= count & (left == '0 | ~command[0]));
    // invariants for the above
    if (state == WORDS) assert (left != '0 & left <= count & command[0]);
    if (state == WORDS & command == WRITE_MEMORY & possible) assert (reached == behind);
    if (state == ASK | state == ANSWER) assert (command == READ_REGISTER & possible & left == count);
    if (state == WRITE | state == WRITTEN) assert (command == WRITE_REGISTER & left == '0);
    if ((state == SAY_HEADER | state == SAY_WORD) & left != '0) assert (possible);
    if (state == SAY_HEADER & left != '0 & is_memory) assert (reached == behind);
    if (state == SAY_WORD & is_memory) assert (reached == behind + 17'd1);
    if (state == SAY_WORD) assert (left != '0);
    if (state == RESET | state == ZERO) assert (~by_command | left == '0);
end
