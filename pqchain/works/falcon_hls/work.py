"""Falcon signing accelerator: Tables 2 and 3 of the paper compared with a model and our RTL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.falcon import model, rtl
from pqchain.figures import Kind
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.comparisons import bound_text
from pqchain.works.printed import PRINTED, next_to
from pqchain.works.readers import Number, NumberReader, from_values
from pqchain.works.verdicts import CODE, OPEN, Standing, Verdict, outcome
from pqchain.works.work import Bench, Frames, Work

ENGINES = Contract.of(
    "engines",
    ("str", "engine kind device"),
    ("float64", "lookup_tables flip_flops dsp_blocks block_rams"),
    ("float64", "clock_megahertz low_clock_megahertz high_clock_megahertz"),
    ("float64", "cycles_512 cycles_1024 seconds_512 seconds_1024"),
    ("str", "note"),
)

# The cells of an XC7A200T (AMD DS180; lookup tables as Vivado reports them). Table 2's percentages
# are shares of them; it has no block RAMs of 36 kbit.
_DEVICE = {"lookup_tables": 133_800, "flip_flops": 269_200, "dsp_blocks": 740, "block_rams": 365}

RING = {"Falcon-512": 512, "Falcon-1024": 1024}
"""Ring degrees by algorithm."""

_FEW_PERCENT = 10.0
"""Our reading of "efficiently used" resources, a share of the FPGA."""

_SOFTWARE, _SPLIT = "cortex-m4", "cortex-m4+artix-7"

# Rows of the printed implementations.
_PRINTED = {_SOFTWARE: "printed: M4 SW", _SPLIT: "printed: SW+HW"}

_PRINTED_ENGINE, _OURS = "printed, with software", "RTL of ours"

# The standing of the cells of our engine.
_RTL = Standing("RTL of ours for one attempt, by yosys, not placed", (CODE,))


class FalconHls(Work):
    """Table 3 recomputed from operation counts, Table 2 with our RTL; nothing ran on an FPGA."""

    key = "falcon-hls"

    def compute(self, bench: Bench) -> Frames:
        """Return the frames `table3` and `engines`, which need no measurement."""
        return {"table3": table3(), "engines": engines()}

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts: times of Falcon-512, printed and modelled, and cycles of our RTL."""
        if "table3" not in frames:
            return {}
        table = frames["table3"].query("algorithm == 'Falcon-512'")
        rows = table.set_index("implementation")["ours"]
        schedules = [rows[model.split_row(engine)] for engine in model.SCHEDULES]
        ours = frames["engines"].query("device == 'xc7'").iloc[0]
        return {
            "software_seconds": rows[_PRINTED[_SOFTWARE]],
            "engine_seconds": rows[_PRINTED[_SPLIT]],
            "elsewhere_seconds": rows[model.ALONE],
            "quickest_seconds": min(schedules),
            "slowest_seconds": max(schedules),
            **{quantity: ours[quantity] for quantity in (*_DEVICE, "cycles_512")},
        }

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of parameters, our RTL, Cortex-M4 times from elsewhere, and the model."""
        parameters: dict[tuple[str, str], float] = {
            **{(name, "ring_degree"): degree for name, degree in RING.items()},
            **{(name, "modulus"): model.MODULUS for name in RING},
        }
        names = ("ring_degree", "modulus")
        yield from_values(Kind.REGISTRY, parameters, quantities=names, decides=True)
        yield from_values(Kind.TAKEN, {("model", "clock_megahertz"): model.CLOCK_HZ / 1e6})
        ours = {f"{name}_percent": share for name, share in _shares().items()} | _cells()
        cells = {("engine", quantity): value for quantity, value in ours.items()}
        yield from_values(Kind.SYNTHESISED, cells)
        if "table3" in frames:
            cited, modelled = _times(frames["table3"])
            yield from_values(Kind.CITED, cited)
            # The software alone was published by others; the model adds only the engine.
            times = cited | modelled
            yield from_values(Kind.MODELLED, times, quantities=("sign_seconds",), decides=True)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement by operation counts of our signer, which is bit-exact with liboqs."""
        if claim in (judged := _judged()):
            yield judged[claim]


