"""The accelerator paper's Table 3, printed, estimated and modelled."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from pqchain.plots.canvas import MUTED, PAPER, canvas, require
from pqchain.plots.marks import beside, props

_LOOKS = {
    "published": (MUTED, ""),
    "estimated": ("#56B4E9", "///"),
    "modelled": ("#E69F00", "..."),
}
"""Colour and hatching of a kind of number."""


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rebuilt Table 3 of the accelerator: printed, estimated and modelled times.

    Takes a frame with the columns algorithm, row, kind and seconds; colour and hatching tell the
    kind of number. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    require(table, "algorithm row kind seconds")
    labels = table["algorithm"] + "  " + table["row"]
    places = pd.Series(range(len(table)), index=table.index)
    milliseconds = table["seconds"] * 1e3
    with canvas(ax, 0.9 + 0.24 * len(table)) as axes:
        for kind, (colour, hatch) in _LOOKS.items():
            style = props(color=colour, hatch=hatch, edgecolor=PAPER, label=kind)
            chosen = table["kind"] == kind
            axes.barh(places[chosen], milliseconds[chosen], height=0.7, **style)
        for place, value in zip(places, milliseconds, strict=True):
            beside(axes, f"{value:.1f}", (value, place))
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.set_xlim(0, milliseconds.max() * 1.12)
        axes.set_xlabel("time of one signature in milliseconds")
        axes.legend(loc="lower right", fontsize=8)
    return axes
