// 1,024 words of 64 bits in block RAM: one write port, and one read port with a register behind it.
// The register is zero unless its bank was read, so the value of many banks is the OR of all.
module memory_bank (
    input  logic        clk,
    input  logic        write,
    input  logic [9:0]  to,
    input  logic [63:0] value,
    input  logic [9:0]  from,
    input  logic        selected,       // of the address of the cycle before
    output logic [63:0] read            // two cycles after its address
);
    (* ram_style = "block" *) logic [63:0] words [0:1023];
    logic [63:0] word;
    always_ff @(posedge clk) begin
        if (write) words[to] <= value;
        word <= words[from];
        read <= selected ? word : '0;
    end
endmodule
