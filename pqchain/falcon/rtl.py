"""Recorded results of the engine in RTL: netlist cycles, synthesized cells, clock on an ECP5.

The figures are in data/falcon/rtl.json, which `make -C hls_kernels figures` regenerates. They come
from neither a board nor Vivado, and there is no placement for xc7.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from pqchain import installation
from pqchain.errors import DataError
from pqchain.figures import Kind

COMPACT, FAST = "compact", "fast"
"""Configurations: the one that `make rtl` builds, which expands the key for every signature, and
one with memory that keeps the expanded key."""

STANDARD = "standard"
"""The engine before both, which decided every verdict by a polynomial and transformed the basis
twice; its figures are recorded to compare."""

NEW_KEY = "fast, new key"
"""Label of attempts of the fast configuration that expand a key; later ones use it."""

CELL_COLUMNS = [
    "configuration", "family", "module", "lut", "lutram", "shift_register", "lut_total",
    "flip_flop", "dsp", "block_ram_36k", "block_ram_18k",
]  # fmt: skip
"""Columns of the frame of cells; `lut_total` is the sum of the LUTs used as logic, as RAM and as
shift registers, which is the number that Vivado reports as slice LUTs."""


def figures() -> dict[str, Any]:
    """Return the recorded figures: cycles, cells, clock, tools. Raises DataError if unreadable."""
    path = installation.data("falcon") / "rtl.json"
    try:
        recorded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error
    return recorded


def cycles() -> pd.DataFrame:
    """Return the netlist's cycles of a signing attempt by configuration and phase.

    Those of `FAST` are with a kept key, those of `NEW_KEY` expand it. Columns: configuration,
    degree, phase ("total" for all), mean, least, greatest (cycles), attempts, known_answers (number
    of digests equal to liboqs's). Raises DataError.
    """
    return pd.DataFrame(figures()["cycles"])


def cells() -> pd.DataFrame:
    """Return the number of cells after synthesis, by kind; empty if none are recorded.

    Columns: `CELL_COLUMNS`; configuration, family (xc7, ecp5, gowin), module ("design_hierarchy"
    for the whole design), and counts, missing if not counted. Raises DataError.
    """
    frame = pd.DataFrame(figures()["cells"], columns=CELL_COLUMNS)
    total = frame[["lut", "lutram", "shift_register"]].sum(axis=1)
    return frame.assign(lut_total=total.astype(int))


def times() -> pd.DataFrame:
    """Return the duration of a signing attempt at the clock of the design routed on an ECP5.

    Columns: configuration, degree, cycles (mean), device, placements (their number; each has
    another seed), clock_hertz (median of the placements), low_clock_hertz and high_clock_hertz (of
    the slowest and the fastest), seconds (at the median). Without a recorded place and route device
    is "", placements 0, and the others are missing. Raises DataError.
    """
    recorded = cycles()
    frame = recorded.loc[recorded["phase"] == "total", ["configuration", "degree", "mean"]]
    frame = frame.rename(columns={"mean": "cycles"}).reset_index(drop=True)
    clock = _clocks(figures()["clock"], ["configuration"], "device")
    design = frame["configuration"].replace(NEW_KEY, FAST).rename("design")
    frame = frame.join(design).join(clock, on="design").drop(columns="design")
    frame["device"] = frame["device"].fillna("")
    frame["placements"] = frame["placements"].fillna(0).astype(int)
    return frame.assign(seconds=frame["cycles"] / frame["clock_hertz"].astype(float))


def _clocks(rows: Any, keys: list[str], *facts: str) -> pd.DataFrame:
    """Return the routed clocks by keys, after the facts of the first placement."""
    frame = pd.DataFrame(rows, columns=[*keys, *facts, "mhz"])
    frame = frame.assign(hertz=frame["mhz"] * 1e6)
    # One placement is a draw from a wide distribution, so its clock alone says little.
    return frame.groupby(keys).agg(
        **{fact: (fact, "first") for fact in facts},
        placements=("hertz", "count"),
        clock_hertz=("hertz", "median"),
        low_clock_hertz=("hertz", "min"),
        high_clock_hertz=("hertz", "max"),
    )


CORE_COLUMNS = [
    "core", "degree", "platform", "lut", "flip_flop", "dsp", "block_ram_36k", "block_ram_18k",
    "seconds", "kind", "contains", "source",
]  # fmt: skip

_CONTAINS = "one attempt: no hash, no products modulo q, no encoding"


def cores() -> pd.DataFrame:
    """Return area and time of the engine and of published cores, the quickest first.

    Columns: `CORE_COLUMNS`; lut includes LUTs used as memory. Cells and clock of a row are of one
    device. Products of area and time are not compared, because the cells of the devices differ.
    `kind` is "published", "derived" (from printed ratios) or "routed" for the engine on an ECP5.
    Raises DataError.
    """
    path = installation.data("falcon") / "cores.csv"
    try:
        published = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error
    published = published.assign(seconds=published["milliseconds"] / 1e3)
    engines = cells().query("family == 'ecp5' and module == 'design_hierarchy'")
    engines = engines.assign(lut=engines["lut_total"])
    engine = times().dropna(subset=["seconds"]).merge(engines, on="configuration")
    engine = engine.assign(
        core="pqchain, " + engine["configuration"], kind=Kind.ROUTED, contains=_CONTAINS,
        platform=engine["device"] + " (ECP5)", source="`make figures`",
    )  # fmt: skip
    frame = pd.concat([engine, published], ignore_index=True)
    return frame.sort_values(["degree", "seconds"], ignore_index=True)[CORE_COLUMNS]
