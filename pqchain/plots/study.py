"""A study's figures: what matters, and who wins where."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from pqchain.plots.canvas import INK, MUTED, PAPER, canvas, look, require
from pqchain.plots.marks import props
from pqchain.render import numbers

_HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "**")
"""Beside colour, so that fields differ in print."""


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how a figure changes when each input is halved or doubled, the strongest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError if columns are missing, UsageError if
    there are no rows.
    """
    require(frame, "scheme output unit input base low high")
    first = frame.iloc[0]
    base = float(first["base"])
    halved, doubled = look(0)[0], look(1)[0]
    with canvas(ax, 0.9 + 0.3 * len(frame)) as axes:
        levels = np.arange(len(frame))
        for column, label, style in (
            ("low", "input halved", props(color=halved, edgecolor=halved)),
            ("high", "input doubled", props(color=PAPER, edgecolor=doubled, hatch="////")),
        ):
            change = frame[column].to_numpy(float) - base
            change[~np.isfinite(change)] = 0.0
            axes.barh(levels, change, left=base, height=0.62, label=label, **style)
        axes.axvline(base, color=INK, linewidth=0.8)
        axes.set_yticks(levels, [numbers.spoken(name) for name in frame["input"]])
        axes.invert_yaxis()
        axes.margins(x=0.08)
        unit = f" ({first['unit']})" if first["unit"] else ""
        axes.set_xlabel(f"{numbers.spoken(first['output'])}{unit}, {first['scheme']}")
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower right", fontsize=8)
    return axes


def plot_plane(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw which scheme lets a chain take most, over two inputs; both axes are factors.

    Takes a frame of `pqchain.study.plane`. A field without a scheme is one where no transaction
    fits. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    require(frame, "across upwards across_factor upwards_factor winner capacity_per_second")
    names = [name for name in dict.fromkeys(frame["winner"].tolist()) if name]
    looks = [(look(at)[0], _HATCHES[at % len(_HATCHES)]) for at in range(len(names))]
    across, upwards = (sorted(set(frame[f"{way}_factor"])) for way in ("across", "upwards"))
    codes = np.zeros((len(upwards), len(across)), int)
    for row in frame.to_dict("records"):
        place = upwards.index(row["upwards_factor"]), across.index(row["across_factor"])
        codes[place] = names.index(row["winner"]) + 1 if row["winner"] else 0
    with canvas(ax, 0.9 + 0.34 * len(upwards)) as axes:
        corners = np.arange(len(across) + 1), np.arange(len(upwards) + 1)
        colour_map = ListedColormap([PAPER, *(colour for colour, _ in looks)])
        limits = props(vmin=-0.5, vmax=len(names) + 0.5)
        axes.pcolormesh(*corners, codes, cmap=colour_map, edgecolors=PAPER, linewidth=0.8, **limits)
        for code, (_, hatch) in enumerate(looks, start=1):
            style = props(facecolor="none", edgecolor=PAPER, hatch=hatch, linewidth=0)
            for up, right in np.argwhere(codes == code) if hatch else ():
                axes.fill_between([right, right + 1], up, up + 1, **style)
        axes.set_xticks(np.arange(len(across)) + 0.5, [numbers.factor(at) for at in across])
        axes.set_yticks(np.arange(len(upwards)) + 0.5, [numbers.factor(at) for at in upwards])
        # The field of the study as it is.
        if 1.0 in upwards and 1.0 in across:
            ring = props(marker="o", color=PAPER, markeredgecolor=INK, markersize=7)
            axes.plot(across.index(1.0) + 0.5, upwards.index(1.0) + 0.5, **ring)
        axes.tick_params(length=0)
        axes.set_xlabel(f"{numbers.spoken(frame['across'].iloc[0])}   (ring: the study as it is)")
        axes.set_ylabel(numbers.spoken(frame["upwards"].iloc[0]))
        handles = [
            Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, label=name)
            for name, (colour, hatch) in zip(names, looks, strict=True)
        ]
        above = props(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        columns = max(1, min(4, len(names)))
        axes.legend(handles=handles, fontsize=8, ncols=columns, labelcolor=INK, **above)
        axes.spines[:].set_color(MUTED)
    return axes
