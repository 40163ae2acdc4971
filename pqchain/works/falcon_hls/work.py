"""The signing accelerator: the paper's Table 3 beside what our model gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.falcon import model, rtl
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.comparisons import ABOUT
from pqchain.works.readers import Number, Reader, Undecided
from pqchain.works.verdicts import CODE, FAILS, HOLDS, OPEN, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work

TABLE3 = Contract.of(
    "accelerator",
    ("str", "algorithm row kind"),
    ("float64", "seconds published_seconds ratio"),
    ("str", "assumptions"),
)

ENGINES = Contract.of(
    "engines",
    ("str", "engine kind device"),
    ("float64", "lookup_tables flip_flops dsp_blocks clock_megahertz"),
    ("float64", "cycles_512 cycles_1024 seconds_512 seconds_1024"),
)

_DEVICE = {"lookup_tables": 133_800, "flip_flops": 269_200, "dsp_blocks": 740}
"""What an XC7A200T has; Table 2's percentages are shares of it."""

_PRINTED = {"cortex-m4": "printed: M4 SW", "cortex-m4+artix-7": "printed: SW+HW"}
"""The printed implementations as rows."""

RING = {"Falcon-512": 512, "Falcon-1024": 1024}
MODULUS = 12289
"""Parameters of our signer."""

_SOFTWARE = "cortex-m4"

_OURS = "RTL of ours"

_RTL = Standing("RTL of ours for one attempt, by yosys, not placed", (CODE,))
"""What cells of our engine are worth against a statement of the paper's."""


