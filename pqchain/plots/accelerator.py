"""The accelerator paper's Table 3, printed, estimated and modelled."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain.errors import UsageError
from pqchain.plots.canvas import INK, MUTED, PAPER, canvas, require


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rebuilt Table 3 of the accelerator: printed, estimated and modelled times.

    Takes a frame of `pqchain.works.falcon_hls.work.table3`; colour and hatching tell the kind of
    number. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    require(table, "algorithm row kind seconds")
    if table.empty:
        raise UsageError("there are no rows to draw; pass a frame of accelerator.table3()")
    looks = {
        "published": (MUTED, ""), "estimated": ("#56B4E9", "///"), "modelled": ("#E69F00", "..."),
    }  # fmt: skip
    with canvas(ax, 0.9 + 0.24 * len(table)) as axes:
        labels = [
            f"{name}  {row}" for name, row in zip(table["algorithm"], table["row"], strict=True)
        ]
        heights = np.arange(len(table))
        for kind, (colour, hatch) in looks.items():
            chosen = (table["kind"] == kind).to_numpy()
            axes.barh(
                heights[chosen], table["seconds"].to_numpy()[chosen] * 1e3, height=0.7,
                color=colour, hatch=hatch, edgecolor=PAPER, label=kind,
            )  # fmt: skip
        for height, seconds in zip(heights, table["seconds"], strict=True):
            axes.annotate(
                f"{seconds * 1e3:.1f}", (seconds * 1e3, height), xytext=(3, 0), fontsize=7,
                textcoords="offset points", va="center", color=INK,
            )  # fmt: skip
        axes.set_yticks(heights, labels)
        axes.invert_yaxis()
        axes.set_xlim(0, table["seconds"].max() * 1e3 * 1.12)
        axes.set_xlabel("time of one signature in milliseconds")
        axes.legend(loc="lower right", fontsize=8)
    return axes