def _times(table3: pd.DataFrame) -> tuple[dict[tuple[str, str], Number], ...]:
    """Return the times of signing with software alone, and those with the modelled engine.

    The second are ranges over the schedules, because the paper states none.
    """
    seconds = table3.set_index(["algorithm", "implementation"])["ours"]
    cited, modelled = {}, {}
    for name in RING:
        alone = Number(seconds[name, model.ALONE], unit="s", standing=Standing("pqm4's cycles"))
        cited[f"{name}/{_SOFTWARE}", "sign_seconds"] = alone
        times = [seconds[name, model.split_row(engine)] for engine in model.SCHEDULES]
        standing = Standing(f"a modelled engine with {len(times)} possible schedules")
        number = Number.one_of(min(times), max(times), "s", standing)
        modelled[f"{name}/{_SPLIT}", "sign_seconds"] = number
    return cited, modelled


def _judged() -> dict[str, Verdict]:
    operations, ntt = model.operations(512).sum(), model.NTT_INSTRUCTIONS[512]
    conversions = operations[["from_integer", "round", "truncate", "floor"]].sum()
    # A signature has 2 n samples.
    attempts = {n: count / (2 * n) for n, count in model.MEAN_ATTEMPTS.items()}
    listed = ", ".join(f"{mean:.2f} with Falcon-{n}" for n, mean in attempts.items())
    total = model.SIGN_INSTRUCTIONS[512]
    rest = sum(count[512] for count in model.PART_INSTRUCTIONS.values())
    # Our engine has one unit of each kind, as the paper's.
    shares, counts = _shares(), _cells()
    used = ", ".join(
        f"{figures.integer(counts[name].value)} {figures.humanize(name)} ({share})"
        for name, share in shares.items()
    )
    most = max(share.value for share in shares.values())
    bound = bound_text(_FEW_PERCENT, most, holds=most <= _FEW_PERCENT, unit="%")
    return {
        "integers-and-reals": Verdict(
            outcome(bool(operations["add"] > 0 and ntt > 0)),
            f"a signature of Falcon-512 has {operations['add']:.0f} additions and "
            f"{operations['multiply']:.0f} multiplications of real numbers, and {ntt} instructions "
            "of integers in the NTT",
            Kind.RUN,
        ),
        "conversions-needed": Verdict(
            outcome(bool(conversions)),
            f"a signature of Falcon-512 has {conversions:.0f} conversions",
            Kind.RUN,
        ),
        "sampler-repeats": Verdict(
            outcome(min(attempts.values()) > 1),
            f"attempts per sample, mean of thousands of signatures: {listed}",
            Kind.RUN,
        ),
        "floating-point-is-the-cause": Verdict(
            OPEN,
            f"of {total / 1e6:.1f} million instructions of portable C for Falcon-512, counted "
            f"under QEMU, {100 * rest / total:.1f} % are in parts without real numbers; the rest "
            "includes their emulation, but also random bits, and nothing was timed with a "
            "floating-point unit",
            Kind.ESTIMATED,
        ),
        "few-resources": Verdict(
            outcome(most <= _FEW_PERCENT, ours=True),
            f"{used} of an XC7A200T, for which the paper prints no block RAM; 'few' is read as at "
            f"most {_FEW_PERCENT:g} %, {bound}",
            Kind.SYNTHESISED,
            _RTL,
        ),
    }


def _cells() -> dict[str, Number]:
    """Return the numbers of FPGA cells of our engine by kind."""
    frame = rtl.cells().query("configuration == 'compact' and family == 'xc7'")
    design = frame[frame["module"] == "design_hierarchy"]
    columns = {
        "lookup_tables": ["lut", "lutram", "shift_register"],
        "flip_flops": ["flip_flop"],
        "dsp_blocks": ["dsp"],
        "block_rams": ["block_ram_36k"],
    }
    return {
        kind: Number(float(design[names].to_numpy().sum()), standing=_RTL)
        for kind, names in columns.items()
    }


def _shares() -> dict[str, Number]:
    """Return the shares of the FPGA's cells that our engine uses, in percent."""
    return {
        kind: Number(100 * cells.value / _DEVICE[kind], unit="%", standing=_RTL)
        for kind, cells in _cells().items()
    }