class FalconHls(Work):
    """Table 3 rebuilt from a census of operations, Table 2 beside RTL of ours; none on hardware."""

    key = "falcon-hls"

    def compute(self, bench: Bench) -> Frames:
        """Return `table3` and `engines`."""
        return {"table3": table3(), "engines": engines()}

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return milliseconds of Falcon-512: of software, of possible schedules, of our RTL."""
        if "table3" not in frames:
            return {}
        rows = frames["table3"].query("algorithm == 'Falcon-512'").set_index("row")["seconds"]
        schedules = [rows[model.split_row(engine)] for engine in model.SCHEDULES]
        texts = {
            "printed_software": rows[_PRINTED["cortex-m4"]],
            "printed_engine": rows[_PRINTED["cortex-m4+artix-7"]],
            "elsewhere": rows[model.ALONE],
            "quickest": min(schedules),
            "slowest": max(schedules),
        }
        cells = {quantity: f"{_cells(quantity):,.0f}" for quantity in _DEVICE}
        engine = frames["engines"]
        cycles = engine.loc[engine["device"] == "xc7", "cycles_512"].iloc[0]
        times = {name: f"{1e3 * seconds:.1f}" for name, seconds in texts.items()}
        return {**times, **cells, "cycles": f"{cycles:,.0f}"}

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Read our parameters, our RTL, what was published of an M4, and the modelled engine."""
        yield Reader("registry", _parameter, ("ring_degree", "modulus"))
        shares = [f"{quantity}_percent" for quantity in _DEVICE]
        yield Reader("synthesised", _synthesised, (*_DEVICE, *shares), decides=False)
        if "table3" in frames:
            seconds = _seconds(frames)
            yield Reader("cited", partial(_elsewhere, seconds), ("sign_seconds",), decides=False)
            yield Reader("modelled", partial(_modelled, seconds), ("sign_seconds",))

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge by the census of our signer, which is bit for bit that of liboqs."""
        if claim == "about-ten-times-faster" and "table3" in frames:
            yield _ten_times(_seconds(frames))
        if claim in _JUDGED:
            yield _JUDGED[claim]()


def _seconds(frames: Frames) -> dict[Any, float]:
    """Return the times of Table 3 by algorithm and row."""
    seconds: dict[Any, float]
    seconds = frames["table3"].set_index(["algorithm", "row"])["seconds"].to_dict()
    return seconds


def _ten_times(seconds: Mapping[Any, float]) -> Verdict:
    """Judge the speed-up on every schedule that may be the paper's, against pqm4's cycles."""
    ratios = {
        name: [
            seconds[name, model.ALONE] / seconds[name, model.split_row(engine)]
            for engine in model.SCHEDULES
        ]
        for name in RING
    }
    inside = [10 / ABOUT <= ratio <= 10 * ABOUT for each in ratios.values() for ratio in each]
    outcome = HOLDS if all(inside) else OPEN if any(inside) else FAILS
    listed = [
        f"{engine.name}: {ratios['Falcon-512'][index]:.1f} for Falcon-512, "
        f"{ratios['Falcon-1024'][index]:.1f} for Falcon-1024"
        for index, engine in enumerate(model.SCHEDULES)
    ]
    evidence = "; ".join(
        [*listed, f"'about 10' is read as within a factor of {ABOUT:g}, our choice"]
    )
    return Verdict(outcome, evidence, "modelled", Standing("pqm4's cycles and a modelled engine"))


def _census() -> tuple[pd.Series[float], float, float]:
    """Return operations, NTT instructions and all instructions of a signature of Falcon-512."""
    operations = model.operations(512).sum()
    return operations, model.NTT_INSTRUCTIONS[512], model.SIGN_INSTRUCTIONS[512]


def _both_kinds() -> Verdict:
    operations, ntt, _ = _census()
    evidence = (
        f"a signature of Falcon-512 has {operations['add']:.0f} additions and "
        f"{operations['multiply']:.0f} multiplications of real numbers, and {ntt} instructions of "
        "integers in the NTT"
    )
    return Verdict(HOLDS if operations["add"] > 0 and ntt > 0 else FAILS, evidence, "run")


def _conversions() -> Verdict:
    operations, _, _ = _census()
    count = operations[["from_integer", "round", "truncate", "floor"]].sum()
    evidence = f"a signature of Falcon-512 has {count:.0f} conversions"
    return Verdict(HOLDS if count else FAILS, evidence, "run")


def _repeats() -> Verdict:
    means = {n: attempts / (2 * n) for n, attempts in model.MEAN_ATTEMPTS.items()}
    listed = ", ".join(f"{mean:.2f} with Falcon-{n}" for n, mean in means.items())
    evidence = f"attempts for each draw, mean of thousands of signatures: {listed}"
    return Verdict(HOLDS if min(means.values()) > 1 else FAILS, evidence, "run")


def _cause() -> Verdict:
    """Say how much works on integers; the rest holds random bits, so it decides no cause."""
    _, _, whole = _census()
    rest = sum(count[512] for count in model.PART_INSTRUCTIONS.values())
    evidence = (
        f"of {whole / 1e6:.1f} million instructions of portable C for Falcon-512, counted under "
        f"QEMU, {100 * rest / whole:.1f} % are in parts without real numbers; the rest holds their "
        "emulation, but random bits, too, and nothing was timed with a unit for them"
    )
    return Verdict(OPEN, evidence, "estimated")


def _few_resources() -> Verdict:
    """Judge our own engine, which has one unit of each kind, too."""
    shares = {quantity: _synthesised("", f"{quantity}_percent", "") for quantity in _DEVICE}
    listed = ", ".join(
        f"{_cells(quantity):,.0f} {quantity.replace('_', ' ')} ({share.value:.1f} %)"
        for quantity, share in shares.items()
    )
    evidence = f"{listed} of an XC7A200T; 'few' is read as at most 10 %, our choice"
    few = all(share.value <= 10 for share in shares.values())
    return Verdict(HOLDS if few else FAILS, evidence, "synthesised", _RTL)


_JUDGED: dict[str, Callable[[], Verdict]] = {
    "integers-and-reals": _both_kinds,
    "conversions-needed": _conversions,
    "sampler-repeats": _repeats,
    "floating-point-is-the-cause": _cause,
    "few-resources": _few_resources,
}


def _parameter(name: str, quantity: str, implementation: str) -> Number:
    return Number(MODULUS if quantity == "modulus" else RING[algorithms.get(name).name])


def _cells(quantity: str) -> float:
    """Return the cells of our engine for xc7; lookup tables with those that are memory."""
    frame = rtl.cells().query("configuration == 'standard' and family == 'xc7'")
    whole = frame[frame["module"] == "design_hierarchy"]
    columns = {
        "lookup_tables": ["lut", "lutram", "shift_register"],
        "flip_flops": ["flip_flop"],
        "dsp_blocks": ["dsp"],
    }
    return float(whole[columns[quantity]].to_numpy().sum())


def _synthesised(name: str, quantity: str, implementation: str) -> Number:
    """Return cells of our engine, or their share of the paper's device."""
    base = quantity.removesuffix("_percent")
    if base == quantity:
        return Number(_cells(base), standing=_RTL)
    return Number(100 * _cells(base) / _DEVICE[base], unit="%", standing=_RTL)


