"""Maps of the best scheme: a field for each pair of inputs, coloured by family and lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch, Rectangle

from pqchain import figures
from pqchain.plots import paper
from pqchain.plots.canvas import (
    INK,
    MUTED,
    PAPER,
    canvas,
    figure_of,
    headline,
    require,
    with_notes,
)
from pqchain.plots.marks import HATCHES, chain_of, legend_above, mark_of, props
from pqchain.plots.words import words

TIE = 1.02
"""Ratios below this are no difference, in every figure, as in `bench.comparing`."""

TIE_PERCENT = f"{100 * (TIE - 1):.0f}{figures.NARROW_SPACE}%"

_ALMOST_EQUAL = "\N{ALMOST EQUAL TO}"

TIED = f"{_ALMOST_EQUAL} lead below {TIE_PERCENT}"

_WIDE_LEAD = 2.0  # from this lead on a field has its full colour

Place = tuple[int, int]


def hatches(names: Iterable[str]) -> dict[str, str]:
    """Return the hatching of each scheme, which tells sets of one colour apart, in print all."""
    chosen: dict[str, str] = {}
    for name in names:
        # The strength of a colour is the lead, so that grey would not tell who leads.
        colour = mark_of(name).colour
        same = [other for other in chosen if paper.in_print() or mark_of(other).colour == colour]
        chosen[name] = HATCHES[len(same) % len(HATCHES)]
    return chosen


def handles(cells: Iterable[tuple[str, float]], hatching: Mapping[str, str]) -> list[Patch]:
    """Return the entries of a legend: the schemes that lead somewhere, and ties."""
    leads: dict[str, list[float]] = {}
    for name, lead in cells:
        leads.setdefault(TIED if _is_tie(lead) else name, []).append(_strength(lead))
    schemes = [
        # Not with the alpha of the patch, in which its hatch would be translucent, too.
        Patch(
            facecolor=to_rgba(mark_of(name).colour, max(leads[name])), hatch=hatch,
            edgecolor=PAPER, linewidth=0, label=name,
        )
        for name, hatch in hatching.items()
        if name in leads
    ]  # fmt: skip
    tie = Patch(facecolor=MUTED, alpha=_strength(1.0), linewidth=0, label=TIED)
    return [*schemes, *([tie] if TIED in leads else [])]


def _is_tie(lead: float) -> bool:
    return lead < TIE


def _strength(lead: float) -> float:
    share = min(max((lead - 1) / (_WIDE_LEAD - 1), 0.0), 1.0) if np.isfinite(lead) else 1.0
    # Translucent, so that the text has a contrast of 4.5 on light and on dark pages.
    return 0.2 + 0.25 * share


def draw(
    axes: Axes,
    cells: Mapping[Place, tuple[str, float]],
    hatching: Mapping[str, str],
    cell_inches: tuple[float, float],
) -> list[str]:
    """Draw a field for each cell, the best scheme and its lead over the second (NaN without one).

    The colour is the scheme's, the stronger the greater the lead, and grey for a tie. Leads are
    written if they fit in a cell. Returns the explanations of what is written.
    """
    text, notes = props(ha="center", va="center", color=INK, size=paper.points()), []
    for (x, y), (name, lead) in cells.items():
        colour = MUTED if _is_tie(lead) else mark_of(name).colour
        style = props(color=colour, alpha=_strength(lead), linewidth=0)
        axes.fill_between([x - 0.47, x + 0.47], y - 0.45, y + 0.45, **style)
        label = _ALMOST_EQUAL if _is_tie(lead) else f"{lead:.2f}"
        is_labelled = bool(np.isfinite(lead)) and _is_within(label, cell_inches[0])
        if hatching[name] and not _is_tie(lead):
            hatch = props(facecolor="none", edgecolor=PAPER, hatch=hatching[name], linewidth=0)
            axes.fill_between([x - 0.47, x + 0.47], y - 0.45, y + 0.45, **hatch)
            if is_labelled:
                # Plain behind the digits.
                half = 0.5 * np.divide(_label_inches(label), cell_inches)
                for patch in (props(color=PAPER, linewidth=0), style):
                    axes.fill_between([x - half[0], x + half[0]], y - half[1], y + half[1], **patch)
        if is_labelled:
            axes.text(x, y, label, **text)
            if not _is_tie(lead):
                notes.append("number: lead over the second scheme, as a factor")
        elif np.isfinite(lead):
            notes.append("the stronger the colour, the greater the lead")
    return list(dict.fromkeys(notes))


def _is_within(label: str, inches: float) -> bool:
    return paper.text_inches(label, paper.points()) < 0.95 * inches


def _label_inches(label: str) -> tuple[float, float]:
    """Return the size of a label and of a margin around it."""
    size = paper.points()
    return paper.text_inches(label, size) + 0.3 * size / 72, 1.15 * size / 72


def plot_plane(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the scheme with the highest capacity for each pair of factors of two inputs.

    Takes a frame of `plane`; a column `study`, the title of its plan, is the start of the title. No
    transaction fits in empty cells; an outline marks the unchanged study. The colour is the
    stronger, the greater the margin over the second. Raises DataError, UsageError.
    """
    require(frame, "across upwards across_factor upwards_factor winner capacity_per_second margin")
    fitting = frame[frame["winner"] != ""]
    across, upwards = (sorted(set(frame[f"{name}_factor"])) for name in ("across", "upwards"))
    hatching = hatches(fitting["winner"].value_counts().index)
    with canvas(ax, 1.3 + 0.34 * len(upwards)) as axes:
        places = zip(fitting["across_factor"], fitting["upwards_factor"], strict=True)
        cells = {
            (across.index(x), upwards.index(y)): (name, float(margin))
            for (x, y), name, margin in zip(
                places, fitting["winner"], fitting["margin"], strict=True
            )
        }
        width = float(figure_of(axes).get_size_inches()[0]) - 0.75
        cell = width / len(across), 0.34 * (0.85 if paper.narrow() else 1.0)
        notes = draw(axes, cells, hatching, cell)
        axes.set(xlim=(-0.5, len(across) - 0.5), ylim=(-0.5, len(upwards) - 0.5))
        axes.set_xticks(range(len(across)), map(figures.factor, across))
        axes.set_yticks(range(len(upwards)), map(figures.factor, upwards))
        if 1.0 in upwards and 1.0 in across:
            corner = across.index(1.0) - 0.47, upwards.index(1.0) - 0.45
            outline = props(fill=False, edgecolor=INK, linewidth=1.6, clip_on=False)
            axes.add_patch(Rectangle(corner, 0.94, 0.9, **outline))
        axes.tick_params(length=0)
        label, other = (words(frame[name].iloc[0]) for name in ("across", "upwards"))
        axes.set_ylabel(f"{other}, relative to today")
        label = f"{label} of each scheme, relative to today"
        axes.set_xlabel(with_notes(label, "outlined: today", *notes))
        legend_above(axes, 6, handles(cells.values(), hatching))
        axes.spines[:].set_visible(False)
        headline(axes, ": ".join(filter(None, [chain_of(frame), _finding(frame)])))
    return axes


