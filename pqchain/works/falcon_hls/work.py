"""Falcon signing accelerator: Tables 2 and 3 of the paper compared with a model and our RTL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.falcon import model, rtl
from pqchain.figures import SECONDS, Kind
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.comparisons import ABOUT
from pqchain.works.printed import PRINTED, next_to
from pqchain.works.readers import Number, NumberReader, Undecided, from_values
from pqchain.works.verdicts import CODE, FAILS, HOLDS, OPEN, Standing, Verdict
from pqchain.works.work import Frames, Work

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

# Rows of the printed implementations.
_PRINTED = {"cortex-m4": "printed: M4 SW", "cortex-m4+artix-7": "printed: SW+HW"}

RING = {"Falcon-512": 512, "Falcon-1024": 1024}
"""Ring degrees by algorithm."""

_SOFTWARE = "cortex-m4"

_PRINTED_ENGINE, _OURS = "printed, with software", "RTL of ours"

# The standing of the cells of our engine.
_RTL = Standing("RTL of ours for one attempt, by yosys, not placed", (CODE,))


class FalconHls(Work):
    """Table 3 recomputed from operation counts, Table 2 with our RTL; nothing ran on an FPGA."""

    key = "falcon-hls"

    def models(self) -> Mapping[str, Callable[[], pd.DataFrame]]:
        """Return the functions `table3` and `engines` by frame name."""
        return {"table3": table3, "engines": engines}

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts: times of Falcon-512, printed and modelled, and cycles of our RTL."""
        if "table3" not in frames:
            return {}
        table = frames["table3"].query("algorithm == 'Falcon-512'")
        rows = table.set_index("implementation")["ours"]
        schedules = [rows[model.split_row(engine)] for engine in model.SCHEDULES]
        ours = frames["engines"].query("device == 'xc7'").iloc[0]
        return {
            "software_seconds": rows[_PRINTED["cortex-m4"]],
            "engine_seconds": rows[_PRINTED["cortex-m4+artix-7"]],
            "elsewhere_seconds": rows[model.ALONE],
            "quickest_seconds": min(schedules),
            "slowest_seconds": max(schedules),
            **{quantity: ours[quantity] for quantity in (*_DEVICE, "cycles_512")},
        }

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of parameters, our RTL, Cortex-M4 times from elsewhere, and the model."""
        yield NumberReader(Kind.REGISTRY, _parameter, ("ring_degree", "modulus"))
        yield from_values(Kind.TAKEN, {("model", "clock_megahertz"): model.CLOCK_HZ / 1e6})
        shares = [f"{quantity}_percent" for quantity in _DEVICE]
        yield NumberReader(Kind.SYNTHESISED, _synthesised, (*_DEVICE, *shares), decides=False)
        if "table3" in frames:
            seconds = _seconds(frames)
            cited = partial(_cited, seconds)
            yield NumberReader(Kind.CITED, cited, ("sign_seconds",), decides=False)
            yield NumberReader(Kind.MODELLED, partial(_modelled, seconds), ("sign_seconds",))

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement by operation counts of our signer, which is bit-exact with liboqs."""
        if claim == "about-ten-times-faster" and "table3" in frames:
            yield _ten_times(_seconds(frames))
        if claim in _JUDGED:
            yield _JUDGED[claim]()


def _seconds(frames: Frames) -> dict[Any, float]:
    seconds: dict[Any, float]
    seconds = frames["table3"].set_index(["algorithm", "implementation"])["ours"].to_dict()
    return seconds


def _ten_times(seconds: Mapping[Any, float]) -> Verdict:
    ratios = {
        name: [
            seconds[name, model.ALONE] / seconds[name, model.split_row(engine)]
            for engine in model.SCHEDULES
        ]
        for name in RING
    }
    # The paper states no latency and no overlap, so no single schedule can decide.
    inside = [10 / ABOUT <= ratio <= 10 * ABOUT for row in ratios.values() for ratio in row]
    outcome = HOLDS if all(inside) else OPEN if any(inside) else FAILS
    listed = [
        f"{engine.name}: {ratios['Falcon-512'][index]:.1f} for Falcon-512, "
        f"{ratios['Falcon-1024'][index]:.1f} for Falcon-1024"
        for index, engine in enumerate(model.SCHEDULES)
    ]
    evidence = "; ".join(
        [*listed, f"'about 10' is read as within a factor of {ABOUT:g}, our choice"]
    )
    return Verdict(
        outcome, evidence, Kind.MODELLED, Standing("pqm4's cycles and a modelled engine")
    )


