"""Models of ECP5 cells for simulation: block RAM and multiplier, which yosys has as black boxes.

They behave as Lattice documents (FPGA-TN-02204 for memory, FPGA-TN-02205 for multipliers) in the
modes that yosys uses here: without output registers, resets and chip selects. A netlist in another
mode ends the simulation. All other cells are simulated by the models in the package of yosys.
"""

from __future__ import annotations

_MULTIPLIER = """
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_INPUTC_CLK = "NONE";
    parameter REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE";
    initial if (REG_INPUTA_CLK != "NONE" | REG_INPUTB_CLK != "NONE" | REG_INPUTC_CLK != "NONE"
                | REG_PIPELINE_CLK != "NONE" | REG_OUTPUT_CLK != "NONE")
        $fatal(1, "a multiplier with registers has no model");
    wire [17:0] a = <A 18>, b = <B 18>;
    wire signed [18:0] wide_a = {SIGNEDA & a[17], a}, wide_b = {SIGNEDB & b[17], b};
    wire signed [37:0] product = wide_a * wide_b;
    assign <P 36> = product[35:0];
"""

_BLOCK_RAM = """
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
    parameter REGMODE_A = "", REGMODE_B = "", WRITEMODE_A = "", WRITEMODE_B = "", CSDECODE_A = "",
        CSDECODE_B = "", CLKAMUX = "", CLKBMUX = "", RESETMODE = "", ASYNC_RESET_RELEASE = "",
        GSR = "";
    parameter [319:0] <images>;
    reg [17:0]  words [0:1023];
    reg [319:0] row;
    integer     i;
    initial begin
        if (REGMODE_A == "OUTREG" | REGMODE_B == "OUTREG" | WRITEMODE_A == "WRITETHROUGH"
            | WRITEMODE_B == "WRITETHROUGH")
            $fatal(1, "this mode of a block RAM has no model");
<load>    end
    // 36 bits are written through port A and read through port B, with the data pins of both
    wire [35:0] data = {<DIB 18>, <DIA 18>};
<port A><port B>
    assign <DOA 18> = DATA_WIDTH_B == 36 ? read_b[17:0] : read_a[17:0];
    assign <DOB 18> = DATA_WIDTH_B == 36 ? read_b[35:18] : read_b[17:0];
"""

_PORT = """
    wire [13:0] at_#p = <AD#P 14>;
    wire [17:0] value_#p = <DI#P 18>;
    reg  [35:0] read_#p = 0;
    always @(posedge CLK#P)
        if ({RST#P, CS#P2, CS#P1, CS#P0} != 0) $fatal(1, "reset and select have no model");
    generate
        if (DATA_WIDTH_#P == 36) begin : wide_#p
            always @(posedge CLK#P) if (CE#P) begin
                read_#p <= {words[{at_#p[13:5], 1'b1}], words[{at_#p[13:5], 1'b0}]};
                for (int k = 0; k < 4; k++)
                    if (WE#P & at_#p[k]) words[{at_#p[13:5], k[1]}][9*k[0] +: 9] <= data[9*k +: 9];
            end
        end else if (DATA_WIDTH_#P == 18) begin : word_#p
            always @(posedge CLK#P) if (CE#P) begin
                read_#p <= {18'b0, words[at_#p[13:4]]};
                for (int k = 0; k < 2; k++)
                    if (WE#P & at_#p[k]) words[at_#p[13:4]][9*k +: 9] <= value_#p[9*k +: 9];
            end
        end else begin : part_#p     // below 9 bits, the ninth bit of a byte is not used
            localparam int W = DATA_WIDTH_#P;
            wire [4:0] first = 9 * at_#p[3] + (W == 9 ? 0 : at_#p[2:0] & ~(W - 1));
            always @(posedge CLK#P) if (CE#P) begin
                read_#p <= 36'(words[at_#p[13:4]][first +: W]);
                if (WE#P) words[at_#p[13:4]][first +: W] <= value_#p[0 +: W];
            end
        end
    endgenerate
"""

_IMAGES = [f"INITVAL_{row:02X}" for row in range(64)]


def _module(name: str, body: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    """Return a module with ports of one bit; "A 18" are A0 to A17, in the body also <A 18>."""
    ports = []
    for direction, groups in (("input", inputs), ("output", outputs)):
        for group in groups:
            port, _, width = group.partition(" ")
            bits = [f"{port}{bit}" for bit in range(int(width))] if width else [port]
            ports += [f"{direction} {bit}" for bit in bits]
            body = body.replace(f"<{group}>", "{" + ", ".join(reversed(bits)) + "}")
    return f"module {name}({', '.join(ports)});{body}endmodule\n"


def models() -> str:
    """Return the Verilog of both cells."""
    load = "".join(
        f"        row = {image};\n"
        f"        for (i = 0; i < 16; i = i + 1) words[i + {16 * at}] = row[20*i +: 18];\n"
        for at, image in enumerate(_IMAGES)
    )
    ram = _BLOCK_RAM.replace("<load>", load)
    ram = ram.replace("<images>", ", ".join(f"{image} = 320'b0" for image in _IMAGES))
    inputs: list[str] = []
    for port in "AB":
        text = _PORT.replace("#P", port).replace("#p", port.lower())
        ram = ram.replace(f"<port {port}>", text)
        inputs += [f"DI{port} 18", f"AD{port} 14", f"CS{port} 3"]
        inputs += [f"{pin}{port}" for pin in ("CE", "OCE", "CLK", "WE", "RST")]
    return _module("DP16KD", ram, tuple(inputs), ("DOA 18", "DOB 18")) + _module(
        "MULT18X18D", _MULTIPLIER,
        ("A 18", "B 18", "C 18", "SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB"), ("P 36",),
    )  # fmt: skip
