"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from matplotlib.axes import Axes

from pqchain.figures import Kind
from pqchain.plots.canvas import canvas, look, require
from pqchain.plots.marks import brief, grid, legend_above, log_ticks, props, with_prefix


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
        for index, name in enumerate(names):
            rows = votes[votes["algorithm"] == name].sort_values("nodes")
            colour, marker = look(index)
            style = props(color=colour, marker=marker, markersize=4, linewidth=1.1)
            style |= props(linestyle="-" if rows["form"].iloc[0] == "list" else "--")
            label = f"{name}, {rows['form'].iloc[0]}"
            axes.plot(rows["nodes"].astype(float), rows[column], label=label, **style)
        for index, (source, rows) in enumerate(proofs.groupby("source", sort=False), len(names)):
            colour, marker = look(index)
            style = props(linestyle="none", marker=marker, color=colour, markersize=6)
            filling = "none" if rows["kind"].iloc[0] == Kind.CITED.value else "full"
            points = rows["nodes"].astype(float), rows[column]
            axes.plot(*points, label=f"{source}, proof", fillstyle=filling, **style)
        axes.margins(0.05)
        log_ticks(axes, "x", "{:g}".format)
        log_ticks(axes, "y", with_prefix("B") if quantity == "bytes" else brief)
        axes.set_xlabel("validators   (hollow: published elsewhere)")
        what = "certificate of a quorum" if quantity == "bytes" else "verifying it"
        axes.set_ylabel(what)
        grid(axes)
        legend_above(axes, 3)
    return axes
