// Frames on a serial line become accesses to the engine's registers and memory.
//
//   request   'F' sequence command address(2) count(2) words(4 count) checksum(4)
//   response  'F' sequence status count(2) words(4 count) checksum(4)
//
// Numbers are little-endian, the checksum is CRC-32 of all bytes before it. Commands: 0 read memory,
// 1 write memory, 2 read register, 3 write register (addresses in words, registers one at a time),
// 4 clear. Only odd commands have words in the request, only reads have some in the response. Status:
// 0 done, 1 wrong checksum, 2 no such command or address. A register is written after the checksum
// was right; words of memory are written as they come, which a failed frame does not undo.
//
// A frame that stops in the middle is dropped after 2^SILENCE_BITS cycles. `clear` resets the engine,
// which wipes its memory, and zeroes the board's; so does the bridge without a command when memory was
// written and no right frame has come for 2^WATCH_BITS cycles: a host that disappears leaves no key.
module bridge #(
    parameter int unsigned SILENCE_BITS = 22,
    parameter int unsigned WATCH_BITS = 28
) (
    input  logic        clk,
    input  logic        rst,
    output logic        engine_reset,   // of the engine and the memory's bus
    // bytes of the line
    input  logic        heard,          // pulse
    input  logic [7:0]  heard_byte,
    output logic        say,
    output logic [7:0]  say_byte,
    input  logic        say_ready,
    // the board's memory
    output logic        memory_access,
    output logic        memory_write,
    output logic [11:0] memory_at,
    output logic [31:0] memory_value,
    input  logic        memory_done,
    input  logic [31:0] memory_word,
    // the engine's registers: AXI4-Lite, responses are always accepted
    output logic [6:0]  register_at,
    output logic        awvalid,
    input  logic        awready,
    output logic [31:0] wdata,
    input  logic        bvalid,
    output logic        arvalid,
    input  logic        arready,
    input  logic [31:0] rdata,
    input  logic        rvalid,
    // for the LEDs
    output logic        in_frame,
    output logic        holds_data,     // memory was written and not cleared since
    output logic        rejected        // the last frame
);
    localparam logic [7:0] START = "F";
    localparam logic [7:0] READ_MEMORY = 0, WRITE_MEMORY = 1, READ_REGISTER = 2, WRITE_REGISTER = 3,
                           CLEAR_ALL = 4;
    localparam logic [7:0] DONE = 0, WRONG_CHECKSUM = 1, NO_SUCH = 2;
    typedef enum logic [3:0] {
        IDLE, HEADER, WORDS, STORE, TRAILER, EXECUTE, WRITE, WRITTEN, ASK, ANSWER, RESET, ZERO,
        SAY_HEADER, FETCH, SAY_WORD, SAY_TRAILER
    } state_t;
    state_t      state;
    logic [2:0]  index;                 // of a byte
    logic [7:0]  sequence_, command, status;
    logic [15:0] address, count;
    logic [31:0] word;
    logic        by_command;            // the clearing answers
    logic [SILENCE_BITS-1:0] silence;
    logic [WATCH_BITS-1:0]   watch;

    // -------------------------------------------------------------------------------------- checksum
    logic        check_clear, check_valid, check_busy, check_good;
    logic [7:0]  check_byte;
    logic [31:0] check_value;
    logic        receiving, said;
    assign receiving   = state == IDLE | state == HEADER | state == WORDS | state == STORE
                       | state == TRAILER;
    assign said        = say & say_ready;
    assign check_clear = (state == IDLE & heard) | (state == SAY_HEADER & index == '0);
    assign check_valid = receiving ? heard : said & state != SAY_TRAILER;
    assign check_byte  = receiving ? heard_byte : say_byte;
    checksum u_checksum (
        .clk, .clear(check_clear), .valid(check_valid), .data(check_byte), .busy(check_busy),
        .value(check_value), .good(check_good));

    // ---------------------------------------------------------------------------------------- frames
    logic is_memory, possible;
    assign is_memory = command == READ_MEMORY | command == WRITE_MEMORY;
    always_comb
        case (command)
            READ_MEMORY, WRITE_MEMORY: possible = {1'b0, address} + {1'b0, count} <= 17'd4096;
            READ_REGISTER, WRITE_REGISTER: possible = address < 16'd32 & count == 16'd1;
            CLEAR_ALL: possible = count == '0;
            default: possible = 1'b0;
        endcase

    logic [15:0] place, left;           // of the next word; words that follow
    assign memory_access = state == STORE | state == FETCH | state == ZERO;
    assign memory_write  = state != FETCH;
    assign memory_at     = place[11:0];
    assign memory_value  = state == ZERO ? 32'b0 : word;
    assign register_at   = {address[4:0], 2'b00};
    assign wdata         = word;
    assign awvalid       = state == WRITE;
    assign arvalid       = state == ASK;
    assign engine_reset  = rst | state == RESET;
    assign in_frame      = state != IDLE;

    assign say = state == SAY_HEADER | state == SAY_WORD | (state == SAY_TRAILER & ~check_busy);
    always_comb begin
        say_byte = word[7:0];
        if (state == SAY_HEADER)
            case (index)
                3'd0:    say_byte = START;
                3'd1:    say_byte = sequence_;
                3'd2:    say_byte = status;
                3'd3:    say_byte = left[7:0];
                default: say_byte = left[15:8];
            endcase
        if (state == SAY_TRAILER) say_byte = check_value[8*index[1:0] +: 8];
    end

    always_ff @(posedge clk) begin
        silence <= heard | state == IDLE ? '0 : silence + 1'b1;
        watch   <= holds_data & ~&watch ? watch + 1'b1 : watch;
        case (state)
            IDLE: begin
                index <= '0;
                if (heard & heard_byte == START) state <= HEADER;
                else if (&watch & holds_data) begin
                    by_command <= 1'b0;
                    state      <= RESET;
                end
            end
            // ----------------------------------------------------------------------------- receive
            HEADER:
                if (heard) begin
                    index <= index + 3'd1;
                    case (index)
                        3'd0:    sequence_ <= heard_byte;
                        3'd1:    command <= heard_byte;
                        3'd2:    address[7:0] <= heard_byte;
                        3'd3:    address[15:8] <= heard_byte;
                        3'd4:    count[7:0] <= heard_byte;
                        default: count[15:8] <= heard_byte;
                    endcase
                    place <= address;
                    left  <= {heard_byte, count[7:0]};
                    if (index == 3'd5) begin
                        index <= '0;
                        state <= command[0] & {heard_byte, count[7:0]} != '0 ? WORDS : TRAILER;
                    end
                end
            WORDS:
                if (heard) begin
                    word  <= {heard_byte, word[31:8]};
                    index <= index[1:0] == 2'd3 ? '0 : index + 3'd1;
                    if (index[1:0] == 2'd3) begin
                        left <= left - 16'd1;
                        if (command == WRITE_MEMORY & possible) begin
                            holds_data <= 1'b1;
                            state      <= STORE;
                        end else if (left == 16'd1) state <= TRAILER;
                    end
                end
            STORE:
                if (memory_done) begin
                    place <= place + 16'd1;
                    state <= left == '0 ? TRAILER : WORDS;
                end
            TRAILER:
                if (heard) begin
                    index <= index + 3'd1;
                    if (index == 3'd3) state <= EXECUTE;
                end
            // ----------------------------------------------------------------------------- execute
            EXECUTE:
                if (~check_busy) begin
                    index    <= '0;
                    place    <= address;
                    left     <= '0;
                    status   <= ~check_good ? WRONG_CHECKSUM : ~possible ? NO_SUCH : DONE;
                    rejected <= ~check_good | ~possible;
                    state    <= SAY_HEADER;
                    if (check_good) watch <= '0;
                    if (check_good & possible) begin
                        if (~command[0] & command != CLEAR_ALL) left <= count;
                        case (command)
                            READ_REGISTER:  state <= ASK;
                            WRITE_REGISTER: state <= WRITE;
                            CLEAR_ALL: begin
                                by_command <= 1'b1;
                                state      <= RESET;
                            end
                            default: ;
                        endcase
                    end
                end
            WRITE: if (awready) state <= WRITTEN;
            WRITTEN: if (bvalid) state <= SAY_HEADER;
            ASK: if (arready) state <= ANSWER;
            ANSWER:
                if (rvalid) begin
                    word  <= rdata;
                    state <= SAY_HEADER;
                end
            RESET: begin
                place <= '0;
                index <= index + 3'd1;
                if (index == 3'd7) state <= ZERO;
            end
            ZERO:
                if (memory_done) begin
                    place <= place + 16'd1;
                    if (place[11:0] == '1) begin
                        holds_data <= 1'b0;
                        watch      <= '0;
                        state      <= by_command ? SAY_HEADER : IDLE;
                    end
                end
            // ----------------------------------------------------------------------------- respond
            SAY_HEADER:
                if (said) begin
                    index <= index + 3'd1;
                    if (index == 3'd4) begin
                        index <= '0;
                        state <= left == '0 ? SAY_TRAILER : is_memory ? FETCH : SAY_WORD;
                    end
                end
            FETCH:
                if (memory_done) begin
                    word  <= memory_word;
                    place <= place + 16'd1;
                    state <= SAY_WORD;
                end
            SAY_WORD:
                if (said) begin
                    word  <= word >> 8;
                    index <= index[1:0] == 2'd3 ? '0 : index + 3'd1;
                    if (index[1:0] == 2'd3) begin
                        left  <= left - 16'd1;
                        state <= left == 16'd1 ? SAY_TRAILER : is_memory ? FETCH : SAY_WORD;
                    end
                end
            SAY_TRAILER:
                if (said) begin
                    index <= index + 3'd1;
                    if (index == 3'd3) state <= IDLE;
                end
        endcase
        if (&silence & (state == HEADER | state == WORDS | state == TRAILER)) state <= IDLE;
        if (rst) begin
            // memory may hold data of before the reset
            state <= RESET;
            {index, by_command, rejected, silence, watch} <= '0;
            holds_data <= 1'b1;
        end
    end
endmodule
