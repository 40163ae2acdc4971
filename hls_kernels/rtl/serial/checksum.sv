// CRC-32 (IEEE 802.3, reflected) of bytes, a bit per cycle.
module checksum (
    input  logic        clk,
    input  logic        clear,          // begin; the byte of the same cycle counts
    input  logic        valid,          // at most every ninth cycle
    input  logic [7:0]  data,
    output logic        busy,
    output logic [31:0] value,          // of the bytes so far
    output logic        good            // the last four bytes were the checksum of those before
);
    localparam logic [31:0] POLYNOMIAL = 32'hedb88320, RESIDUE = 32'hdebb20e3;
    logic [31:0] register;
    logic [7:0]  bits;
    logic [3:0]  left;
    assign busy  = left != '0;
    assign value = ~register;
    assign good  = register == RESIDUE;
    always_ff @(posedge clk) begin
        if (busy) begin
            register <= (register >> 1) ^ (register[0] ^ bits[0] ? POLYNOMIAL : 32'b0);
            bits     <= bits >> 1;
            left     <= left - 4'd1;
        end
        if (clear) begin
            register <= '1;
            left     <= '0;
        end
        if (valid) begin
            bits <= data;
            left <= 4'd8;
        end
    end
endmodule
