"""The rebuilt Tables 5 and 6 of the PQ-DPoL paper, and what else the model gives, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from pqchain.consensus import landscape
from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table
from pqchain.works.pqdpol.rebuilt import corrected
from pqchain.works.work import Frames

CALIBRATED_ON = (
    "The four prices of paper-serial are fitted to the 30 latencies of Table 6 with the costs of "
    "Tables 1 to 4, so that table is described, not predicted; throughput follows from packing, "
    "which was adjusted to the 29.42 transactions of Falcon-512 alone. Established are the form, "
    "N squared with pairs of a node with itself, and growth with size and verification time; the "
    "prices are not: other combinations fit nearly as well. Which shared resource is behind the "
    "form, a channel or the simulating computer, only the authors can tell."
)
"""What the agreement with the paper is worth; stands beside every table of it."""

_TABLES = {
    "throughput": ("table5", "Table 5, transactions per second", "throughput_per_second", "per s"),
    "latency": ("table6", "Table 6, latency", "latency_seconds", "in s"),
}
"""What is rebuilt, in the order of print: table, title, column and unit."""

_COSTS = {
    "table5-6": "the sizes and times of the paper's Tables 1 to 4",
    "table5-6-here": "sizes from the registry and times measured here. The prices of a pair, a "
    "byte and a verification stay those of the paper's machine, so only the order of the schemes "
    "means something, not the error",
}
"""What went into each rebuilt frame."""

_EXPONENTS = (1, 3, 5, 7, 10, 15, 20)
"""Networks of 2^n nodes that the table of networks shows."""


def rebuilt(frames: Frames) -> Iterator[Table]:
    """Yield Tables 5 and 6, with the paper's costs and with ours if there are any."""
    first = True
    for name, costs in _COSTS.items():
        if name not in frames:
            continue
        for quantity, (_, title, _, unit) in _TABLES.items():
            exponents = sorted(set(frames[name]["n"]))
            yield Table(
                columns=[
                    Column(unit),
                    Column("from"),
                    *(Column(f"n = {n}", numeric=True) for n in exponents),
                ],
                rows=list(_rows(frames[name], quantity, exponents)),
                row_headers=2,
                caption=f"{title}: as printed, and modelled with {costs}.",
                source=("published", "modelled") + ("measured",) * (name != "table5-6"),
                notes=(CALIBRATED_ON,) if first else (),
                part="Modelled",
            )
            first = False


def _rows(frame: pd.DataFrame, quantity: str, exponents: list[int]) -> Iterator[list[Any]]:
    """Yield for each algorithm the print, ours and the error, across n."""
    table, _, column, _ = _TABLES[quantity]
    errata = corrected(table)

    for name, group in frame.groupby("algorithm", sort=False):
        at = group.set_index("n")
        lines: dict[str, tuple[str, Callable[[float], str]]] = {
            "printed": (f"published_{column}", numbers.exact),
            "modelled": (column, lambda value: numbers.significant(value, 4)),
            "error": (f"{quantity}_error_percent", lambda value: _percent(value, "+")),
        }
        for title, (source, show) in lines.items():
            marks = {
                n: " !" if title == "printed" and (name, n) in errata else "" for n in exponents
            }
            values = at[source]
            shown = (Shown(values[n], show(values[n]) + marks[n]) for n in exponents)
            yield [str(name), title, *shown]


def fitted(frames: Frames) -> Iterator[Table]:
    """Yield what the fit is worth: predictions of what was left out, and other laws."""
    errors = [
        Column("rms error", numeric=True, show=_percent, key="rms_percent"),
        Column("worst", numeric=True, show=_percent, key="worst_percent"),
    ]
    three = numbers.significant
    yield Table.of(
        pd.concat([frames["fit"], frames["left-out"]]),
        [
            Column("left out", key="left_out"),
            Column("cells", numeric=True),
            *errors,
            Column("s per pair", "", True, lambda value: three(value, 4), "pair_seconds"),
            Column("µs per byte", "", True, lambda value: three(1e6 * value), "byte_seconds"),
            Column("verifies", numeric=True, show=three),
            Column("signs", numeric=True, show=three),
        ],
        caption="Table 6 fitted without one part, and that part predicted: its error, and the "
        "prices.",
        source=("published", "modelled"),
        part="Modelled",
    )
    yield Table.of(
        frames["forms"],
        [Column("latency grows as", key="form"), *errors],
        caption="Laws of growth on Table 6, one free constant for each algorithm.",
        source=("published", "modelled"),
        part="Modelled",
    )


def beyond(frames: Frames) -> Iterator[Table]:
    """Yield what has no printed counterpart: fewer delegates, other networks."""
    yield Table.of(
        frames["delegation"],
        [
            Column("network", key="setting"),
            Column("who votes", key="question"),
            Column("nodes", numeric=True),
            Column("delegates", numeric=True),
            Column("latency", "", True, numbers.seconds, "latency_seconds"),
            Column("per second", "", True, numbers.significant, "throughput_per_second"),
        ],
        caption="Falcon-512 with and without delegation, the paper's costs.",
        source=("modelled",),
        part="Modelled",
    )
    ran = frames["networks"].query("status == 'ok'")
    shown = [n for n in _EXPONENTS if 2**n in set(ran["nodes"])]
    rows = []
    for setting, group in ran.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = "all" if setting in landscape.EVERYBODY else str(group["delegates"].max())
        rows.append([str(setting), voting, *(latency.get(2**n, float("nan")) for n in shown)])
    yield Table(
        columns=[
            Column("network"),
            Column("delegates"),
            *(Column(f"2^{n}", numeric=True, show=numbers.seconds) for n in shown),
        ],
        rows=rows,
        caption="Latency of a block of Falcon-512 by number of nodes, the paper's costs; with "
        "regions the median of several draws of who lives where.",
        source=("modelled",),
        notes=_remarks(frames),
        part="Modelled",
    )


def _remarks(frames: Frames) -> list[str]:
    frame, left, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left[left["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    fills = ", ".join(
        f"{row['algorithm']} {row['transactions_per_block']:.4g}"
        for row in frame.drop_duplicates("algorithm").to_dict("records")
    )
    worst = frame["latency_error_percent"].abs().max()
    return [
        "Established: latency grows as N squared, a pair of a node with itself included "
        f"(rms {by_form['N^2']:.1f} %; the next form, {second.index[0]}, {second.iloc[0]:.1f} %), "
        "and with size and verification time.",
        f"Not established: the four prices. Without {hardest['left_out']} a pair pays for "
        f"{hardest['verifies']:.3g} verifications in place of {fit['verifies']:.3g}, and "
        f"the cells left out are missed by up to {hardest['worst_percent']:.1f} %.",
        f"With the paper's costs every latency is within {worst:.1f} % of the print (rms "
        f"{fit['rms_percent']:.1f} %). That is how well four prices describe 30 cells, not a "
        "prediction.",
        f"Transactions in a block of 50 000 bytes: {fills}. Throughput is this number over the "
        "latency.",
        "On a mesh, on a star or by gossip latency does not grow as N squared: that law needs one "
        "resource that all share. Whether it was a channel or the simulating computer, only the "
        "authors can tell.",
        *(f"! {note}" for note in dict.fromkeys(frame["note"]) if note),
    ]


def _percent(value: float, sign: str = "") -> str:
    return f"{value:{sign}.1f}{numbers.NARROW_SPACE}%"
