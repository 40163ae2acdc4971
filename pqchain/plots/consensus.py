"""Plots of consensus: published and modelled tables, latency by network, and best schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import SECONDS, Kind
from pqchain.plots import fields, paper
from pqchain.plots.canvas import (
    INK,
    PAPER,
    canvas,
    figure_of,
    headline,
    label_below,
    look,
    panel_title,
    panels,
    require,
    with_notes,
)
from pqchain.plots.marks import (
    DASHES,
    HOLLOW,
    INTERVAL,
    brief,
    change,
    dashes,
    grid,
    label_ends,
    legend_above,
    log_ticks,
    mark_of,
    props,
    times,
    with_prefix,
)
from pqchain.plots.words import explained, words

_LABELS = {
    "latency": ("latency_seconds", "latency of a transaction"),
    "throughput": ("throughput_per_second", "transactions per second"),
}

_OTHER_SETS = {"s": "Dv", "^": "<"}
"""Marks of further sets of a family, by the mark of the family."""


def plot_cells(
    cells: pd.DataFrame,
    quantity: str = "latency",
    *,
    per_pair: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw Table 5 or 6 of the PQ-DPoL paper: published values as markers, modelled as lines.

    Runs are filled markers with 95 % intervals, if the frame has run_<quantity> and its _half_width
    from `pqchain.works.pqdpol.measured.with_runs`. `per_pair` divides latencies by N^2 and
    multiplies throughputs by it, which separates the schemes and shows a law of N^2 as level lines.
    Takes a frame with the columns algorithm, nodes, <quantity> and published_<quantity>. Raises
    DataError, and UsageError for another quantity.
    """
    if quantity not in _LABELS:
        raise UsageError(f"quantity must be one of {', '.join(_LABELS)}; got {quantity!r}")
    column, label = _LABELS[quantity]
    require(cells, f"algorithm nodes {column} published_{column}")
    seconds, was_run = quantity == "latency", f"run_{column}" in cells
    power = (-2.0 if seconds else 2.0) if per_pair else 0.0
    names = list(dict.fromkeys(cells["algorithm"]))
    lines, ends = dashes(names), []
    # Marks are larger in a narrow plot, compared with the distance of two numbers of nodes.
    step, points = (0.11, 4.5) if paper.narrow() else (0.07, 5.0)
    with canvas(ax, 4.2) as axes:
        for index, (name, group) in enumerate(cells.groupby("algorithm", sort=False)):
            mark = mark_of(str(name))
            nodes = group["nodes"].to_numpy(dtype=float)
            # Lines are moved with their marks: marks beside a line would look like its error.
            places = nodes * 2 ** (step * (index - (len(names) - 1) / 2))
            ours, printed = (
                nodes**power * group[f"{side}{column}"].to_numpy() for side in ("", "published_")
            )
            axes.plot(places, ours, color=mark.colour, linewidth=1.3, linestyle=lines[str(name)])
            if per_pair:
                axes.vlines(places, ours, printed, color=mark.colour, linewidth=0.8)
            # Sets of a family have different marks, which may be between two lines.
            markers = mark.marker + _OTHER_SETS.get(mark.marker, "")
            marker = markers[DASHES.index(lines[str(name)]) % len(markers)]
            style = mark.style(points, is_published=True)
            style |= props(marker=marker, linestyle="", label=str(name))
            axes.plot(places, printed, **style)
            if was_run:
                seen, half = (
                    nodes**power * group[f"run_{column}{end}"].to_numpy()
                    for end in ("", "_half_width")
                )
                _measured(axes, places, seen, half, mark.colour, marker)
            ends.append((str(name), (float(places[-1]), float(ours[-1]))))
        _over_nodes(axes, sorted(set(cells["nodes"])), "{:g}".format)
        log_ticks(axes, "y", brief if seconds else "{:g}".format)
        if per_pair:
            fine = (1.0, 2.0, 5.0) if was_run else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
            axes.yaxis.set_major_locator(LogLocator(subs=fine))
            label = f"{label} {'/' if seconds else figures.TIMES} N²"
        notes = [HOLLOW, "line: model fitted to the published latencies"]
        notes += ["filled mark: run", INTERVAL] if was_run else []
        notes += ["level line: proportional to N²"] if per_pair else []
        notes += ["schemes are moved apart sideways"]
        axes.set(xlabel=with_notes("nodes N", *notes), ylabel=label)
        fitted = _errors(cells, column) if per_pair else ""
        headline(axes, fitted or _best_cell(cells, column, seconds))
        label_ends(axes, ends, gap=12, clear=6.5)
    return axes


