// Runs the program of a signing attempt: kernels over the nodes of the signing tree, with a stack of
// one entry per level, and the verdicts of the sampler.
module sequencer #(
    parameter ROM = "rom/"
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        wipe,
    input  logic        is_1024,
    input  logic        go,             // pulse
    output logic        done,           // pulse
    output logic        failed,         // none of many attempts was accepted
    // kernels: see issue.sv
    output logic        start,
    input  logic        ready,
    input  logic        idle,
    output logic [4:0]  kernel,
    output logic [3:0]  level,
    output logic [3:0]  pair_bit,
    output logic [9:0]  root,
    output logic [83:0] places,
    // loads from the bus
    output logic        load,           // pulse
    output logic [2:0]  load_part,
    output logic [13:0] load_place,
    input  logic        load_done,      // pulse
    input  logic        load_failed,
    // verdicts
    output logic        second_only,
    input  logic        weighed,
    input  logic [4:0]  less,
    input  logic [4:0]  equal,
    output logic [2:0]  lane,
    input  logic [63:0] threshold,
    output logic        accept,
    output logic        accept_second,
    output logic [5:0]  accept_candidate,
    // draws: see draws.sv
    input  logic        draws_ready,
    output logic [1:0]  judge_draw,
    input  logic [5:0]  judge_candidate,
    output logic        consume,
    output logic [2:0]  consume_count,
    output logic        more,
    output logic        more_first,
    input  logic        more_valid,
    input  logic [7:0]  more_byte
);
    `include "falcon_program.svh"
    localparam logic [9:0] MOST_TRIES = 10'd999;    // rejected ones; then the key is invalid

    logic [INSTRUCTION_BITS-1:0] instructions [0:63];
    initial $readmemh({ROM, "program.hex"}, instructions);
    logic [5:0]   pc;
    instruction_t fetched, instruction;
    always_ff @(posedge clk) fetched <= instructions[pc];

    // -------------------------------------------------------------------------------------- operands
    // An address is a number of polynomials of n words plus a number of half polynomials of the node.
    logic [3:0]  logn;
    logic        left_child, top;
    logic [2:0]  which;
    logic [3:0]  operand, polynomials, halves, polynomials1, halves1, gram;
    logic [13:0] place;
    assign logn    = is_1024 ? 4'd10 : 4'd9;
    assign top     = level == logn;
    assign operand = instruction[4*(5-which) +: 4];
    // below the top, a child's Gram matrix is at the address that its parent wrote
    assign gram    = level == logn - 4'd1 ? 4'd1 : 4'd0;
    always_comb begin
        {polynomials, halves} = {PLACE_FRAMES[3:0], 4'd0};
        case (operand)
            4'd8:    if (~top) {polynomials, halves} = {gram, left_child ? 4'd12 : 4'd8};   // g00
            4'd9:    {polynomials, halves} = top ? {4'd1, 4'd0} : {gram, left_child ? 4'd14 : 4'd10};
            4'd10:   {polynomials, halves} = top ? {4'd2, 4'd0} : {gram, left_child ? 4'd12 : 4'd8};
            4'd11:   {polynomials, halves} = top ? {4'd3, 4'd0} : {4'd0, 4'd4};             // children
            4'd12:   if (top) polynomials = PLACE_T0[3:0]; else halves = 4'd12;
            4'd13:   if (top) polynomials = PLACE_T1[3:0]; else halves = 4'd14;
            4'd14:   halves = 4'd4;                                                         // l10
            4'd15:   halves = 4'd6;                                                         // z
            default: polynomials = operand;
        endcase
    end
    always_ff @(posedge clk) {polynomials1, halves1} <= {polynomials, halves};
    assign place = ({10'b0, polynomials1} << logn) + ({10'b0, halves1} << level >> 1);

    // ---------------------------------------------------------------------------------------- passes
    logic       passes_, inverse;
    logic [3:0] pass;
    assign passes_  = instruction.opcode == OP_PASSES[2:0];
    assign inverse  = instruction.argument[0];
    assign pair_bit = passes_ ? logn - 4'd1 - pass : 4'd0;
    assign root     = passes_ ? 10'd1 << (pass - 4'd1) : 10'd1 << (level - 4'd2);

    // ------------------------------------------------------------------------------- calls: the stack
    typedef enum logic [3:0] {
        STOPPED, FETCH, READ, DECODE, PREPARE, ISSUE, LOADING, DRAW, WEIGH, JUDGE, ASK, HEAR, COMPARE
    } state_t;
    state_t     state;
    logic [6:0] stack [0:15];           // by level; the caller of the top is at 0
    logic       decoded, push;
    logic [3:0] stack_at;
    assign decoded  = which == 3'd7;
    assign push     = state == DECODE & instruction.opcode == OP_CALL[2:0];
    assign stack_at = push ? (instruction.argument[1] ? 4'd0 : level) : (top ? 4'd0 : level + 4'd1);
    always_ff @(posedge clk) if (push) stack[stack_at] <= {left_child, pc};

    // -------------------------------------------------------------------------------------- verdicts
    // Draws are tested in order. A round uses the first two for the first sample, and those after the
    // accepted one for the second; if only the second is missing, all four for it.
    logic       sampling, second, last_draw, is_less, is_equal, accepted, rejected;
    logic [2:0] byte_at;
    logic [7:0] heard, against;
    logic [9:0] tries;
    assign lane      = second_only ? {1'b0, judge_draw} + {2'b0, judge_draw[1]}
                     : {1'b0, judge_draw} + {2'b0, second};
    assign last_draw = judge_draw == (second | second_only ? 2'd3 : 2'd1);
    assign is_less   = state == JUDGE ? less[lane] : heard < against;
    assign is_equal  = state == JUDGE ? equal[lane] : heard == against & byte_at != 3'd7;
    always_ff @(posedge clk) against <= threshold[8*(3'd7-byte_at) +: 8];
    assign accepted  = (state == JUDGE | state == COMPARE) & is_less;
    assign rejected  = (state == JUDGE | state == COMPARE) & ~is_less & ~is_equal;
    assign more       = state == ASK;
    assign more_first = byte_at == 3'd1;

    assign kernel = sampling ? KERNEL_ATTEMPT[4:0] : instruction.argument;
    // draws consumed by the last verdict are still counted
    assign start  = state == ISSUE | (state == DRAW & draws_ready & ~consume);
    always_ff @(posedge clk) begin
        {done, load, consume, accept} <= '0;
        case (state)
            STOPPED:
                if (go) begin
                    pc     <= '0;
                    level  <= logn;
                    failed <= 1'b0;
                    state  <= FETCH;
                end
            FETCH: state <= READ;
            READ: begin
                instruction <= fetched;
                pc    <= pc + 6'd1;
                which <= '0;
                state <= DECODE;
            end
            DECODE: begin
                if (~decoded) which <= which + 3'd1;
                if (which != '0 & ~decoded) places <= {places[69:0], place};
                case (instruction.opcode)
                    OP_RUN[2:0], OP_PASSES[2:0]: begin
                        pass <= inverse ? logn - 4'd1 : 4'd1;
                        if (decoded) state <= ISSUE;
                    end
                    OP_CALL[2:0]: begin
                        if (~instruction.argument[1]) begin
                            level      <= level - 4'd1;
                            left_child <= instruction.argument[0];
                        end
                        pc    <= AT_NODE[5:0];
                        state <= FETCH;
                    end
                    OP_RETURN[2:0]: begin
                        {left_child, pc} <= stack[stack_at];
                        if (~top) level <= level + 4'd1;
                        state <= FETCH;
                    end
                    OP_LOAD[2:0]:
                        if (decoded & idle) begin
                            load  <= 1'b1;
                            state <= LOADING;
                        end
                    OP_SAMPLE[2:0]: begin
                        {second, second_only, tries} <= '0;
                        if (decoded) begin
                            sampling <= 1'b1;
                            state    <= PREPARE;
                        end
                    end
                    OP_LEAF[2:0]: begin
                        if (level == 4'd1) pc <= AT_LEAF[5:0];
                        state <= FETCH;
                    end
                    default:
                        if (decoded & idle) begin
                            done  <= 1'b1;
                            state <= STOPPED;
                        end
                endcase
            end
            PREPARE: state <= sampling ? DRAW : ISSUE;  // the kernel is valid before its start
            ISSUE:
                if (ready) begin
                    pass  <= inverse ? pass - 4'd1 : pass + 4'd1;
                    state <= passes_ & pass != (inverse ? 4'd1 : logn - 4'd1) ? ISSUE : FETCH;
                end
            LOADING:
                if (load_done) begin
                    failed <= load_failed;
                    done   <= load_failed;
                    state  <= load_failed ? STOPPED : FETCH;
                end
            DRAW: begin
                {judge_draw, byte_at, second} <= '0;
                if (start & ready) state <= WEIGH;
            end
            WEIGH: if (weighed) state <= JUDGE;
            JUDGE: accept_candidate <= judge_candidate;
            ASK: state <= HEAR;
            HEAR: begin
                heard <= more_byte;
                if (more_valid) state <= COMPARE;
            end
            default: ;
        endcase
        if ((state == JUDGE | state == COMPARE) & is_equal) begin
            byte_at <= byte_at + 3'd1;
            state   <= ASK;
        end
        if (accepted) begin
            accept        <= 1'b1;
            accept_second <= second | second_only;
            second        <= 1'b1;
            second_only   <= second_only | state == COMPARE;
            tries         <= '0;
            judge_draw    <= judge_draw + 2'd1;
            state         <= state == COMPARE ? DRAW : JUDGE;
            if (second | second_only) begin
                {second_only, sampling} <= '0;
                state <= PREPARE;
            end
        end
        if (rejected) begin
            tries      <= tries + 10'd1;
            judge_draw <= judge_draw + 2'd1;
            state      <= last_draw | state == COMPARE ? DRAW : JUDGE;
            if (last_draw | state == COMPARE) second_only <= second_only | second;
            if (tries == MOST_TRIES) begin
                {failed, done} <= 2'b11;
                state <= STOPPED;
            end
        end
        // tested draws leave the queue; further bytes have already emptied it
        if (state == JUDGE & ((accepted & (second | second_only)) | (rejected & last_draw)))
            consume <= 1'b1;
        consume_count <= {1'b0, judge_draw} + 3'd1;
        if (wipe) begin
            {sampling, second, second_only, tries, judge_draw, byte_at, heard, accept_candidate}
                <= '0;
            {accept_second, consume_count} <= '0;
        end
        if (rst) begin
            state <= STOPPED;
            // second_only changes every kernel's operands, so no attempt may begin with it
            {done, failed, load, consume, accept, sampling, second, second_only} <= '0;
        end
    end
    assign load_part  = instruction.argument[2:0];
    assign load_place = places[83:70];
endmodule
