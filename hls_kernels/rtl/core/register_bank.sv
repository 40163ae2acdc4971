// 32 registers of 64 bits: one write port, five asynchronous read ports (distributed memory).
module register_bank (
    input  logic         clk,
    input  logic         write,
    input  logic [4:0]   to,
    input  logic [63:0]  value,
    input  logic [24:0]  from,
    output logic [319:0] read
);
    genvar port;
    generate
        for (port = 0; port < 5; port++) begin : ports
            (* ram_style = "distributed" *) logic [63:0] words [0:31];
            always_ff @(posedge clk) if (write) words[to] <= value;
            assign read[64*port +: 64] = words[from[5*port +: 5]];
        end
    endgenerate
endmodule