def _errors(cells: pd.DataFrame, column: str) -> str:
    """Return how far published values are from the model, and the one that is much farther."""
    error = 100 * (cells[f"published_{column}"] / cells[column] - 1).dropna()
    ordered = error.abs().sort_values()
    if len(ordered) < 2:
        return ""
    what = column.partition("_")[0]
    outlier = ordered.index[-1] if ordered.iloc[-1] > 3 * ordered.iloc[-2] else None
    within = ordered.iloc[-1 if outlier is None else -2]
    within = figures.percent(float(np.ceil(within)), 0, sign=False)
    text = f"Published {what} is within {within} of the model"
    if outlier is not None:
        row, far = cells.loc[outlier], change(error[outlier], 0)
        text += f", but for {row['algorithm']} with {row['nodes']} nodes ({far})"
    return text


def _best_cell(cells: pd.DataFrame, column: str, seconds: bool) -> str:
    most = cells[cells["nodes"] == cells["nodes"].max()].set_index("algorithm")
    printed = most[f"published_{column}"].dropna().sort_values(ascending=seconds)
    if len(printed) < 2:
        return ""
    best, last = printed.index[0], printed.index[-1]
    what, order = ("latency", "lowest") if seconds else ("throughput", "highest")
    text = f"{int(cells['nodes'].max())} nodes: {best} has the {order} published {what} shown, "
    ratio = times(max(printed.iloc[0], printed.iloc[-1]) / min(printed))
    text += f"{last} takes {ratio} as long" if seconds else f"{ratio} that of {last}"
    if f"run_{column}" in most and most[f"run_{column}"].notna().any():
        here = most[f"run_{column}"].dropna()
        text += f"; run here: {here.idxmin() if seconds else here.idxmax()}"
    return text


