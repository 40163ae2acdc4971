"""Tables 5 and 6 of the PQ-DPoL paper for people: on a terminal and in the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from pqchain.consensus import landscape
from pqchain.render import html, numbers
from pqchain.render.html import Column, Markup
from pqchain.works.pqdpol.work import CALIBRATED_ON, Study

TABLES = {
    "throughput": ("Table 5", "transactions per second"),
    "latency": ("Table 6", "latency"),
}
"""What is rebuilt, in the order of print."""

WITH_THE_PAPERS_COSTS = "the sizes and times of the paper's Tables 1 to 4"
WITH_OUR_COSTS = (
    "sizes from the registry and times measured here. The prices of a pair, a byte and a "
    "verification stay those of the paper's machine, so only the order of the schemes means "
    "something, not the error"
)

Grid = tuple[list[str], list[list[str]]]


def text(study: Study) -> str:
    """Lay everything out for a terminal."""
    parts = []
    for frame, costs in _rebuilt(study):
        for quantity, (name, what) in TABLES.items():
            head, rows = _grid(frame, quantity)
            labels = [row[0] for row in rows]
            shown = [
                ["" if at and labels[at - 1] == row[0] else row[0], *row[1:]]
                for at, row in enumerate(rows)
            ]
            title = f"{name}, {what}: printed, and modelled with {costs}."
            parts.append(f"{title}\n{numbers.text_table(head, shown, right=range(2, len(head)))}")
    for title, (head, rows) in _judged(study):
        parts.append(f"{title}\n{numbers.text_table(head, rows, right=range(1, len(head)))}")
    for title, (head, rows) in _modelled(study):
        parts.append(f"{title}\n{numbers.text_table(head, rows, right=range(2, len(head)))}")
    remarks = "\n".join(f"- {line}" for line in _remarks(study))
    return "\n\n".join([*parts, remarks])


def markup(study: Study, figures: Sequence[Markup] = ()) -> list[Markup]:
    """Write everything for the report, the figures after the tables that they show."""
    written: list[Markup] = [html.element("p", CALIBRATED_ON)]
    for frame, costs in _rebuilt(study):
        measured = frame is study.measured_costs
        for quantity, (name, what) in TABLES.items():
            head, rows = _grid(frame, quantity)
            columns = [Column(title, numeric=at > 1) for at, title in enumerate(head)]
            caption = f"{name}, {what}: as printed, and modelled with {costs}."
            source = (
                ("published", "modelled", "measured") if measured else ("published", "modelled")
            )
            written.append(html.table(columns, rows, caption=caption, source=source, row_headers=2))
    for title, (head, rows) in _judged(study):
        columns = [Column(name, numeric=at > 0) for at, name in enumerate(head)]
        written.append(html.table(columns, rows, caption=title, source=("published", "modelled")))
    for title, (head, rows) in _modelled(study):
        columns = [Column(name, numeric=at > 1) for at, name in enumerate(head)]
        written.append(html.table(columns, rows, caption=title, source=("modelled",)))
    return [*written, html.bullets(_remarks(study)), *figures]


def _rebuilt(study: Study) -> Iterable[tuple[pd.DataFrame, str]]:
    """Yield the rebuilt tables with what went into them."""
    yield study.printed_costs, WITH_THE_PAPERS_COSTS
    if len(study.measured_costs):
        yield study.measured_costs, WITH_OUR_COSTS


def _grid(frame: pd.DataFrame, quantity: str) -> Grid:
    """Return one table: for each algorithm the print, ours and the error, across n."""
    column = {"latency": "latency_seconds", "throughput": "throughput_per_second"}[quantity]
    exponents = sorted(set(frame["n"]))
    rows = []
    for name, group in frame.groupby("algorithm", sort=False):
        cells = group.set_index("n")
        printed, ours = cells[f"published_{column}"], cells[column]
        errors = cells[f"{quantity}_error_percent"]
        corrected = cells["note"].str.startswith("table6" if quantity == "latency" else "table5")
        shown = [numbers.exact(printed[n]) + (" !" if corrected[n] else "") for n in exponents]
        rows += [
            [str(name), "printed", *shown],
            [str(name), "modelled", *(numbers.significant(ours[n], 4) for n in exponents)],
            [str(name), "error", *(f"{errors[n]:+.1f}{numbers.NARROW_SPACE}%" for n in exponents)],
        ]
    unit = "in s" if quantity == "latency" else "per s"
    return [unit, "", *(f"n = {n}" for n in exponents)], rows


def _judged(study: Study) -> Iterable[tuple[str, Grid]]:
    """Yield what the fit is worth: predictions of what was left out, and other laws."""
    head = ["left out", "cells", "rms error", "worst", "s per pair", "µs per byte", "verifies"]
    rows = [
        [
            row["left_out"], str(row["cells"]), _percent(row["rms_percent"]),
            _percent(row["worst_percent"]), numbers.significant(row["pair_seconds"], 4),
            numbers.significant(1e6 * row["byte_seconds"]), numbers.significant(row["verifies"]),
            numbers.significant(row["signs"]),
        ]
        for row in study.left_out.to_dict("records")
    ]  # fmt: skip
    law, fit = study.fit.law, study.fit
    rows.insert(
        0,
        [
            "nothing", str(len(fit.residuals)), _percent(fit.rms_percent),
            _percent(fit.worst_percent), numbers.significant(law.pair_seconds, 4),
            numbers.significant(1e6 * law.byte_seconds), numbers.significant(law.verifies),
            numbers.significant(law.signs),
        ],
    )  # fmt: skip
    yield (
        "Table 6 fitted without one part, and that part predicted: its error, and the prices.",
        ([*head, "signs"], rows),
    )
    rows = [
        [row["form"], _percent(row["rms_percent"]), _percent(row["worst_percent"])]
        for row in study.forms.to_dict("records")
    ]
    yield (
        "Laws of growth on Table 6, one free constant for each algorithm.",
        (["latency grows as", "rms error", "worst"], rows),
    )


def _modelled(study: Study) -> Iterable[tuple[str, Grid]]:
    """Yield what has no printed counterpart: fewer delegates, other networks, who wins."""
    rows = [
        [
            row["setting"], row["question"], str(row["nodes"]), str(row["delegates"]),
            numbers.seconds(row["latency_seconds"]),
            numbers.significant(row["throughput_per_second"]),
        ]
        for row in study.delegation.to_dict("records")
    ]  # fmt: skip
    head = ["network", "", "nodes", "delegates", "latency", "per second"]
    yield "Falcon-512 with and without delegation, the paper's costs.", (head, rows)
    fine = study.laws[study.laws["status"] == "ok"]
    chosen = [n for n in (1, 3, 5, 7, 10, 15, 20) if 2**n in set(fine["nodes"])]
    rows = []
    for setting, group in fine.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = str(group["delegates"].max())
        rows.append(
            [
                str(setting), "all" if setting in landscape.EVERYBODY else voting,
                *(numbers.seconds(latency.get(2**n, float("nan"))) for n in chosen),
            ]
        )  # fmt: skip
    head = ["network", "delegates", *(f"2^{n}" for n in chosen)]
    yield (
        "Latency of a block of Falcon-512 by number of nodes, the paper's costs; with regions the "
        "median of several draws of who lives where.",
        (head, rows),
    )


def _remarks(study: Study) -> list[str]:
    """Say what is established and what is not, with the figures."""
    frame, left = study.printed_costs, study.left_out
    errors = frame["latency_error_percent"].abs()
    by_form = study.forms.set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    names = left[~left["left_out"].str.startswith("n = ")]
    hardest = names.sort_values("rms_percent").iloc[-1]
    first = frame.drop_duplicates("algorithm")
    fills = ", ".join(
        f"{name} {fill:.4g}"
        for name, fill in zip(first["algorithm"], first["transactions_per_block"], strict=True)
    )
    rebuilt = [
        f"Established: latency grows as N squared, a pair of a node with itself included "
        f"(rms {by_form['N^2']:.1f} %; the next form, {second.index[0]}, {second.iloc[0]:.1f} %), "
        "and with size and verification time.",
        f"Not established: the four prices. Without {hardest['left_out']} a pair pays for "
        f"{hardest['verifies']:.3g} verifications in place of {study.fit.law.verifies:.3g}, and "
        f"the cells left out are missed by up to {hardest['worst_percent']:.1f} %.",
        f"With the paper's costs every latency is within {errors.max():.1f} % of the print (rms "
        f"{study.fit.rms_percent:.1f} %). That is how well four prices describe 30 cells, not a "
        "prediction.",
        f"Transactions in a block of 50 000 bytes: {fills}. Throughput is this number over the "
        "latency.",
        "On a mesh, on a star or by gossip latency does not grow as N squared: that law needs one "
        "resource that all share. Whether it was a channel or the simulating computer, only the "
        "authors can tell.",
    ]  # fmt: skip
    notes = [f"! {note}" for note in dict.fromkeys(frame["note"]) if note]
    return [*rebuilt, *notes]


def _percent(value: float) -> str:
    """Show a percentage."""
    return f"{value:.1f}{numbers.NARROW_SPACE}%"