def _integers_and_reals() -> Verdict:
    operations, ntt = model.operations(512).sum(), model.NTT_INSTRUCTIONS[512]
    evidence = (
        f"a signature of Falcon-512 has {operations['add']:.0f} additions and "
        f"{operations['multiply']:.0f} multiplications of real numbers, and {ntt} instructions of "
        "integers in the NTT"
    )
    return Verdict(HOLDS if operations["add"] > 0 and ntt > 0 else FAILS, evidence, Kind.RUN)


def _conversions() -> Verdict:
    operations = model.operations(512).sum()
    count = operations[["from_integer", "round", "truncate", "floor"]].sum()
    evidence = f"a signature of Falcon-512 has {count:.0f} conversions"
    return Verdict(HOLDS if count else FAILS, evidence, Kind.RUN)


def _repeats() -> Verdict:
    # A signature has 2 n samples.
    means = {n: attempts / (2 * n) for n, attempts in model.MEAN_ATTEMPTS.items()}
    listed = ", ".join(f"{mean:.2f} with Falcon-{n}" for n, mean in means.items())
    evidence = f"attempts per sample, mean of thousands of signatures: {listed}"
    return Verdict(HOLDS if min(means.values()) > 1 else FAILS, evidence, Kind.RUN)


def _cause() -> Verdict:
    total = model.SIGN_INSTRUCTIONS[512]
    rest = sum(count[512] for count in model.PART_INSTRUCTIONS.values())
    evidence = (
        f"of {total / 1e6:.1f} million instructions of portable C for Falcon-512, counted under "
        f"QEMU, {100 * rest / total:.1f} % are in parts without real numbers; the rest includes "
        "their emulation, but also random bits, and nothing was timed with a floating-point unit"
    )
    return Verdict(OPEN, evidence, Kind.ESTIMATED)


def _few_resources() -> Verdict:
    """Judge the use of FPGA cells by our engine, which has one unit of each kind as the paper's."""
    shares = {quantity: _synthesised("", f"{quantity}_percent", "") for quantity in _DEVICE}
    listed = ", ".join(
        f"{figures.integer(_cells(quantity))} {figures.humanize(quantity)} ({share})"
        for quantity, share in shares.items()
    )
    evidence = (
        f"{listed} of an XC7A200T, for which the paper prints no block RAM; 'few' is read as at "
        "most 10 %, our choice"
    )
    is_few = all(share.value <= 10 for share in shares.values())
    return Verdict(HOLDS if is_few else FAILS, evidence, Kind.SYNTHESISED, _RTL)


_JUDGED: dict[str, Callable[[], Verdict]] = {
    "integers-and-reals": _integers_and_reals,
    "conversions-needed": _conversions,
    "sampler-repeats": _repeats,
    "floating-point-is-the-cause": _cause,
    "few-resources": _few_resources,
}


def _parameter(name: str, quantity: str, implementation: str) -> Number:
    return Number(model.MODULUS if quantity == "modulus" else RING[algorithms.get(name).name])


def _cells(quantity: str) -> float:
    frame = rtl.cells().query("configuration == 'compact' and family == 'xc7'")
    design = frame[frame["module"] == "design_hierarchy"]
    columns = {
        "lookup_tables": ["lut", "lutram", "shift_register"],
        "flip_flops": ["flip_flop"],
        "dsp_blocks": ["dsp"],
        "block_rams": ["block_ram_36k"],
    }
    return float(design[columns[quantity]].to_numpy().sum())


def _synthesised(name: str, quantity: str, implementation: str) -> Number:
    base = quantity.removesuffix("_percent")
    if base == quantity:
        return Number(_cells(base), standing=_RTL)
    return Number(100 * _cells(base) / _DEVICE[base], unit="%", standing=_RTL)