def plot_computers(runs: pd.DataFrame) -> Figure:
    """Draw latency over the number of delegates: a panel for each exchange, lines by setting.

    Takes runs of `pqchain.works.pqdpol.measured`: setting, exchange, nodes, latency_seconds with
    its _half_width, and predicted_latency_seconds, dashed if known; with a column `kind`, settings
    in virtual time are named as simulated. Returns the figure, because it has several axes. Raises
    DataError.
    """
    require(runs, "setting exchange nodes latency_seconds latency_seconds_half_width")
    require(runs, "predicted_latency_seconds")
    is_simulated = runs["kind"] == Kind.REPLAYED if "kind" in runs else pd.Series(False, runs.index)
    labels = runs["setting"].map(words)
    runs = runs.assign(setting=labels.where(~is_simulated, labels + " (simulated)"))
    settings, exchanges = (list(dict.fromkeys(runs[name])) for name in ("setting", "exchange"))
    markers = dict(zip(exchanges, "os^D", strict=False))
    of_run = runs["predicted_latency_seconds"] / runs["latency_seconds"]
    # Lines and whiskers that cannot be seen are not explained.
    differs = bool(((of_run - 1).abs() > 0.02).any())
    is_wide = (runs["latency_seconds_half_width"] > 0.05 * runs["latency_seconds"]).any()
    count = len(exchanges)
    down, across = (count, 1) if paper.narrow() else (1, count)
    with panels(down, across, 2.8 * down + 1.0) as all_axes:
        for (setting, exchange), group in runs.groupby(["setting", "exchange"], sort=False):
            axes = all_axes[exchanges.index(exchange)]
            place, marker = settings.index(setting), markers[exchange]
            colour = look(place)[0]
            rows = group.sort_values("nodes")
            # Moved apart, because latencies of few delegates are nearly equal.
            aside = 2 ** (0.05 * (place - (len(settings) - 1) / 2))
            nodes = rows["nodes"].to_numpy(dtype=float) * aside
            seen = rows["latency_seconds"].to_numpy()
            axes.plot(nodes, seen, color=colour, linewidth=1.3, label=f"{setting}, {exchange}")
            _measured(axes, nodes, seen, rows["latency_seconds_half_width"], colour, marker)
            # With marks, which tell dashed lines of one colour apart.
            style = props(linewidth=1.1, linestyle="--", marker=marker, markersize=3.2)
            style |= props(markerfacecolor=PAPER, zorder=4)
            axes.plot(nodes, rows["predicted_latency_seconds"], color=colour, **style)
        for axes, exchange in zip(all_axes, exchanges, strict=True):
            _over_nodes(axes, sorted(set(runs["nodes"])), "{:g}".format)
            log_ticks(axes, "y", brief)
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            if count > 1:
                panel_title(axes, exchange)
        limits = np.array([axes.get_ylim() for axes in all_axes])
        for axes in all_axes:
            axes.set_ylim(limits.min(), limits.max())
        counts = set(runs.get("heights", []))
        blocks = f" of the mean of {counts.pop()} blocks" if len(counts) == 1 else ""
        least, most = (figures.significant(end, 2) for end in (of_run.min(), of_run.max()))
        label = with_notes(
            "delegates N", f"{INTERVAL}{blocks}" if is_wide else "",
            f"model: {least} to {most} times the run" if differs else "",
            "lines are moved apart sideways", *explained(*exchanges),
        )  # fmt: skip
        label_below(all_axes, across, label)
        for axes in all_axes[::across]:
            axes.set_ylabel("latency of a block")
        run = "run" if count > 1 else f"{exchanges[0]}, run"
        ink = props(color=INK, marker=markers[exchanges[0]])
        modelled = props(linewidth=1.1, linestyle="--", markerfacecolor=PAPER, markersize=3.2)
        legend_above(all_axes[0], 3, [
            *(Line2D([], [], color=look(at)[0], linewidth=4, solid_capstyle="butt", label=name)
              for at, name in enumerate(settings)),
            Line2D([], [], linewidth=1.3, label=run, markersize=5, **ink),
            *([Line2D([], [], label="model", **ink, **modelled)] if differs else []),
        ])  # fmt: skip
        headline(all_axes[0], _slowest(runs))
    return figure_of(all_axes[0])


def _slowest(runs: pd.DataFrame) -> str:
    """Return the greatest ratio of two exchanges in one setting, or else of two settings."""
    most = runs[runs["nodes"] == runs["nodes"].max()].reset_index()
    by, alike = "exchange", "setting"
    if most["exchange"].nunique() == 1:
        by, alike = alike, by
    ends = most.groupby(alike)["latency_seconds"].agg(["max", "min", "idxmax", "idxmin"])
    greatest = ends.loc[(ends["max"] / ends["min"]).idxmax()]
    if not greatest["max"] > greatest["min"] > 0:
        return ""
    slow, fast = (most.loc[greatest[end]] for end in ("idxmax", "idxmin"))
    ratio = times(greatest["max"] / greatest["min"])
    start = f"With {most['nodes'].iloc[0]} delegates"
    if by == "exchange":
        text = f"{start} and {slow['setting']}, {slow['exchange']} takes {ratio} as long as "
        return text + str(fast["exchange"])
    text = f"{start}, {slow['exchange']} takes {ratio} as long with {slow['setting']} as with "
    return text + str(fast["setting"])


