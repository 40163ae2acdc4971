"""Placement of the names of points and walls, which overlap neither marks nor each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pqchain.plots import paper
from pqchain.plots.canvas import figure_of
from pqchain.plots.marks import annotate, mark_of
from pqchain.render.terminal import at_hyphens

_SIDES = np.array(
    [(8, 0), (-8, 0), (0, 11), (0, -11), (8, 9), (-8, 9), (8, -9), (-8, -9), (8, 17), (8, -17)]
)
"""Offsets of a label in points, in order of preference."""

_Placed = tuple[Any, Any, float]
"""Offset, box (both in points), and cost of a name's side."""


def label_points(
    axes: Axes, points: dict[str, tuple[float, float]], lines: Sequence[Any] = ()
) -> None:
    """Write the name of each point on the side where it overlaps least; axes are logarithmic.

    `lines` are arrays of points of lines that names should not cross.
    """
    size, figure = paper.points(), figure_of(axes)
    figure.draw_without_rendering()
    extent = np.array(axes.get_window_extent().size) * 72 / figure.dpi
    low, high = np.log10([axes.get_xlim(), axes.get_ylim()]).T
    centres = (np.log10([*points.values()]) - low) / (high - low) * extent
    along = (np.log10(np.vstack([np.empty((0, 2)), *lines])) - low) / (high - low) * extent
    # Once per 3 points, so that the cost of a crossing does not depend on how a line is sampled.
    along = 3 * np.unique(np.round(along / 3), axis=0)
    starts, ends = np.vstack([centres - 6, along - 1.5]), np.vstack([centres + 6, along + 1.5])
    names = [at_hyphens(paper.shortened(name), 13) if paper.narrow() else name for name in points]
    sizes = [
        (72 * max(paper.text_inches(row, size) for row in rows) + 6, 1.2 * size * len(rows))
        for rows in (name.split("\n") for name in names)
    ]

    def choose(index: int, placed: dict[int, _Placed]) -> _Placed:
        """Return the side with the least overlap with marks, lines and names placed already."""
        label = np.array(sizes[index])
        sides = _SIDES + np.sign(_SIDES) * [0, (label[1] - 1.2 * size) / 2]
        lowest = centres[index] + sides + np.sign(sides) * [label[0] / 2, 0] - label / 2
        highest = lowest + label  # boxes in points, not data: both axes are logarithmic
        boxes = np.array([box for other, (_, box, _) in placed.items() if other != index])
        boxes = boxes.reshape(-1, 2, 2)
        is_other = np.arange(len(starts)) != index
        first = np.maximum(lowest[:, None], np.vstack([starts[is_other], boxes[:, 0]]))
        last = np.minimum(highest[:, None], np.vstack([ends[is_other], boxes[:, 1]]))
        cost = (last - first).clip(min=0).prod(axis=2).sum(axis=1)
        outside = (np.maximum(0, -lowest) + np.maximum(0, highest - extent)).sum(axis=1)
        cost += 20 * outside + np.arange(len(_SIDES))  # of equal ones the preferred
        best = int(np.argmin(cost))
        return sides[best], np.stack([lowest[best], highest[best]]), float(cost[best])

    trials: list[dict[int, _Placed]] = []
    # From every name on, as the first names know none of the others and take their room.
    for begin in range(len(names)):
        placed: dict[int, _Placed] = {}
        for index in [*range(begin, len(names)), *range(begin)] * 3:
            placed[index] = choose(index, placed)
        trials.append(placed)
    best = min(trials, key=lambda trial: sum(cost for *_, cost in trial.values()))
    for index, (name, point) in enumerate(zip(names, points.values(), strict=True)):
        annotate(axes, name, point, best[index][0], size=size)


def name_walls(axes: Axes, ends: list[tuple[float, float, str]]) -> None:
    """Draw the wall of each scheme with its name on top, above the walls and names right of it.

    `ends` are (capacity, latency at the end of the curve, name).
    """
    figure, size = figure_of(axes), paper.points()
    figure.draw_without_rendering()
    box, to_points = axes.get_window_extent(), 72 / figure.dpi
    low, high = np.log10(axes.get_ylim())
    width, height, line = box.width * to_points, box.height * to_points, 1.4 * size
    names = {name: paper.shortened(name) if paper.narrow() else name for *_, name in ends}
    lengths = {name: 72 * paper.text_inches(text, size) + 8 for name, text in names.items()}
    # Names start at their walls, and the axis ends after the last name.
    first, last = np.log10(axes.get_xlim())
    for wall, _, name in ends:
        share = 1 - lengths[name] / width
        last = max(last, first + (np.log10(wall) - first) / max(share, 0.3))
    axes.set_xlim(right=10.0**last)
    # The names take room above the curves, so that the scale must be found by steps.
    for _ in range(20):
        tops: list[tuple[float, float]] = []  # left end and top in points
        walls: list[tuple[float, float, float, str, str]] = []
        for wall, latency, name in sorted(ends, reverse=True):
            left = (np.log10(wall) - first) / (last - first) * width
            right = left + lengths[name]
            start = (np.log10(latency) - low) / (high - low) * height
            place = max([start + 0.5 * line, *(top for other, top in tops if other < right)])
            tops.append((left, place + line))
            end = 10.0 ** (low + place / height * (high - low))
            walls.append((wall, latency, end, names[name], mark_of(name).colour))
        most = max(top for _, top in tops)
        if most <= height:
            break
        high = low + (high - low) * 1.03 * most / height
    axes.set_ylim(top=10.0**high)
    for wall, latency, end, text, colour in walls:
        axes.vlines(wall, latency, end, color=colour, linewidth=0.9, linestyle=":")
        annotate(axes, text, (wall, end), (1, 0.8 * size))
