"""The rebuilt Tables 5 and 6 of the PQ-DPoL paper, and what else the model gives, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.consensus import landscape
from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table
from pqchain.works.pqdpol.rebuilt import QUANTITIES, corrected
from pqchain.works.work import Frames

Words = Mapping[str, Any]

_EXPONENTS = (1, 3, 5, 7, 10, 15, 20)
"""Networks of 2^n nodes that the table of networks shows."""


def rebuilt(frames: Frames, words: Words) -> Iterator[Table]:
    """Yield Tables 5 and 6, with the paper's costs and with ours if there are any."""
    notes = [words["calibrated"]["note"]]
    for name, costs in words["costs"].items():
        if name not in frames:
            continue
        for table in QUANTITIES:
            said = words[table]
            exponents = sorted(set(frames[name]["n"]))
            across = (Column(f"n = {n}", numeric=True) for n in exponents)
            yield Table(
                columns=[Column(said["unit"]), Column("from"), *across],
                rows=list(_rows(frames[name], table, said["quantity"], exponents)),
                row_headers=2,
                caption=said["caption"].format(costs=costs),
                source=("published", "modelled") + ("measured",) * (name != "table5-6"),
                notes=notes,
                part=said["part"],
            )
            notes = []


def _rows(
    frame: pd.DataFrame, table: str, quantity: str, exponents: list[int]
) -> Iterator[list[Any]]:
    """Yield for each algorithm the print, ours and the error, across n."""
    column, errata = QUANTITIES[table], corrected(table)
    for name, group in frame.groupby("algorithm", sort=False):
        at = group.set_index("n")
        lines: dict[str, tuple[str, Callable[[float], str]]] = {
            "printed": (f"published_{column}", numbers.exact),
            "modelled": (column, lambda value: numbers.significant(value, 4)),
            "error": (f"{quantity}_error_percent", f"{{:+.1f}}{numbers.NARROW_SPACE}%".format),
        }
        for title, (source, show) in lines.items():
            wrong = [title == "printed" and (name, n) in errata for n in exponents]
            values = zip(at.loc[exponents, source], wrong, strict=True)
            shown = (Shown(value, show(value) + " !" * marked) for value, marked in values)
            yield [str(name), title, *shown]


def networks(frames: Frames, words: Words) -> Table:
    """Show latencies on other networks, and what the model says on the whole."""
    ran = frames["networks"].query("status == 'ok'")
    shown = [n for n in _EXPONENTS if 2**n in set(ran["nodes"])]
    rows = []
    for setting, group in ran.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = "all" if setting in landscape.EVERYBODY else str(group["delegates"].max())
        rows.append([str(setting), voting, *(latency.get(2**n, float("nan")) for n in shown)])
    across = (Column(f"2^{n}", numeric=True, show=numbers.seconds) for n in shown)
    columns = [Column("network"), Column("delegates"), *across]
    said = words["networks"]
    errata = dict.fromkeys(f"! {note}" for note in frames["table5-6"]["note"] if note)
    facts = _facts(frames)
    notes = [*(note.format(**facts) for note in said["notes"]), *errata]
    return Table(columns=columns, rows=rows, **said | {"notes": notes})


def _facts(frames: Frames) -> dict[str, Any]:
    """Return the figures in the notes on the model."""
    frame, left, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left[left["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    fills = ", ".join(
        f"{row['algorithm']} {row['transactions_per_block']:.4g}"
        for row in frame.drop_duplicates("algorithm").to_dict("records")
    )
    return {
        "form": by_form["N^2"],
        "next": second.index[0],
        "next_form": second.iloc[0],
        "hardest": hardest["left_out"],
        "hardest_verifies": hardest["verifies"],
        "hardest_percent": hardest["worst_percent"],
        "verifies": fit["verifies"],
        "worst": frame["latency_error_percent"].abs().max(),
        "rms": fit["rms_percent"],
        "fills": fills,
    }