def _elsewhere(
    seconds: Mapping[Any, float], name: str, quantity: str, implementation: str
) -> Number:
    base, _, side = name.rpartition("/")
    if (side if base else implementation) != _SOFTWARE:
        raise Undecided(f"nothing was published elsewhere of {name} on {side or implementation}")
    value = seconds[algorithms.get(base or name).name, model.ALONE]
    return Number(value, unit="s", standing=Standing("pqm4's cycles at 168 MHz"))


def _modelled(
    seconds: Mapping[Any, float], name: str, quantity: str, implementation: str
) -> Number:
    """Return the time of a schedule, which is off by as much as the schedules differ."""
    base, _, side = name.rpartition("/")
    side = side if base else implementation
    if side == _SOFTWARE:
        return _elsewhere(seconds, name, quantity, implementation)
    algorithm = algorithms.get(base or name).name
    times = [seconds[algorithm, model.split_row(engine)] for engine in model.SCHEDULES]
    spread = max(times) - min(times)
    schedules = f"schedules from {1e3 * min(times):.1f} to {1e3 * max(times):.1f} ms are possible"
    return Number(times[0], spread, spread, "s", Standing(schedules))


def table3(engine: model.Engine = model.PIPELINED) -> pd.DataFrame:
    """Return the paper's Table 3, printed and rebuilt.

    Columns: algorithm, row, kind ("published", "cited", "estimated" or "modelled", one in a row),
    seconds, published_seconds (of the row's counterpart), ratio (seconds over published_seconds)
    and assumptions. Nothing in it was measured on hardware.
    """
    printed = papers.published(FalconHls.key).query("quantity == 'sign_seconds'")
    seconds = printed.set_index(["algorithm", "implementation"])["value"]
    rows = []
    for algorithm, rebuilt in model.rebuild_table3(engine).groupby("algorithm", sort=False):
        for implementation, label in _PRINTED.items():
            value = seconds[algorithm, implementation]
            rows.append([algorithm, label, "published", value, value, 1.0, "168 MHz, Artix-7"])
        for row in rebuilt.to_dict("records"):
            software = row["row"] in (model.ALONE, model.ALONE_UNCALIBRATED)
            value = seconds[algorithm, "cortex-m4" if software else "cortex-m4+artix-7"]
            ratio = row["seconds"] / value
            about = [algorithm, row["row"], row["kind"]]
            rows.append([*about, row["seconds"], value, ratio, row["assumptions"]])
    return TABLE3.frame(rows)


def engines() -> pd.DataFrame:
    """Return engines in hardware: as printed, and ours in RTL.

    Columns: engine, kind ("published" or "synthesised"), device, lookup_tables (those that are
    memory included), flip_flops, dsp_blocks, clock_megahertz, cycles_512, cycles_1024, seconds_512
    and seconds_1024 (of a signature as printed, software included; of one attempt with ours).
    Cells stand with xc7, which ours were synthesised for and not placed; clocks and times with the
    ECP5 that ours were routed for. What is not known is NaN.
    """
    nothing = float("nan")
    printed = papers.table(FalconHls.key, "table2").iloc[0]
    published = papers.published(FalconHls.key).query("implementation == 'cortex-m4+artix-7'")
    seconds = published.query("quantity == 'sign_seconds'").set_index("algorithm")["value"]
    cells = [float(printed[quantity]) for quantity in _DEVICE]
    clock = float(printed["clock_megahertz"])
    times = [float(seconds[name]) for name in RING]
    rows = [
        ["printed, with software", "published", "Artix-7", *cells, clock, nothing, nothing, *times]
    ]
    routed = rtl.times().query("configuration == 'standard'").sort_values("degree")
    cycles = routed["cycles"].tolist()
    own = [_cells(quantity) for quantity in _DEVICE]
    rows.append([_OURS, "synthesised", "xc7", *own, nothing, *cycles, nothing, nothing])
    megahertz = routed["clock_hertz"].iloc[0] / 1e6
    times = routed["seconds"].tolist()
    proxy = "ECP5, for the clock alone"
    rows.append(
        [_OURS, "synthesised", proxy, nothing, nothing, nothing, megahertz, *cycles, *times]
    )
    return ENGINES.frame(rows)