def _cited(seconds: Mapping[Any, float], name: str, quantity: str, implementation: str) -> Number:
    base, _, side = name.rpartition("/")
    if (side if base else implementation) != _SOFTWARE:
        raise Undecided(f"no time of {name} on {side or implementation} was published elsewhere")
    value = seconds[algorithms.get(base or name).name, model.ALONE]
    return Number(value, unit="s", standing=Standing("pqm4's cycles at 168 MHz"))


def _modelled(
    seconds: Mapping[Any, float], name: str, quantity: str, implementation: str
) -> Number:
    base, _, side = name.rpartition("/")
    side = side if base else implementation
    # The software alone was published by others; the model adds only the engine.
    if side == _SOFTWARE:
        return _cited(seconds, name, quantity, implementation)
    algorithm = algorithms.get(base or name).name
    times = [seconds[algorithm, model.split_row(engine)] for engine in model.SCHEDULES]
    spread = max(times) - min(times)
    least, most = SECONDS.text(min(times)), SECONDS.text(max(times))
    schedules = f"schedules from {least} to {most} are possible"
    return Number(times[0], spread, spread, "s", Standing(schedules))


def table3(engine: model.SigningEngine = model.PIPELINED) -> pd.DataFrame:
    """Return Table 3, as printed and as recomputed, in a frame of the contract PRINTED.

    Kinds are "published", "cited", "estimated" and "modelled"; implementation is the name of the
    row, ours its time in seconds, printed that of its counterpart, and note the assumptions.
    Nothing in it was measured on hardware.
    """
    published = papers.published(FalconHls.key)
    times = published[(published["quantity"] == "sign_seconds") & (published["algorithm"] != "")]
    printed = {(row["algorithm"], row["implementation"]): row for row in times.to_dict("records")}
    rows = []
    for algorithm, rebuilt in model.rebuild_table3(engine).groupby("algorithm", sort=False):
        for implementation, label in _PRINTED.items():
            row = printed[algorithm, implementation]
            same = {"implementation": label, "note": "168 MHz, Artix-7"}
            rows.append(next_to(row, Kind.PUBLISHED, ours=row["value"], **same))
        for model_row in rebuilt.to_dict("records"):
            name, note = model_row["row"], model_row["assumptions"]
            # Each rebuilt row is compared with the printed row of the same hardware.
            software = name in (model.ALONE, model.ALONE_UNCALIBRATED)
            row = printed[algorithm, _SOFTWARE if software else f"{_SOFTWARE}+artix-7"]
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
    published = papers.published(FalconHls.key).query("implementation == 'cortex-m4+artix-7'")
    seconds = published.query("quantity == 'sign_seconds'").set_index("algorithm")["value"]
    times = rtl.times().query("configuration == 'compact'").set_index("degree")
    routed = times.iloc[0]
    cycles = {f"cycles_{degree}": times["cycles"][degree] for degree in times.index}
    rows = [
        {
            "engine": _PRINTED_ENGINE, "kind": Kind.PUBLISHED, "device": "Artix-7",
            **{quantity: printed.get(quantity, math.nan) for quantity in _DEVICE},
            "clock_megahertz": printed["clock_megahertz"],
            **{f"seconds_{degree}": seconds[name] for name, degree in RING.items()},
        },
        {
            "engine": _OURS, "kind": Kind.SYNTHESISED, "device": "xc7", "note": "not placed",
            **{quantity: _cells(quantity) for quantity in _DEVICE}, **cycles,
        },
        {
            "engine": _OURS, "kind": Kind.ROUTED, "device": f"{routed['device']} (ECP5)",
            "note": f"proxy device; {_placements(routed)}",
            **{
                f"{name}_megahertz": routed[f"{name}_hertz"] / 1e6
                for name in ("clock", "low_clock", "high_clock")
            },
            **cycles,
            **{f"seconds_{degree}": times["seconds"][degree] for degree in times.index},
        },
    ]  # fmt: skip
    empty = {name: "" if kind == "str" else math.nan for name, kind in ENGINES.columns.items()}
    return ENGINES.frame([empty | row for row in rows])


def _placements(routed: pd.Series[Any]) -> str:
    if routed["placements"] == 1:
        return "one placement"
    low, high = (routed[f"{end}_clock_hertz"] / 1e6 for end in ("low", "high"))
    return f"median of {routed['placements']} placements, {low:.1f} to {high:.1f} MHz"
