"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.figures import Kind, Unit
from pqchain.plots import paper
from pqchain.plots.canvas import (
    canvas,
    headline,
    panel_title,
    panels,
    require,
    with_notes,
)
from pqchain.plots.marks import (
    annotate,
    brief,
    dashes,
    enclose,
    grid,
    label_ends,
    log_ticks,
    mark_of,
    name_levels,
    props,
    with_prefix,
)
from pqchain.plots.words import words


def plot_certificates(
    frame: pd.DataFrame, quantity: Literal["bytes", "verify"] = "bytes", *, ax: Axes | None = None
) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain.study.certificates`: a line for each list or aggregate, points for the
    proofs of each prover, whose names state the kind. "bytes" or "verify" (seconds of a processor).
    Raises DataError, UsageError.
    """
    require(frame, "algorithm form nodes certificate_bytes verify_seconds kind source")
    column = "certificate_bytes" if quantity == "bytes" else "verify_seconds"
    drawn = frame[frame[column].notna()]
    votes, proofs = drawn[drawn["form"] != "proof"], drawn[drawn["form"] == "proof"]
    what = "certificate of a quorum" if quantity == "bytes" else "time to verify a certificate"
    show = with_prefix("B") if quantity == "bytes" else brief
    sources = proofs.groupby("source", sort=False)
    rows = 1 if ax is not None or proofs.empty else 2
    tall = 2.9 + (rows - 1) * (2.9 if paper.narrow() else 2.3)
    with panels(rows, 1, tall) if ax is None else canvas(ax, tall) as drawn_axes:
        all_axes = [drawn_axes] if isinstance(drawn_axes, Axes) else drawn_axes
        first = all_axes[0]
        ends = _votes(first, votes, column)
        log_ticks(first, "x", with_prefix(""))
        log_ticks(first, "y", show)
        grid(first)
        first.set(xlabel="validators", ylabel=what)
        for axes in all_axes[1:]:
            axes.set_xscale("log")
            for level, (_, group) in enumerate(sources):
                _proofs(axes, group, column, level)
            labels = [_prover(str(name), group) for name, group in sources]
            name_levels(axes, labels, top=0.15)
            enclose(axes)
            log_ticks(axes, "x", show)
            grid(axes, "x")
            low, high = (figures.integer(proofs["nodes"].agg(end)) for end in ("min", "max"))
            axes.set_xlabel(with_notes(what, f"proofs for {low} to {high} validators"))
            panel_title(first, "lists of signatures and aggregates")
            panel_title(axes, "proofs, by prover")
        headline(first, _extremes(votes, proofs, column))
        label_ends(first, ends)
    return first


def _prover(name: str, rows: pd.DataFrame) -> str:
    algorithm = paper.shortened(str(rows["algorithm"].iloc[0])).removesuffix("-simple")
    return f"{words(name)}, {algorithm.partition(' of ')[0]} ({rows['kind'].iloc[0]})"


def _votes(
    axes: Axes, votes: pd.DataFrame, column: str
) -> list[tuple[str, tuple[float, float], str]]:
    """Draw lists and aggregates; return their names, ends and colours."""
    axes.set(xscale="log", yscale="log")
    lines, ends = dashes(dict.fromkeys(votes["algorithm"])), []
    for name, rows in votes.groupby("algorithm", sort=False):
        rows, mark = rows.sort_values("nodes"), mark_of(str(name))
        style = mark.style(5) | props(linewidth=1.4, linestyle=lines[str(name)])
        label = f"{name}, {rows['form'].iloc[0]}"
        axes.plot(rows["nodes"].astype(float), rows[column], label=label, **style)
        end = float(rows["nodes"].iloc[-1]), float(rows[column].iloc[-1])
        ends.append((label, end, mark.colour))
    return ends


def _proofs(axes: Axes, rows: pd.DataFrame, column: str, level: int) -> None:
    """Draw the proofs of a prover in a row, with their range."""
    mark, values = mark_of(str(rows["algorithm"].iloc[0])), rows[column].to_numpy(float)
    is_published = rows["kind"].iloc[0] == Kind.CITED
    style = mark.style(6, is_published=is_published) | props(marker="o", linewidth=1.2)
    axes.plot(np.sort(values), [level] * len(values), label=str(rows["source"].iloc[0]), **style)
    annotate(axes, _range(column, values), (float(values.max()), level), (8, 0))


def _range(column: str, values: Any) -> str:
    unit = Unit.of(column)
    show = with_prefix("B", places=0) if unit == "B" else unit.text
    return " to ".join(dict.fromkeys(show(float(end)) for end in (values.min(), values.max())))


def _extremes(votes: pd.DataFrame, proofs: pd.DataFrame, column: str) -> str:
    most = votes[votes["nodes"] == votes["nodes"].max()].sort_values(column)
    new = most[[mark_of(str(name)).post_quantum for name in most["algorithm"]]]
    if new.empty:
        return ""
    unit, row = Unit.of(column), new.iloc[0]
    thing = "a list of signatures" if unit == "B" else "verifying a list of signatures"
    text = f"With {figures.integer(row['nodes'])} validators, {thing} of {row['algorithm']} takes "
    text += unit.text(float(row[column]))
    if len(proofs):
        text += f"; no proof shown takes more than {unit.text(float(proofs[column].max()))}"
    return text
