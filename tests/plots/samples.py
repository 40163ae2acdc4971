"""A small frame for every kind of plot."""

from functools import cache
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pqchain import plots
from pqchain.bench import compare_runs
from pqchain.consensus import landscape
from pqchain.works import papers
from pqchain.works.falcon_hls.work import table3
from pqchain.works.pqdpol import rebuilt
from tests import frames
from tests.works import studies

PAPER = papers.costs("pqdpol")

LONG = "SPHINCS+-SHA2-128f-simple"
SCHEMES = ["Falcon-512", "ML-DSA-44", LONG, "Dilithium2"]


def grid(**axes: Any) -> pd.DataFrame:
    """Return all combinations of values, with a column for each name."""
    return pd.MultiIndex.from_product(axes.values(), names=list(axes)).to_frame(index=False)


def number(column: pd.Series) -> pd.Series:
    """Return the place of each value among the different ones."""
    return pd.Series(pd.factorize(column)[0], column.index)


def operation() -> pd.DataFrame:
    rows = grid(algorithm=SCHEMES, variant=["ref", "avx2"])
    times = {"quantity": "sign_seconds", "printed": 1e-3, "ours": 9e-4, "verdict": "ok"}
    note = rows["algorithm"].eq(SCHEMES[0]).map({True: "other code", False: ""})
    return rows.assign(**times, note=note)


cells = cache(rebuilt.tables)
"""Both tables with the paper's costs."""


@cache
def runs() -> pd.DataFrame:
    """Return synthetic runs of both tables and of fewer processors."""
    return studies.runs(PAPER)["run"]


@cache
def networks() -> pd.DataFrame:
    """Return every kind of network, up to 256 nodes."""
    return landscape.laws(PAPER, exponents=(2, 4, 8), all_vote_exponent=4, seeds=(0, 1, 2))


@cache
def winners() -> pd.DataFrame:
    """Return the winners of a small contest."""
    settings = {"exponents": (2, 4), "rates": (1e6, 1e9, 1e10), "loads": (300,)}
    schemes = ["Falcon-512", "Dilithium2"]
    frame = landscape.contest(PAPER, algorithms=schemes, capacities=(50_000,), **settings)
    return landscape.winners(frame)


def machines() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    return compare_runs({"laptop": frame, "server": frame, "board": frame})


def history() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    dates = [f"2026-11-{day}T10:00:00+00:00" for day in (20, 21, 22)]
    return pd.concat([frame.assign(run=date) for date in dates], ignore_index=True)


def capacity() -> pd.DataFrame:
    values = {"value": [50.0, 20, 9, 8], "low": [45.0, 18, 8, 7], "high": [60.0, 22, 10, 9]}
    return pd.DataFrame({"algorithm": SCHEMES, **values})


def load() -> pd.DataFrame:
    rows = grid(algorithm=SCHEMES, step=range(4))
    latency = 7.0 * 2 ** rows["step"] + number(rows["algorithm"])
    return rows.assign(arrivals_per_second=10.0 ** rows["step"], latency_seconds=latency, load=0.5)


def tornado() -> pd.DataFrame:
    inputs = ["verify_seconds", "block_bytes", "rate_bits_per_second", "verification_threads"]
    size = pd.Series(range(1, 5))
    frame = pd.DataFrame({"input": inputs, "input_value": 2.0 * size})
    fixed = {"algorithm": LONG, "output": "capacity_per_second", "unit": "1/s", "base": 1000.0}
    return frame.assign(**fixed, low=1000 - 100 * size, high=1000 + 200 * size)


def costs() -> pd.DataFrame:
    rows = grid(title=["Ethereum until Glamsterdam", "Bitcoin", "TRON"], algorithm=SCHEMES)
    lost = (number(rows["title"]) + number(rows["algorithm"])) / 5
    ends = {"lost_low": lost / 2, "lost_high": (1 + lost) / 2}
    test = rows["title"].map({"Bitcoin": "near", "TRON": "far"}).fillna("none")
    return rows.assign(lost_share=lost, test=test, **ends)


def certificates() -> pd.DataFrame:
    rows = [
        (name, form, nodes, size * nodes, 1e-5 * nodes, "modelled", "prices of simplex")
        for name, form, size in (("ML-DSA-44", "list", 2420), ("BLS12-381", "aggregate", 1))
        for nodes in (4, 64, 1024)
    ]
    rows.append(("leanXMSS", "proof", 24, 2e5, 0.015, "measured", "py-lean-pq"))
    rows.append(("leanXMSS", "proof", 1499, 2e5, float("nan"), "cited", "leanvm-b"))
    names = "algorithm form nodes certificate_bytes verify_seconds kind source"
    return pd.DataFrame(rows, columns=names.split())


SAMPLES: dict[str, tuple[Any, ...]] = {
    "accelerator": (table3,),
    "blocks": (frames.blocks, "rate"),
    "capacity": (capacity, dict.fromkeys(SCHEMES, "bandwidth of a node")),
    "cells": (cells, "latency"),
    "certificates": (certificates,),
    "compared": (machines,),
    "computers": (runs,),
    "cost_on_chains": (costs,),
    "history": (history,),
    "load": (load,),
    "networks": (networks,),
    "operation": (operation, "sign"),
    "phases": (lambda: frames.replays()["table1"],),
    "ratio": (lambda: frames.times().head(9),),
    "sizes": (lambda: SCHEMES,),
    "speed": (lambda: frames.measurements([*SCHEMES[:3], "Kyber512"]),),
    "speedup": (lambda: frames.measurements(SCHEMES[:3]),),
    "streams": (lambda: frames.replays()["figure1"],),
    "tornado": (tornado,),
    "tradeoff": (frames.measurements,),
    "transports": (lambda: frames.replays()["transports"],),
    "values": (lambda: frames.measurements(SCHEMES)[1::3], "median_seconds"),
    "winners": (winners,),
}
"""The frame of each kind of plot, and further arguments."""


def draw(kind: str, frame: Any = None) -> Axes | Figure:
    """Draw the sample of a kind of plot, or another frame in its place."""
    build, *others = SAMPLES[kind]
    drawn: Axes | Figure = plots.find(kind)(build() if frame is None else frame, *others)
    return drawn
