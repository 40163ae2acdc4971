"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.figures import Kind, Unit
from pqchain.plots import canvas, marks
from pqchain.plots.marks import props

_OTHER_MARKS = "sDh"
"""Marks of further provers of a scheme, whose first has the mark of the family."""


def plot_certificates(
    frame: pd.DataFrame, quantity: Literal["bytes", "verify"] = "bytes", *, ax: Axes | None = None
) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain_engines.certificate_sizes`: a line for each list or aggregate, marks
    for the proofs of all signatures in one, by prover and scheme; those from publications are
    hollow. A second panel, which axes of the caller lack, has the range of the proofs, which is
    shaded in the first and has only dots there; the axes of the first are returned. "bytes" or
    "verify" (seconds of a processor). Raises DataError, UsageError.
    """
    canvas.require(frame, "algorithm form nodes certificate_bytes verify_seconds kind source")
    column = "certificate_bytes" if quantity == "bytes" else "verify_seconds"
    drawn = frame[frame[column].notna()]
    votes, proofs = drawn[drawn["form"] != "proof"], drawn[drawn["form"] == "proof"]
    what = "size of a certificate" if quantity == "bytes" else "time to verify a certificate"
    count = 1 if ax is not None or proofs.empty else 2
    with canvas.panels(count, 1, 3.2 * count) if ax is None else canvas.canvas(ax, 4.4) as drawn_on:
        axes, *enlarged = [drawn_on] if isinstance(drawn_on, Axes) else drawn_on
        ends = _votes(axes, votes, column)
        _proofs(axes, proofs, column, 0 if enlarged else 5)
        _scales(axes, quantity)
        axes.set_ylabel(what)
        for other in enlarged:
            _proofs(other, proofs, column, 3.6 if canvas.narrow() else 5)
            _scales(other, quantity)
            low, high = other.get_ylim()
            _votes(other, votes, column)
            other.set(xlim=axes.get_xlim(), ylim=(low, high), ylabel=what)
            axes.axhspan(low, high, color=canvas.GRID, alpha=0.5, linewidth=0, zorder=0)
            canvas.panel_title(other, "shaded range, enlarged")
        lowest = [axes, *enlarged][-1]
        canvas.x_label(lowest, "validators")
        if len(proofs):
            canvas.legend_above(axes, 3, lowest.get_legend_handles_labels()[0])
        most = votes[votes["nodes"] == votes["nodes"].max()]
        names = most["algorithm"] + ", " + most["form"]
        title = (
            f"{what[0].upper()}{what[1:]} with {figures.integer(most['nodes'].max())} validators"
        )
        sizes = most.set_index(names)[column]
        canvas.headline(axes, marks.extremes(title, sizes, Unit.of(column).text))
        marks.label_ends(axes, ends)
    return axes


def _scales(axes: Axes, quantity: str) -> None:
    axes.set(xscale="log", yscale="log")
    marks.log_ticks(axes, "x", marks.with_prefix(""))
    marks.log_ticks(axes, "y", marks.with_prefix("B") if quantity == "bytes" else marks.brief)
    marks.grid(axes)


def _votes(axes: Axes, votes: pd.DataFrame, column: str) -> list[tuple[str, tuple[float, float]]]:
    """Draw lists and aggregates; return their names and ends."""
    lines, ends = marks.dashes(dict.fromkeys(votes["algorithm"])), []
    for name, rows in votes.groupby("algorithm", sort=False):
        rows = rows.sort_values("nodes")
        colour, dash = marks.mark_of(str(name)).colour, lines[str(name)]
        label = f"{name}, {rows['form'].iloc[0]}"
        # Names stand at the lines, and the legend has only proofs.
        style = props(color=colour, linewidth=1.5, linestyle=dash, label=f"_{label}")
        axes.plot(rows["nodes"].astype(float), rows[column], **style)
        ends.append((label, (float(rows["nodes"].iloc[-1]), float(rows[column].iloc[-1]))))
    return ends


def _proofs(axes: Axes, proofs: pd.DataFrame, column: str, points: float) -> None:
    """Draw the proofs of each prover, joined; `points` is the size of the marks, 0 for dots."""
    # Two sources publish the same proofs of one prover.
    proofs = proofs.drop_duplicates(["algorithm", "kind", "nodes", column])
    for algorithm, of_scheme in proofs.groupby("algorithm", sort=False):
        # "XMSS of leanSig" is a parameter set of a family, without an entry of its own.
        name = str(algorithm)
        mark = marks.mark_of(name) if name in ALGORITHMS else marks.family_mark(name.split()[0])
        markers = mark.marker + _OTHER_MARKS
        for place, (prover, rows) in enumerate(of_scheme.groupby("source", sort=False)):
            rows = rows.sort_values(["nodes", column])
            is_measured = rows["kind"].iloc[0] == Kind.MEASURED
            label = f"{name.partition(' of ')[0]} proof, {prover}"
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
