"""Maps of the best scheme by bandwidth and number of nodes, coloured by family and lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pqchain import figures
from pqchain.plots import canvas, marks
from pqchain.plots.marks import props

_TIED = f"\N{ALMOST EQUAL TO} lead below {marks.TIE_PERCENT}"

_WIDE_LEAD = 2.0  # from this lead on a field has its full colour

_LEAD = "number: lead over the second scheme, as a factor"


def plot_winners(winners: pd.DataFrame) -> Figure:
    """Draw maps of the best scheme by bandwidth and number of nodes, one for each criterion.

    Takes a frame of `pqchain.consensus.landscape.winners`. The colour of a square is the family of
    the best scheme, the stronger the greater its lead over the second, and grey for a tie; squares
    with room have the lead. Returns the figure, because it has several axes. Raises DataError,
    UsageError.
    """
    columns = "question nodes rate_bits_per_second winner runner_up lead ranked_by amount"
    canvas.require(winners, columns)
    questions = list(dict.fromkeys(winners["question"]))
    across = min(2, len(questions))
    down = -(-len(questions) // across)
    rates, nodes = (sorted(set(winners[name])) for name in ("rate_bits_per_second", "nodes"))
    hatches = _hatches(winners["winner"].value_counts().index)
    every: list[tuple[str, float]] = []
    step = 2 if len(nodes) > (4 if canvas.narrow() else 6) else 1
    row_inches = 0.2 if canvas.narrow() else 0.26
    with canvas.panels(down, across, 1.3 + down * (0.55 + row_inches * len(rates))) as squares:
        has_room = (canvas.figure_inches() - 0.9) / across / len(nodes) > 0.036 * canvas.points()
        for axes, question in zip(squares, questions, strict=False):
            rows = winners[winners["question"] == question].to_dict("records")
            cells = {
                (nodes.index(row["nodes"]), rates.index(row["rate_bits_per_second"])): (
                    str(row["winner"]), float(row["lead"])
                )
                for row in rows
            }  # fmt: skip
            every += cells.values()
            _draw(axes, cells, hatches, has_room=has_room)
            axes.set_xticks(range(0, len(nodes), step), map(str, nodes[::step]))
            axes.set_yticks(range(len(rates)), map(marks.with_prefix("b/s"), rates))
            axes.tick_params(labelleft=axes in squares[::across])
            canvas.panel_title(axes, _goal(rows[0], "\n" if canvas.narrow() else " "))
        for axes in squares[len(questions) :]:
            axes.set_axis_off()
        for axes in squares[-across:]:
            canvas.x_label(axes, "nodes", _LEAD if has_room else "stronger colour: greater lead")
        for axes in squares[::across]:
            axes.set_ylabel("uplink of a node")
        canvas.legend_above(squares[0], 3, _handles(every, hatches))
        counts = winners["winner"].value_counts()
        text = f"{counts.index[0]} has the lead in {counts.iloc[0]} of {len(winners)} cases shown"
        canvas.headline(squares[0], text)
    return canvas.figure_of(squares[0])


def _goal(row: Any, space: str = " ") -> str:
    """Return by what a row of a contest ranks schemes."""
    if row["ranked_by"] == "throughput_per_second":
        return f"throughput with{space}blocks of {marks.with_prefix('B')(row['amount'])}"
    return f"latency of{space}{figures.integer(row['amount'])} transactions"


def _hatches(names: Iterable[str]) -> dict[str, str]:
    """Return the hatching of each scheme, which tells sets of one colour apart, in print all."""
    chosen: dict[str, str] = {}
    for name in names:
        # The strength of a colour is the lead, so that grey would not tell who leads.
        colour = marks.mark_of(name).colour
        is_alike = [canvas.in_print() or marks.mark_of(it).colour == colour for it in chosen]
        chosen[name] = marks.HATCHES[sum(is_alike) % len(marks.HATCHES)]
    return chosen


def _handles(cells: Iterable[tuple[str, float]], hatching: Mapping[str, str]) -> list[Patch]:
    """Return the entries of a legend: the schemes that lead somewhere, and ties."""
    leads: dict[str, float] = {}
    for name, lead in cells:
        key = _TIED if lead < marks.TIE else name
        leads[key] = max(leads.get(key, 0.0), _strength(lead))
    # Not with the alpha of the patch, in which its hatch would be translucent, too.
    entries = {name: (marks.mark_of(name).colour, hatch) for name, hatch in hatching.items()}
    entries[_TIED] = (canvas.MUTED, "")
    outline = props(edgecolor=canvas.PAPER, linewidth=0)
    return [
        Patch(facecolor=to_rgba(colour, leads[name]), hatch=hatch, label=name, **outline)
        for name, (colour, hatch) in entries.items()
        if name in leads
    ]


def _strength(lead: float) -> float:
    share = min(max((lead - 1) / (_WIDE_LEAD - 1), 0.0), 1.0) if np.isfinite(lead) else 1.0
    # Translucent, so that the text has a contrast of 4.5 on light and on dark pages.
    return 0.2 + 0.25 * share


def _draw(
    axes: Axes,
    cells: Mapping[tuple[int, int], tuple[str, float]],
    hatching: Mapping[str, str],
    *,
    has_room: bool,
) -> None:
    """Draw a field for each cell, the best scheme and its lead over the second (NaN without one).

    The colour is the scheme's, the stronger the greater the lead, and grey for a tie. Leads are
    written if there is room for them.
    """
    text = props(ha="center", va="center", color=canvas.INK, size=canvas.points())
    for (x, y), (name, lead) in cells.items():
        is_tie = lead < marks.TIE
        colour = canvas.MUTED if is_tie else marks.mark_of(name).colour
        field = [x - 0.47, x + 0.47], y - 0.45, y + 0.45
        axes.fill_between(*field, color=colour, alpha=_strength(lead), linewidth=0)
        if hatching[name] and not is_tie:
            hatch = props(facecolor="none", edgecolor=canvas.PAPER, hatch=hatching[name])
            axes.fill_between(*field, linewidth=0, **hatch)
        if has_room and np.isfinite(lead):
            # Plain behind the digits.
            plain = props(pad=1, edgecolor="none", facecolor=canvas.PAPER, alpha=0.75)
            box = props(bbox=plain) if hatching[name] and not is_tie else {}
            axes.text(x, y, "\N{ALMOST EQUAL TO}" if is_tie else f"{lead:.2f}", **text, **box)
    axes.set_xlim(min(x for x, _ in cells) - 0.5, max(x for x, _ in cells) + 0.5)
    axes.set_ylim(min(y for _, y in cells) - 0.5, max(y for _, y in cells) + 0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
