// Runs the program of a signing attempt: kernels over the nodes of the signing tree, with a stack of
// one entry per level, and the verdicts of the sampler.
module sequencer #(
    parameter ROM = "rom/"
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        wipe,
    input  logic        is_1024,
    input  logic        key_kept,       // the request has no key: the memory has its tree
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
    output logic [89:0] places,
    // loads from the bus
    output logic        load,           // pulse
    output logic [2:0]  load_part,
    output logic [14:0] load_place,
    input  logic        load_done,      // pulse
    input  logic        load_failed,
    // verdicts
    output logic        second_sample,
    output logic        exact,          // kernel `exact` tests draw `judge_draw`
    input  logic        weighed,
    input  logic [7:0]  less,           // by lane
    input  logic [7:0]  equal,
    input  logic [63:0] threshold,      // exact one
    output logic        accept,
    output logic        accept_second,
    output logic [5:0]  accept_candidate,
    // draws: see draws.sv
    input  logic        draws_ready,
    output logic [2:0]  judge_draw,
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
    // An address is a number of polynomials of n words plus a number of half polynomials of the node,
    // and in the tree of a key, where each level has n words, plus the polynomials of nodes before it.
    // The path to a node is also its index in its level.
    logic [3:0]  logn;
    logic [9:0]  path;                  // from the top; the last bit: left child
    logic        top, left_child, in_tree, in_tree1;
    logic [2:0]  which;
    logic [4:0]  operand, polynomials, polynomials1;
    logic [3:0]  halves, halves1;
    logic [14:0] place;
    localparam logic [4:0] GRAM = PLACE_GRAM[4:0], FRAMES = PLACE_FRAMES[4:0];
    localparam logic [3:0] Z = 4'(2 * LEVEL_Z);
    assign logn       = is_1024 ? 4'd10 : 4'd9;
    assign top        = level == logn;
    assign left_child = path[0];
    assign operand    = instruction.operand_a;
    always_comb begin
        {polynomials, halves, in_tree} = {operand, 4'd0, 1'b0};
        case (operand)
            // below the top, a child's Gram matrix is at the address that its parent wrote
            NODE_G00: {polynomials, halves} = top ? {PLACE_TOP_G00[4:0], 4'd0}
                                            : {GRAM, left_child ? 4'd12 : 4'd8};
            NODE_G01: {polynomials, halves} = top ? {GRAM + 5'd1, 4'd0}
                                            : {GRAM, left_child ? 4'd14 : 4'd10};
            NODE_G11: {polynomials, halves} = {GRAM, top ? 4'd0 : left_child ? 4'd12 : 4'd8};
            NODE_CHILDREN: {polynomials, halves} = {GRAM, 4'd4};
            // targets are the halves of the parent's samples
            NODE_T0:  {polynomials, halves} = top ? {PLACE_T0[4:0], 4'd0} : {FRAMES, 4'(2 * Z)};
            NODE_T1:  {polynomials, halves} = top ? {PLACE_T1[4:0], 4'd0} : {FRAMES, 4'(2 * Z + 2)};
            NODE_Z:   {polynomials, halves} = {FRAMES, Z};
            NODE_L10: if (KEEPS_KEY == 1) {polynomials, in_tree} = {PLACE_TREE[4:0] + {1'b0, level}, 1'b1};
                      else {polynomials, halves} = {FRAMES, 4'd4};
            NODE_DEVIATIONS: {polynomials, in_tree} = {PLACE_TREE[4:0], 1'b1};
            default: ;
        endcase
    end
    always_ff @(posedge clk) {polynomials1, halves1, in_tree1} <= {polynomials, halves, in_tree};
    assign place = ({10'b0, polynomials1} << logn)
                 + ((in_tree1 ? {4'b0, path, 1'b0} : {11'b0, halves1}) << level >> 1);

    // ---------------------------------------------------------------------------------------- passes
    logic       passes_, inverse;
    logic [3:0] pass;
    assign passes_  = instruction.opcode == OP_PASSES[2:0];
    assign inverse  = instruction.argument[0];
    assign pair_bit = passes_ ? logn - 4'd1 - pass : 4'd0;
    assign root     = passes_ ? 10'd1 << (pass - 4'd1) : 10'd1 << (level - 4'd2);

    // ------------------------------------------------------------------------------- calls: the stack
    typedef enum logic [3:0] {
        STOPPED, FETCH, READ, DECODE, PREPARE, ISSUE, LOADING, DRAW, WEIGH, JUDGE, ASK, HEAR, COMPARE,
        REFINE
    } state_t;
    state_t     state;
    logic [5:0] stack [0:15];           // by level; the caller of the top is at 0
    logic       decoded, push;
    logic [3:0] stack_at;
    assign decoded  = which == 3'd7;
    assign push     = state == DECODE & instruction.opcode == OP_CALL[2:0];
    assign stack_at = push ? (instruction.argument[1] ? 4'd0 : level) : (top ? 4'd0 : level + 4'd1);
    always_ff @(posedge clk) if (push) stack[stack_at] <= pc;

    // -------------------------------------------------------------------------------------- verdicts
    // Draws are tested in order. A round uses the first ones for the first sample, and those after the
    // accepted one for the second; if only the second is missing, all for it. Where bounds of a
    // threshold leave the verdict open, kernel `exact` computes it; where its first byte is equal, too,
    // further random bytes are compared.
    logic       sampling, second, second_only, last_draw, is_less, is_equal, accepted, rejected;
    logic [2:0] byte_at, lane;
    logic [7:0] heard, against;
    logic [9:0] tries;
    localparam logic [2:0] FIRST = FIRST_DRAWS[2:0];
    assign second_sample = second_only | (exact & second);
    assign lane      = exact ? EXACT_LANE[2:0]
                     : second | (second_only & judge_draw >= FIRST) ? judge_draw + FIRST - 3'd1
                     : judge_draw;
    assign last_draw = judge_draw == (second | second_only ? DRAWS[2:0] : FIRST) - 3'd1;
    assign is_less   = state == JUDGE ? less[lane] : heard < against;
    assign is_equal  = state == JUDGE ? equal[lane] : heard == against & byte_at != 3'd7;
    always_ff @(posedge clk) against <= threshold[8*(3'd7-byte_at) +: 8];
    assign accepted  = (state == JUDGE | state == COMPARE) & is_less;
    assign rejected  = (state == JUDGE | state == COMPARE) & ~is_less & ~is_equal;
    assign more       = state == ASK;
    assign more_first = byte_at == 3'd1;

    assign kernel = exact ? KERNEL_EXACT[4:0] : sampling ? KERNEL_ATTEMPT[4:0] : instruction.argument;
    // draws consumed by the last verdict are still counted
    assign start  = state == ISSUE | state == REFINE | (state == DRAW & draws_ready & ~consume);
    always_ff @(posedge clk) begin
        {done, load, consume, accept} <= '0;
        case (state)
            STOPPED:
                if (go) begin
                    pc     <= '0;
                    level  <= logn;
                    path   <= '0;
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
                // the next operand becomes the first: an index into all six would infer a multiplier
                instruction[29:0] <= {instruction[24:0], 5'd0};
                if (which != '0 & ~decoded) places <= {places[74:0], place};
                case (instruction.opcode)
                    OP_RUN[2:0], OP_PASSES[2:0]: begin
                        pass <= inverse ? logn - 4'd1 : 4'd1;
                        if (decoded) state <= ISSUE;
                    end
                    OP_CALL[2:0]: begin
                        if (~instruction.argument[1]) begin
                            level <= level - 4'd1;
                            path  <= {path[8:0], instruction.argument[0]};
                        end
                        pc    <= instruction[5:0];
                        state <= FETCH;
                    end
                    OP_RETURN[2:0]: begin
                        pc   <= stack[stack_at];
                        path <= path >> 1;
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
                    OP_JUMP[2:0]: begin
                        if (instruction.argument[0] == CONDITION_KEY_KEPT[0] ? key_kept : level == 4'd1)
                            pc <= instruction[5:0];
                        state <= FETCH;
                    end
                    default:
                        if (decoded & idle) begin
                            done  <= 1'b1;
                            state <= STOPPED;
                        end
                endcase
            end
            // the kernel is valid before its start
            PREPARE: state <= exact ? REFINE : sampling ? DRAW : ISSUE;
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
            REFINE: if (ready) state <= WEIGH;
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
            exact <= state == JUDGE & ~exact;
            if (state == COMPARE | exact) begin
                byte_at <= byte_at + 3'd1;
                state   <= ASK;
            end else state <= PREPARE;
        end
        if (accepted | rejected) exact <= 1'b0;
        if (accepted) begin
            accept        <= 1'b1;
            accept_second <= second | second_only;
            second        <= 1'b1;
            second_only   <= second_only | state == COMPARE;
            tries         <= '0;
            judge_draw    <= judge_draw + 3'd1;
            state         <= state == COMPARE ? DRAW : JUDGE;
            if (second | second_only) begin
                {second_only, sampling} <= '0;
                state <= PREPARE;
            end
        end
        if (rejected) begin
            tries      <= tries + 10'd1;
            judge_draw <= judge_draw + 3'd1;
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
        consume_count <= judge_draw + 3'd1;
        if (wipe) begin
            {sampling, second, second_only, tries, judge_draw, byte_at, heard, accept_candidate}
                <= '0;
            {accept_second, consume_count, exact} <= '0;
        end
        if (rst) begin
            state <= STOPPED;
            // second_only changes every kernel's operands, so no attempt may begin with it
            {done, failed, load, consume, accept, sampling, second, second_only, exact} <= '0;
        end
    end
    assign load_part  = instruction.argument[2:0];
    assign load_place = places[89:75];
endmodule