def table3() -> pd.DataFrame:
    """Return Table 3, as printed and as recomputed, in a frame of the contract PRINTED.

    Kinds are "published", "cited", "estimated" and "modelled"; implementation is the name of the
    row, ours its time in seconds, printed that of its counterpart, and note the assumptions.
    Nothing in it was measured on hardware.
    """
    published = papers.published(FalconHls.key)
    times = published[(published["quantity"] == "sign_seconds") & (published["algorithm"] != "")]
    printed = {(row["algorithm"], row["implementation"]): row for row in times.to_dict("records")}
    rows = []
    for algorithm, rebuilt in model.rebuild_table3().groupby("algorithm", sort=False):
        for implementation, label in _PRINTED.items():
            row = printed[algorithm, implementation]
            same = {"implementation": label, "note": "168 MHz, Artix-7"}
            rows.append(next_to(row, Kind.PUBLISHED, ours=row["value"], **same))
        for model_row in rebuilt.to_dict("records"):
            name, note = model_row["row"], model_row["assumptions"]
            # Each rebuilt row is compared with the printed row of the same hardware.
            software = name in (model.ALONE, model.ALONE_UNCALIBRATED)
            row = printed[algorithm, _SOFTWARE if software else _SPLIT]
            ours = {"ours": model_row["seconds"], "implementation": name, "note": note}
            rows.append(next_to(row, model_row["kind"], **ours))
    return PRINTED.frame(rows)


def engines() -> pd.DataFrame:
    """Return the hardware engines for signing: the paper's as printed, and our RTL.

    Columns: engine, kind ("published", "synthesised" or "routed"), device, lookup_tables (with
    those used as memory), flip_flops, dsp_blocks, block_rams (of 36 kbit), clock_megahertz (median
    of the placements), low_clock_megahertz and high_clock_megahertz (the slowest and the fastest
    placement), cycles_512, cycles_1024, seconds_512 and seconds_1024 (of a signature with software
    as printed; of one attempt with ours), note. Cells are in the row of xc7, for which ours were
    synthesised and not placed; clocks and times in the row of the proxy device for which ours were
    routed. Unknown values are NaN.
    """
    printed = papers.table(FalconHls.key, "table2").iloc[0]
    published = papers.published(FalconHls.key).query("implementation == @_SPLIT")
    seconds = published.query("quantity == 'sign_seconds'").set_index("algorithm")["value"]
    times = rtl.times().query("configuration == 'compact'").set_index("degree")
    routed = times.iloc[0]
    cycles = {f"cycles_{degree}": times["cycles"][degree] for degree in times.index}
    clocks = ("clock", "low_clock", "high_clock")
    paper: dict[str, Any] = {"engine": _PRINTED_ENGINE, "kind": Kind.PUBLISHED, "device": "Artix-7"}
    paper |= {kind: printed.get(kind, math.nan) for kind in (*_DEVICE, "clock_megahertz")}
    paper |= {f"seconds_{degree}": seconds[name] for name, degree in RING.items()}
    cells: dict[str, Any] = {kind: number.value for kind, number in _cells().items()}
    cells |= {"engine": _OURS, "kind": Kind.SYNTHESISED, "device": "xc7", "note": "not placed"}
    device, note = f"{routed['device']} (ECP5)", f"proxy device; {_placements(routed)}"
    board: dict[str, Any] = {"engine": _OURS, "kind": Kind.ROUTED, "device": device, "note": note}
    board |= {f"{name}_megahertz": routed[f"{name}_hertz"] / 1e6 for name in clocks}
    board |= {f"seconds_{degree}": times["seconds"][degree] for degree in times.index}
    empty = {name: "" if kind == "str" else math.nan for name, kind in ENGINES.columns.items()}
    return ENGINES.frame([empty | row for row in (paper, cells | cycles, board | cycles)])


def _placements(routed: pd.Series[Any]) -> str:
    if routed["placements"] == 1:
        return "one placement"
    low, high = (routed[f"{end}_clock_hertz"] / 1e6 for end in ("low", "high"))
    return f"median of {routed['placements']} placements, {low:.1f} to {high:.1f} MHz"
