"""Maps of the best scheme: a field for each pair of inputs, coloured by family and lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from pqchain import figures
from pqchain.plots import paper
from pqchain.plots.canvas import INK, PAPER
from pqchain.plots.marks import HATCHES, at_hyphens, mark_of, props

_TIE = 1.005  # ratios below this are ties: they would be written as 1.00

_WIDE_LEAD = 2.0  # from this lead on a field has its full colour

NOTES = ("number: lead over the second scheme", "\N{ALMOST EQUAL TO}: tie")

Place = tuple[int, int]


def hatches(names: Iterable[str]) -> dict[str, str]:
    """Return the hatching of each scheme, which tells sets of one colour apart."""
    chosen: dict[str, str] = {}
    for name in names:
        same = [other for other in chosen if mark_of(other).colour == mark_of(name).colour]
        chosen[name] = HATCHES[len(same) % len(HATCHES)]
    return chosen


def handles(hatching: Mapping[str, str]) -> list[Patch]:
    """Return the entries of a legend: the schemes, and how strong the colour is for some leads."""
    schemes = [
        Patch(facecolor=mark_of(name).colour, hatch=hatch, edgecolor=PAPER, label=name)
        for name, hatch in hatching.items()
    ]
    leads = [
        Patch(facecolor=INK, alpha=_strength(lead), linewidth=0, label=label)
        for lead, label in (
            (1.0, f"lead {figures.TIMES}1"),
            (1.5, f"{figures.TIMES}1.5"),
            (_WIDE_LEAD, f"{figures.TIMES}{_WIDE_LEAD:g} or more"),
        )
    ]
    return schemes + leads


def _strength(lead: float) -> float:
    share = min(max((lead - 1) / (_WIDE_LEAD - 1), 0.0), 1.0) if np.isfinite(lead) else 1.0
    # Translucent, so that the text is readable on light and on dark pages.
    return 0.16 + 0.5 * share


def draw(axes: Axes, cells: Mapping[Place, tuple[str, float]], hatching: Mapping[str, str]) -> None:
    """Draw a field for each cell, the best scheme and its lead over the second (NaN without one).

    The colour is the stronger, the greater the lead. A scheme is named once, and leads are written
    where the best scheme of a neighbour is another.
    """
    named = {name: _middle(cells, name) for name in {name for name, _ in cells.values()}}
    text = props(ha="center", va="center", color=INK, size=paper.points())
    for (x, y), (name, lead) in cells.items():
        style = props(color=mark_of(name).colour, alpha=_strength(lead), linewidth=0)
        axes.fill_between([x - 0.47, x + 0.47], y - 0.45, y + 0.45, **style)
        if hatching[name]:
            style = props(facecolor="none", edgecolor=PAPER, hatch=hatching[name], linewidth=0)
            axes.fill_between([x - 0.47, x + 0.47], y - 0.45, y + 0.45, **style)
        around = [cells.get(place) for place in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))]
        if named[name] == (x, y):
            axes.text(x, y, at_hyphens(name.partition("-SHA")[0], 8), **text)
        elif any(other is not None and other[0] != name for other in around):
            if lead >= _TIE:
                axes.text(x, y, f"{figures.TIMES}{lead:.2f}", **text)
            elif np.isfinite(lead):
                axes.text(x, y, "\N{ALMOST EQUAL TO}", **text)


def _middle(cells: Mapping[Place, tuple[str, float]], name: str) -> Place:
    places = np.array([place for place, cell in cells.items() if cell[0] == name])
    distance = np.abs(places - places.mean(axis=0)).sum(axis=1)
    x, y = places[int(distance.argmin())]
    return int(x), int(y)