def _finding(frame: pd.DataFrame) -> str:
    """Return which input decides, if one does alone, and which schemes lead where."""
    if not (frame["winner"] != "").any():
        return "No scheme fits"
    for axis, other in (("across", "upwards"), ("upwards", "across")):
        by_factor = frame.groupby(f"{axis}_factor")["winner"]
        if (by_factor.nunique() > 1).any():
            continue
        winner = by_factor.first()
        starts = winner[winner != winner.shift()]
        best = [name or "none" for name in starts]
        if len(best) == 1:
            return f"Neither input changes the scheme with the highest capacity shown, {best[0]}"
        if len(best) == 2:
            last = winner[winner == winner.iloc[0]].index[-1]
            return (
                f"The {words(frame[axis].iloc[0])} alone decides, not the "
                f"{words(frame[other].iloc[0])}: {best[0]} has the highest capacity shown up to "
                f"{figures.factor(float(last))}, {best[1]} above"
            )
    return _nearest(frame)


def _nearest(frame: pd.DataFrame) -> str:
    """Return the best scheme today, and the smallest change with which another is best."""
    clear = frame[(frame["winner"] != "") & ~(frame["margin"] < TIE)]
    steps = frame[["across_factor", "upwards_factor"]].apply(np.log2).abs().sum(axis=1)
    first = str(frame["winner"].iloc[int(steps.argmin())])
    text = (
        f"Of those shown, {first} has the highest capacity today"
        if first
        else "No scheme fits today"
    )
    others = []
    for name in dict.fromkeys(clear["winner"][clear["winner"] != first]):
        row = frame.loc[steps[clear.index[clear["winner"] == name]].idxmin()]
        changes = [
            f"the {words(row[axis])} {figures.factor(float(row[f'{axis}_factor']))}"
            for axis in ("across", "upwards")
            if row[f"{axis}_factor"] != 1
        ]
        alone = " alone" if len(changes) == 1 else ""
        others.append(f"{name} with {' and '.join(changes)}{alone}")
    return ", ".join([text, *others])
