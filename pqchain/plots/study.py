"""A study's figures: what matters, and who wins where."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from pqchain.errors import UsageError
from pqchain.plots.canvas import INK, LOOKS, MUTED, PAPER, canvas, require, spoken
from pqchain.render import numbers

_HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "**")
"""Beside colour, so that fields differ in print."""


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how a figure changes when each input is halved or doubled, the strongest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError if columns are missing, UsageError if
    there are no rows.
    """
    require(frame, "scheme output unit input base low high")
    if frame.empty:
        raise UsageError("there are no rows to draw: no input changes this figure")
    base = float(frame["base"].iloc[0])
    with canvas(ax, 0.9 + 0.3 * len(frame)) as axes:
        heights = np.arange(len(frame))
        for column, label, colour, hatch in (
            ("low", "input halved", LOOKS[0][0], ""),
            ("high", "input doubled", LOOKS[1][0], "////"),
        ):
            values = frame[column].to_numpy(float)
            axes.barh(
                heights, np.where(np.isfinite(values), values - base, 0.0), left=base, height=0.62,
                color=colour if not hatch else PAPER, edgecolor=colour, hatch=hatch, label=label,
            )  # fmt: skip
        axes.axvline(base, color=INK, linewidth=0.8)
        axes.set_yticks(heights, [spoken(name) for name in frame["input"]])
        axes.invert_yaxis()
        axes.margins(x=0.08)
        unit = f" ({frame['unit'].iloc[0]})" if frame["unit"].iloc[0] else ""
        axes.set_xlabel(f"{spoken(frame['output'].iloc[0])}{unit}, {frame['scheme'].iloc[0]}")
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower right", fontsize=8)
    return axes


def plot_plane(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw which scheme lets a chain take most, over two inputs; both axes are factors.

    Takes a frame of `pqchain.study.plane`. A field without a scheme is one where no transaction
    fits. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    require(frame, "across upwards across_factor upwards_factor winner capacity_per_second")
    if frame.empty:
        raise UsageError("there are no rows to draw; pass a frame of pqchain.study.plane()")
    names = [name for name in dict.fromkeys(frame["winner"].tolist()) if name]
    colours = [LOOKS[at % len(LOOKS)][0] for at in range(len(names))]
    rights = sorted(set(frame["across_factor"].tolist()))
    ups = sorted(set(frame["upwards_factor"].tolist()))
    codes = np.zeros((len(ups), len(rights)), int)
    for row in frame.to_dict("records"):
        place = ups.index(row["upwards_factor"]), rights.index(row["across_factor"])
        codes[place] = names.index(row["winner"]) + 1 if row["winner"] else 0
    with canvas(ax, 0.9 + 0.34 * len(ups)) as axes:
        axes.pcolormesh(
            np.arange(codes.shape[1] + 1), np.arange(codes.shape[0] + 1), codes,
            cmap=ListedColormap([PAPER, *colours]), vmin=-0.5, vmax=len(names) + 0.5,
            edgecolors=PAPER, linewidth=0.8,
        )  # fmt: skip
        for at in range(1, len(names) + 1):
            hatch = _HATCHES[(at - 1) % len(_HATCHES)]
            for up, right in np.argwhere(codes == at) if hatch else ():
                axes.fill_between(
                    [right, right + 1], up, up + 1, facecolor="none", edgecolor=PAPER,
                    hatch=hatch, linewidth=0,
                )  # fmt: skip
        axes.set_xticks(np.arange(codes.shape[1]) + 0.5, [numbers.factor(at) for at in rights])
        axes.set_yticks(np.arange(codes.shape[0]) + 0.5, [numbers.factor(at) for at in ups])
        # The field of the study as it is.
        if 1.0 in ups and 1.0 in rights:
            axes.plot(
                rights.index(1.0) + 0.5, ups.index(1.0) + 0.5,
                marker="o", color=PAPER, markeredgecolor=INK, markersize=7,
            )  # fmt: skip
        axes.tick_params(length=0)
        axes.set_xlabel(f"{spoken(frame['across'].iloc[0])}   (ring: the study as it is)")
        axes.set_ylabel(spoken(frame["upwards"].iloc[0]))
        handles = [
            Patch(facecolor=colour, hatch=_HATCHES[at % len(_HATCHES)], edgecolor=PAPER, label=name)
            for at, (name, colour) in enumerate(zip(names, colours, strict=True))
        ]
        legend = axes.legend(
            handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8,
            ncols=max(1, min(4, len(names))), frameon=False,
        )  # fmt: skip
        for label in legend.get_texts():
            label.set_color(INK)
        axes.spines[:].set_color(MUTED)
    return axes
