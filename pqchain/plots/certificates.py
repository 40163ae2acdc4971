"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.figures import Kind, Unit
from pqchain.plots import paper
from pqchain.plots.canvas import GRID, canvas, headline, panel_title, panels, require
from pqchain.plots.marks import (
    Mark,
    brief,
    dashes,
    family_mark,
    grid,
    label_ends,
    legend_above,
    log_ticks,
    mark_of,
    props,
    with_prefix,
)
from pqchain.plots.words import words


def plot_certificates(
    frame: pd.DataFrame, quantity: Literal["bytes", "verify"] = "bytes", *, ax: Axes | None = None
) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain.study.certificates`: a line for each list or aggregate, marks for the
    proofs of all signatures in one, by prover and scheme; those from publications are hollow. A
    second panel, which axes of the caller lack, has the range of the proofs, which is shaded in the
    first and has only dots there; the axes of the first are returned. "bytes" or "verify" (seconds
    of a processor). Raises DataError, UsageError.
    """
    require(frame, "algorithm form nodes certificate_bytes verify_seconds kind source")
    column = "certificate_bytes" if quantity == "bytes" else "verify_seconds"
    drawn = frame[frame[column].notna()]
    votes, proofs = drawn[drawn["form"] != "proof"], drawn[drawn["form"] == "proof"]
    what = "size of a certificate" if quantity == "bytes" else "time to verify a certificate"
    count = 1 if ax is not None or proofs.empty else 2
    with panels(count, 1, 3.2 * count) if ax is None else canvas(ax, 4.4) as drawn_on:
        axes, *enlarged = [drawn_on] if isinstance(drawn_on, Axes) else drawn_on
        ends = _votes(axes, votes, column)
        _proofs(axes, proofs, column, 0 if enlarged else 5)
        _scales(axes, quantity)
        axes.set_ylabel(what)
        for other in enlarged:
            _proofs(other, proofs, column, 3.6 if paper.narrow() else 5)
            _scales(other, quantity)
            low, high = other.get_ylim()
            _votes(other, votes, column)
            other.set(xlim=axes.get_xlim(), ylim=(low, high), ylabel=what)
            axes.axhspan(low, high, color=GRID, alpha=0.5, linewidth=0, zorder=0)
            panel_title(other, "shaded range, enlarged")
        lowest = [axes, *enlarged][-1]
        lowest.set_xlabel("validators")
        if len(proofs):
            legend_above(axes, 3, lowest.get_legend_handles_labels()[0])
        headline(axes, _crossing(votes, proofs, column))
        label_ends(axes, ends)
    return axes


def _scales(axes: Axes, quantity: str) -> None:
    axes.set(xscale="log", yscale="log")
    log_ticks(axes, "x", with_prefix(""))
    log_ticks(axes, "y", with_prefix("B") if quantity == "bytes" else brief)
    grid(axes)


def _votes(axes: Axes, votes: pd.DataFrame, column: str) -> list[tuple[str, tuple[float, float]]]:
    """Draw lists and aggregates; return their names and ends."""
    lines, ends = dashes(dict.fromkeys(votes["algorithm"])), []
    for name, rows in votes.groupby("algorithm", sort=False):
        rows = rows.sort_values("nodes")
        style = props(color=mark_of(str(name)).colour, linewidth=1.5, linestyle=lines[str(name)])
        label = f"{name}, {rows['form'].iloc[0]}"
        # Names stand at the lines, and the legend has only proofs.
        axes.plot(rows["nodes"].astype(float), rows[column], label=f"_{label}", **style)
        ends.append((label, (float(rows["nodes"].iloc[-1]), float(rows[column].iloc[-1]))))
    return ends


_OTHER_MARKS = "sDh"
"""Marks of further provers of a scheme, whose first has the mark of the family."""


def _proofs(axes: Axes, proofs: pd.DataFrame, column: str, points: float) -> None:
    """Draw the proofs of each prover, joined; `points` is the size of the marks, 0 for dots."""
    proofs = proofs.assign(prover=proofs["source"].map(words))
    # Two sources publish the same proofs of one prover.
    proofs = proofs.drop_duplicates(["prover", "algorithm", "kind", "nodes", column])
    for algorithm, of_scheme in proofs.groupby("algorithm", sort=False):
        mark = _mark(str(algorithm))
        markers = mark.marker + _OTHER_MARKS
        for place, (prover, rows) in enumerate(of_scheme.groupby("prover", sort=False)):
            rows = rows.sort_values(["nodes", column])
            is_measured = rows["kind"].iloc[0] == Kind.MEASURED
            label = f"{str(algorithm).partition(' of ')[0]} proof, {prover}"
            label += " (measured)" if is_measured else ""
            style = mark.style(points, is_published=not is_measured)
            style |= props(marker=markers[place % len(markers)], linewidth=0.8, label=label)
            style |= props(markeredgewidth=0.7)  # wider edges close small hollow marks
            if is_measured:  # an outline in the colour of the paper would hide small marks
                style |= props(markersize=1.4 * points, markeredgecolor=mark.colour)
            if len(rows) == 1 or not rows["nodes"].is_unique:
                style |= props(linestyle="none")  # settings of a prover, not a series
            if len(rows) > 5:
                # Marks of all would cover each other.
                style |= props(markevery=[0, len(rows) // 3, len(rows) - 1])
            if not points:
                style |= props(marker=".", markersize=4, markevery=None)
                style |= props(markerfacecolor=mark.colour, markeredgewidth=0)
            axes.plot(rows["nodes"].astype(float), rows[column], zorder=3, **style)


def _mark(algorithm: str) -> Mark:
    # "XMSS of leanSig" is a parameter set of a family, without an entry of its own.
    return mark_of(algorithm) if algorithm in ALGORITHMS else family_mark(algorithm.split()[0])


def _crossing(votes: pd.DataFrame, proofs: pd.DataFrame, column: str) -> str:
    """Return with how many validators proofs cost less than the cheapest post-quantum list."""
    most = votes[votes["nodes"] == votes["nodes"].max()].sort_values(column)
    new = most[[mark_of(str(name)).post_quantum for name in most["algorithm"]]]
    if new.empty:
        return ""
    unit, row = Unit.of(column), new.iloc[0]
    name, is_size = row["algorithm"], unit == "B"
    listed = votes[votes["algorithm"] == name].sort_values("nodes")
    nodes = listed["nodes"].to_numpy(float)
    limits = np.interp(proofs["nodes"].astype(float), nodes, listed[column].to_numpy(float))
    dearer = proofs["nodes"][proofs[column].to_numpy(float) >= limits]
    cheaper = proofs["nodes"][proofs["nodes"] > dearer.max()] if len(dearer) else proofs["nodes"]
    if len(cheaper):
        least = "smaller than" if is_size else "verified faster than"
        return (
            f"All proofs shown for {figures.integer(cheaper.min())} validators or more are "
            f"{least} a list of {name} signatures"
        )
    thing = "a list of" if is_size else "verifying a list of"
    text = f"With {figures.integer(row['nodes'])} validators, {thing} {name} signatures takes "
    return text + unit.text(float(row[column]))
