"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.figures import Kind, Unit
from pqchain.plots import paper
from pqchain.plots.canvas import (
    PAPER,
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
    grid,
    label_ends,
    legend_above,
    log_ticks,
    mark_of,
    name_levels,
    props,
    with_prefix,
)


def plot_certificates(
    frame: pd.DataFrame, quantity: Literal["bytes", "verify"] = "bytes", *, ax: Axes | None = None
) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain.study.certificates`: a line for each list or aggregate, points for the
    proofs of each prover, hollow if they are cited. "bytes" or "verify" (seconds of a processor).
    Raises DataError, UsageError.
    """
    require(frame, "algorithm form nodes certificate_bytes verify_seconds kind source")
    column = "certificate_bytes" if quantity == "bytes" else "verify_seconds"
    drawn = frame[frame[column].notna()]
    votes, proofs = drawn[drawn["form"] != "proof"], drawn[drawn["form"] == "proof"]
    what = "certificate of a quorum" if quantity == "bytes" else "time to verify a certificate"
    show = with_prefix("B") if quantity == "bytes" else brief
    show = with_prefix("B") if quantity == "bytes" else brief
    sources = proofs.groupby("source", sort=False)
    rows = 1 if ax is not None or proofs.empty else 2
    tall = 2.9 + (rows - 1) * (3.7 if paper.narrow() else 2.3)
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
            name_levels(axes, [_prover(str(name), group) for name, group in sources])
            low, high = axes.get_xlim()
            axes.set_xlim(low, high * (high / low) ** (0.7 if paper.narrow() else 0.35))
            log_ticks(axes, "x", show)
            grid(axes, "x")
            axes.set_xlabel(with_notes(f"{what} by a proof", "hollow: measured by its source"))
            panel_title(first, "lists of signatures and aggregates")
            panel_title(axes, "proofs, by prover and number of validators")
        headline(first, _extremes(votes, column, what))
        if paper.narrow():
            legend_above(first, 2)
        else:
            label_ends(first, ends)
    return first


def _prover(name: str, rows: pd.DataFrame) -> str:
    low, high = (figures.integer(rows["nodes"].agg(end)) for end in ("min", "max"))
    nodes = low if low == high else f"{low} to {high}"
    return f"{name}\n{nodes}" if paper.narrow() else f"{name}, {nodes}"


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
    is_cited = rows["kind"].iloc[0] == Kind.CITED.value
    style = mark.style(6) | props(markeredgecolor=mark.colour, markeredgewidth=1.1, linewidth=1.2)
    style |= props(markerfacecolor=PAPER if is_cited else mark.colour)
    axes.plot(np.sort(values), [level] * len(values), label=str(rows["source"].iloc[0]), **style)
    unit = Unit.of(column)
    ends = dict.fromkeys(unit.text(float(end)) for end in (values.min(), values.max()))
    annotate(axes, " to ".join(ends), (float(values.max()), level), (8, 0))


def _extremes(votes: pd.DataFrame, column: str, what: str) -> str:
    most = votes[votes["nodes"] == votes["nodes"].max()].sort_values(column)
    if len(most) < 2:
        return ""
    unit = Unit.of(column)
    least, last = (most.iloc[at] for at in (0, -1))
    ends = [f"{row['algorithm']} {unit.text(float(row[column]))}" for row in (least, last)]
    return f"{figures.integer(most['nodes'].iloc[0])} validators, {what}: {' to '.join(ends)}"