def plot_networks(laws: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the number of nodes, a line for each kind of network.

    Takes a frame of `pqchain.consensus.landscape.laws`. Solid lines: every node votes; dashed:
    delegates vote. Of several seeds the median is drawn, with a whisker from least to greatest.
    Raises DataError, and UsageError if nothing ran.
    """
    require(laws, "setting nodes delegates latency_seconds status")
    fine = laws[laws["status"] == "ok"]
    require(fine, "")
    fine = fine.assign(setting=fine["setting"].map(words))
    ends: list[tuple[str, tuple[float, float]]] = []
    seeds, repeated = 1, 0
    with canvas(ax, 4.6) as axes:
        for index, (name, group) in enumerate(fine.groupby("setting", sort=False)):
            colour, marker = look(index)
            elected = bool((group["delegates"] < group["nodes"]).any())
            seen = group.groupby("nodes")["latency_seconds"].agg(["median", "min", "max", "count"])
            nodes, latency = seen.index.to_numpy(dtype=float), seen["median"].to_numpy()
            if (seen["count"] > 1).any():
                # Moved apart, because regions decide the latency of few nodes on all networks.
                nodes *= 2 ** (0.12 * (-1) ** repeated)
                style = props(color=colour, linewidth=1.2)
                axes.vlines(nodes, seen["min"], seen["max"], **style)
                repeated += 1
                seeds = max(seeds, int(seen["count"].max()))
            line = props(linestyle="--" if elected else "-", linewidth=1.4, label=str(name))
            axes.plot(nodes, latency, color=colour, marker=marker, markersize=4, **line)
            ends.append((str(name), (float(nodes[-1]), float(latency[-1]))))
        low, high = int(fine["nodes"].min()), int(fine["nodes"].max())
        exponents = range(low.bit_length() - 1, high.bit_length())
        step = 1 if len(exponents) < 12 and not paper.narrow() else 2
        show = figures.integer if len(exponents) < 12 else _power
        _over_nodes(axes, [2**n for n in exponents if n % step == 0], show)
        log_ticks(axes, "y", _long)
        axes.set_xlabel(with_notes(
            "number of nodes", "solid: every node votes", "dashed: delegates vote",
            f"whisker: range of {seeds} random placements of the nodes" if seeds > 1 else "",
            "lines with whiskers are moved apart sideways" if repeated > 1 else "",
        ))  # fmt: skip
        axes.set_ylabel("latency of a block, modelled")
        headline(axes, _growth(fine))
        label_ends(axes, ends)
    return axes


def _growth(fine: pd.DataFrame) -> str:
    """Return which kinds of network have the lowest and highest latency at most common nodes."""
    by_nodes = fine.groupby("nodes")["setting"].nunique()
    shared = by_nodes[by_nodes == by_nodes.max()].index.max()
    latency = fine[fine["nodes"] == shared].groupby("setting")["latency_seconds"].median()
    if len(latency) < 2:
        return ""
    low, high = latency.idxmin(), latency.idxmax()
    ratio = times(latency[high] / latency[low])
    schemes = "".join(f"{name} and " for name in [*fine.get("algorithm", [])][:1])
    return (
        f"With {schemes}{figures.integer(shared)} nodes, a block takes "
        f"{SECONDS.text(latency[low], 2)} over {low}, and {ratio} as long over {high}"
    )


def plot_winners(winners: pd.DataFrame) -> Figure:
    """Draw maps of the best scheme by bandwidth and number of nodes, one for each criterion.

    Takes a frame of `pqchain.consensus.landscape.winners`. The colour of a square is the family of
    the best scheme, the stronger the greater its lead over the second, and grey for a tie; squares
    with room have the lead. Returns the figure, because it has several axes. Raises DataError,
    UsageError.
    """
    require(winners, "question nodes rate_bits_per_second winner runner_up lead ranked_by amount")
    questions = list(dict.fromkeys(winners["question"]))
    across = min(2, len(questions))
    down = -(-len(questions) // across)
    rates, nodes = (sorted(set(winners[name])) for name in ("rate_bits_per_second", "nodes"))
    hatches = fields.hatches(winners["winner"].value_counts().index)
    row_inches = 0.2 if paper.narrow() else 0.26
    notes: dict[str, None] = {}
    with panels(down, across, 1.3 + down * (0.55 + row_inches * len(rates))) as squares:
        width = float(figure_of(squares[0]).get_size_inches()[0])
        every: list[tuple[str, float]] = []
        for axes, question in zip(squares, questions, strict=False):
            rows = winners[winners["question"] == question].to_dict("records")
            cells = {
                (nodes.index(row["nodes"]), rates.index(row["rate_bits_per_second"])): (
                    row["winner"], row["lead"],
                )
                for row in rows
            }  # fmt: skip
            every += cells.values()
            cell = (width - 0.9) / across / len(nodes), row_inches
            notes |= dict.fromkeys(fields.draw(axes, cells, hatches, cell))
            axes.set(xlim=(-0.5, len(nodes) - 0.5), ylim=(-0.5, len(rates) - 0.5))
            axes.set_xticks(range(len(nodes)), map(str, nodes))
            axes.set_yticks(range(len(rates)), map(with_prefix("b/s"), rates))
            axes.tick_params(length=0, labelleft=axes in squares[::across])
            axes.spines[:].set_visible(False)
            panel_title(axes, _goal(rows[0], "\n" if paper.narrow() else " "))
        for axes in squares[len(questions) :]:
            axes.set_axis_off()
        figure_of(squares[0]).supxlabel(with_notes("nodes", *notes), size=paper.points())
        for axes in squares[::across]:
            axes.set_ylabel("uplink of a node")
        legend_above(squares[0], 3, fields.handles(every, hatches))
        headline(squares[0], _leaders(winners))
    return figure_of(squares[0])


def _goal(row: Any, space: str = " ") -> str:
    """Return by what a row of a contest ranks schemes."""
    if row["ranked_by"] == "throughput_per_second":
        return f"throughput with{space}blocks of {with_prefix('B')(row['amount'])}"
    return f"latency of{space}{figures.integer(row['amount'])} transactions"


def _leaders(winners: pd.DataFrame) -> str:
    """Return the scheme that leads most networks, and where another does."""
    first = winners["winner"].value_counts().index[0]
    others = winners[(winners["winner"] != first) & ~(winners["lead"] < fields.TIE)]
    if others.empty:
        return f"{first} leads or ties in all networks shown"
    goals = dict.fromkeys(map(_goal, others.to_dict("records")))
    rates = sorted(set(others["rate_bits_per_second"]))
    rate = with_prefix("b/s")(rates[0]) + ("" if len(rates) == 1 else " and more")
    names = " and ".join(dict.fromkeys(others["winner"]))
    is_there = winners["question"].isin(others["question"])
    there = winners[is_there & (winners["rate_bits_per_second"] >= rates[0])]
    verb = "leads" if len(there) == len(others) and " and " not in names else "can lead"
    goal = " and ".join(goals)
    return f"{first} leads or ties, except at {rate} in {goal}, where {names} {verb}"


def _measured(axes: Axes, nodes: Any, seen: Any, half: Any, colour: str, marker: str) -> None:
    style = props(linestyle="", marker=marker, markersize=5, elinewidth=1.0, capsize=2)
    axes.errorbar(nodes, seen, yerr=half, color=colour, **style)


def _over_nodes(axes: Axes, nodes: Sequence[int], show: Callable[[float], str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(nodes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    grid(axes)


def _power(nodes: float) -> str:
    return f"$2^{{{int(nodes).bit_length() - 1}}}$"


def _long(value: float) -> str:
    return brief(value) if value < 1 else f"{figures.integer(value)}{figures.NARROW_SPACE}s"
