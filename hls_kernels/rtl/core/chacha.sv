// ChaCha20 in eight blocks at a time, word w of block b at index 8 w + b: the order of eight parallel
// lanes, which determines the use of every byte. One step of a quarter round per cycle; a buffer of 512
// bytes takes 3,360 cycles, in which the sampler uses about one buffer.
module chacha (
    input  logic        clk,
    input  logic        rst,
    input  logic        wipe,
    input  logic        seed_write,
    input  logic [3:0]  seed_at,        // 0 to 11: key and nonce; 12 and 13: the counter
    input  logic [31:0] seed_value,
    input  logic        go,             // fill one buffer
    output logic        busy,
    output logic        full,           // pulse: the buffer is full; comes with the last word
    output logic        word_write,
    output logic [6:0]  word_at,
    output logic [31:0] word_value
);
    typedef enum logic [1:0] {IDLE, SETUP, ROUNDS, OUT} state_t;
    state_t      state;
    logic [31:0] key1 [0:3], key2 [0:3], key3 [0:3];
    logic [63:0] counter;
    logic [31:0] row0 [0:3], row1 [0:3], row2 [0:3], row3 [0:3];
    logic [2:0]  block, step;
    logic [3:0]  double_round, at;      // at: the column, or the word that goes out
    logic        diagonal;

    // ------------------------------------------------- what the rows begin with, and end by adding
    logic [31:0] start0, start1, start2, start3;
    always_comb begin
        case (at[1:0])                  // "expand 32-byte k"
            2'd0: start0 = 32'h61707865;
            2'd1: start0 = 32'h3320646e;
            2'd2: start0 = 32'h79622d32;
            default: start0 = 32'h6b206574;
        endcase
        start1 = key1[at[1:0]];
        start2 = key2[at[1:0]];
        start3 = key3[at[1:0]] ^ (at[1] ? (at[0] ? counter[63:32] : counter[31:0]) : 32'b0);
    end

    // ------------------------------------------------------- quarter rounds on columns and diagonals
    logic [1:0]  at0, at1, at2, at3;
    logic [31:0] read0, read1, read2, read3;
    logic [31:0] p, q, r, s, sum, mixed, turned;
    assign at0   = at[1:0];
    assign at1   = at[1:0] + {1'b0, diagonal};
    assign at2   = at[1:0] + {diagonal, 1'b0};
    assign at3   = at[1:0] + {diagonal, diagonal};
    assign read0 = row0[at0];
    assign read1 = row1[at1];
    assign read2 = row2[at2];
    assign read3 = row3[at3];
    assign sum   = p + q;
    assign mixed = s ^ sum;
    always_comb
        case (step)
            3'd1: turned = {mixed[15:0], mixed[31:16]};
            3'd2: turned = {mixed[19:0], mixed[31:20]};
            3'd3: turned = {mixed[23:0], mixed[31:24]};
            default: turned = {mixed[24:0], mixed[31:25]};
        endcase
    logic setup, row_write;
    assign setup     = state == SETUP;
    assign row_write = setup | step == 3'd4 | wipe;
    always_ff @(posedge clk) begin
        {p, q, r, s} <= step == 0 ? {read0, read1, read2, read3} : {r, turned, sum, q};
        if (row_write) begin
            row0[at0] <= wipe ? '0 : setup ? start0 : r;
            row1[at1] <= wipe ? '0 : setup ? start1 : turned;
            row2[at2] <= wipe ? '0 : setup ? start2 : sum;
            row3[at3] <= wipe ? '0 : setup ? start3 : q;
        end
        if ((seed_write & seed_at[3:2] == 2'd0) | wipe)
            key1[wipe ? at0 : seed_at[1:0]] <= wipe ? '0 : seed_value;
        if ((seed_write & seed_at[3:2] == 2'd1) | wipe)
            key2[wipe ? at0 : seed_at[1:0]] <= wipe ? '0 : seed_value;
        if ((seed_write & seed_at[3:2] == 2'd2) | wipe)
            key3[wipe ? at0 : seed_at[1:0]] <= wipe ? '0 : seed_value;
    end

    assign busy = state != IDLE;
    always_ff @(posedge clk) begin
        case (at[3:2])
            2'd0: word_value <= read0 + start0;
            2'd1: word_value <= read1 + start1;
            2'd2: word_value <= read2 + start2;
            default: word_value <= read3 + start3;
        endcase
        word_at    <= {at, block};
        word_write <= state == OUT;
        full       <= 1'b0;
        if (seed_write & seed_at == 4'd12) counter[31:0] <= seed_value;
        if (seed_write & seed_at == 4'd13) counter[63:32] <= seed_value;
        case (state)
            IDLE: begin
                {block, step, diagonal, at, double_round} <= '0;
                if (go) state <= SETUP;
            end
            SETUP: begin
                at <= at == 4'd3 ? 4'd0 : at + 4'd1;
                if (at == 4'd3) state <= ROUNDS;
            end
            ROUNDS: begin
                step <= step == 3'd4 ? 3'd0 : step + 3'd1;
                if (step == 3'd4) begin
                    at <= at == 4'd3 ? 4'd0 : at + 4'd1;
                    if (at == 4'd3) begin
                        diagonal <= ~diagonal;
                        if (diagonal) begin
                            double_round <= double_round == 4'd9 ? 4'd0 : double_round + 4'd1;
                            if (double_round == 4'd9) state <= OUT;
                        end
                    end
                end
            end
            OUT: begin
                at <= at + 4'd1;
                if (at == 4'd15) begin
                    counter <= counter + 64'd1;
                    block   <= block + 3'd1;
                    state   <= block == 3'd7 ? IDLE : SETUP;
                    full    <= block == 3'd7;
                end
            end
        endcase
        if (wipe) begin
            counter <= '0;
            at      <= at + 4'd1;
            {block, diagonal, double_round} <= '0;
        end
        if (rst | wipe) begin
            state <= IDLE;
            {full, word_write, step} <= '0;
        end
    end
endmodule
