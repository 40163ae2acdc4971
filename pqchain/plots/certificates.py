"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.figures import Kind, Unit
from pqchain.plots import paper
from pqchain.plots.canvas import canvas, headline, require
from pqchain.plots.marks import (
    brief,
    dashes,
    grid,
    label_ends,
    legend_above,
    log_ticks,
    mark_of,
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
    with canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        names = list(dict.fromkeys(votes["algorithm"]))
        lines, ends, handles = dashes(names), [], []
        for name, rows in votes.groupby("algorithm", sort=False):
            rows, mark = rows.sort_values("nodes"), mark_of(str(name))
            form = rows["form"].iloc[0]
            style = mark.style(5) | props(linewidth=1.4, linestyle=lines[str(name)])
            label = f"{name}, {form}"
            axes.plot(rows["nodes"].astype(float), rows[column], label=label, **style)
            end = float(rows["nodes"].iloc[-1]), float(rows[column].iloc[-1])
            ends.append((label, end, mark.colour))
        for index, (source, rows) in enumerate(proofs.groupby("source", sort=False)):
            mark = mark_of(str(rows["algorithm"].iloc[0]))
            is_cited = rows["kind"].iloc[0] == Kind.CITED.value
            style = mark.style(6) | props(linestyle="none", markeredgecolor=mark.colour)
            # Sources of one family differ by their marks.
            style |= props(marker="*sD^vPXo"[index % 8], markeredgewidth=1.1)
            style |= props(fillstyle="none" if is_cited else "full")
            points = rows["nodes"].astype(float), rows[column]
            handles += axes.plot(*points, label=f"{source}, proof", **style)
        axes.margins(0.05)
        log_ticks(axes, "x", "{:g}".format)
        log_ticks(axes, "y", with_prefix("B") if quantity == "bytes" else brief)
        axes.set_xlabel("validators   (hollow proofs: published elsewhere)")
        what = "certificate of a quorum" if quantity == "bytes" else "verifying it"
        axes.set_ylabel(what)
        grid(axes)
        headline(axes, _extremes(votes, column, what))
        if paper.narrow():
            legend_above(axes, 2)
            return axes
        if handles:
            legend_above(axes, 4, handles)
        label_ends(axes, ends)
    return axes


def _extremes(votes: pd.DataFrame, column: str, what: str) -> str:
    most = votes[votes["nodes"] == votes["nodes"].max()].sort_values(column)
    if len(most) < 2:
        return ""
    unit = Unit.of(column)
    least, last = (most.iloc[at] for at in (0, -1))
    return (
        f"{figures.integer(most['nodes'].iloc[0])} validators, {what}: {least['algorithm']} "
        f"{unit.text(float(least[column]))}, {last['algorithm']} {unit.text(float(last[column]))}"
    )
