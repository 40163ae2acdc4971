"""Plots of consensus: published and modelled tables, latency by network, and best schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.plots import paper
from pqchain.plots.canvas import INK, PAPER, canvas, figure_of, look, panels, require
from pqchain.plots.marks import annotate, brief, grid, legend_above, log_ticks, props, with_prefix

_TIE = 1.005  # ratios below this are ties: they would be written as 1.00

_LABELS = {
    "latency": ("latency_seconds", "latency of a transaction"),
    "throughput": ("throughput_per_second", "transactions per second"),
}


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
    with canvas(ax, 3.9) as axes:
        for index, (name, group) in enumerate(cells.groupby("algorithm", sort=False)):
            colour, marker = look(index)
            nodes = group["nodes"].to_numpy(dtype=float)
            ours, printed = (
                nodes**power * group[f"{side}{column}"].to_numpy() for side in ("", "published_")
            )
            axes.plot(nodes, ours, color=colour, linewidth=1.1)
            style = props(linestyle="", marker=marker, markerfacecolor=PAPER, markersize=5.5)
            axes.plot(nodes, printed, color=colour, label=str(name), **style)
            if was_run:
                seen, half = (
                    nodes**power * group[f"run_{column}{end}"].to_numpy()
                    for end in ("", "_half_width")
                )
                _measured(axes, nodes, seen, half, colour, marker)
        _over_nodes(axes, sorted(set(cells["nodes"])), "{:g}".format)
        log_ticks(axes, "y", brief if seconds else "{:g}".format)
        if per_pair:
            fine = (1.0, 2.0, 5.0) if was_run else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
            axes.yaxis.set_major_locator(LogLocator(subs=fine))
            label = f"{label} {'/' if seconds else figures.TIMES} N²"
        drawn = "hollow: printed, lines: modelled, filled: run" if was_run else ""
        drawn = drawn or "markers: printed, lines: modelled"
        axes.set(xlabel=f"nodes N   ({drawn})", ylabel=label)
        legend_above(axes, 3)
    return axes


def plot_computers(runs: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the number of delegates, a line for each number of computers and exchange.

    Takes runs of `pqchain.works.pqdpol.measured`: setting, exchange, nodes, latency_seconds with
    its _half_width, and predicted_latency_seconds, dashed if known. Raises DataError.
    """
    require(runs, "setting exchange nodes latency_seconds latency_seconds_half_width")
    require(runs, "predicted_latency_seconds")
    names = runs["setting"] + ", " + runs["exchange"]
    with canvas(ax, 3.6) as axes:
        for index, (name, group) in enumerate(runs.groupby(names, sort=False)):
            colour, marker = look(index)
            rows = group.sort_values("nodes")
            nodes, seen = rows["nodes"].to_numpy(dtype=float), rows["latency_seconds"].to_numpy()
            half = rows["latency_seconds_half_width"].to_numpy()
            axes.plot(nodes, seen, color=colour, linewidth=1.1, label=str(name))
            _measured(axes, nodes, seen, half, colour, marker)
            law = rows["predicted_latency_seconds"].to_numpy()
            axes.plot(nodes, law, color=colour, linewidth=1.1, linestyle="--")
        _over_nodes(axes, sorted(set(runs["nodes"])), "{:g}".format)
        log_ticks(axes, "y", brief)
        axes.set(xlabel="delegates N   (dashed: predicted)", ylabel="latency of a block")
        legend_above(axes, 2)
    return axes


def plot_networks(laws: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the number of nodes, a line for each kind of network.

    Takes a frame of `pqchain.consensus.landscape.laws`. Solid lines: every node votes; dashed:
    delegates vote. Of several seeds the median is drawn, with a band from least to greatest.
    Raises DataError, and UsageError if nothing ran.
    """
    require(laws, "setting nodes delegates latency_seconds status")
    fine = laws[laws["status"] == "ok"]
    require(fine, "")
    with canvas(ax, 4.4) as axes:
        for index, (name, group) in enumerate(fine.groupby("setting", sort=False)):
            colour, marker = look(index)
            elected = bool((group["delegates"] < group["nodes"]).any())
            seen = group.groupby("nodes")["latency_seconds"].agg(["median", "min", "max", "count"])
            nodes, latency = seen.index.to_numpy(dtype=float), seen["median"].to_numpy()
            if (seen["count"] > 1).any():
                band = props(color=colour, alpha=0.2, linewidth=0)
                axes.fill_between(nodes, seen["min"], seen["max"], **band)
            line = props(linestyle="--" if elected else "-", linewidth=1.2, label=str(name))
            axes.plot(nodes, latency, color=colour, marker=marker, markersize=3.5, **line)
            offset = (6, 0) if not elected else (0, 7) if "regions" in str(name) else (0, -12)
            annotate(axes, str(name), (nodes[-1], latency[-1]), offset, size=8, leftwards=elected)
        low, high = int(fine["nodes"].min()), int(fine["nodes"].max())
        exponents = range(low.bit_length() - 1, high.bit_length())
        step = 1 if len(exponents) < 12 else 2
        _over_nodes(axes, [2**n for n in exponents if n % step == 0], _power)
        log_ticks(axes, "y", _long)
        axes.set_xlabel("nodes   (solid: every node votes; dashed: delegates vote, blocks gossip)")
        axes.set_ylabel("latency of a block, modelled")
    return axes


def plot_winners(winners: pd.DataFrame) -> Figure:
    """Draw maps of the best scheme by bandwidth and number of nodes, one for each criterion.

    Takes a frame of `pqchain.consensus.landscape.winners`. Each square names the best scheme and
    its lead over the second, or the second for a tie. Returns the figure, because it has several
    axes. Raises DataError, UsageError.
    """
    require(winners, "question nodes rate_bits_per_second winner runner_up lead ranked_by amount")
    questions = list(dict.fromkeys(winners["question"]))
    colours = {name: look(index)[0] for index, name in enumerate(sorted(set(winners["winner"])))}
    across = min(1 if paper.narrow() else 2, len(questions))
    down = -(-len(questions) // across)
    rates, nodes = (sorted(set(winners[name])) for name in ("rate_bits_per_second", "nodes"))
    with panels(down, across, 0.5 + down * (0.55 + 0.36 * len(rates))) as squares:
        for axes, question in zip(squares, questions, strict=False):
            cells = winners[winners["question"] == question].to_dict("records")
            for cell in cells:
                x, y = nodes.index(cell["nodes"]), rates.index(cell["rate_bits_per_second"])
                _square(axes, x, y, cell, colours[cell["winner"]])
            axes.set(xlim=(-0.5, len(nodes) - 0.5), ylim=(-0.5, len(rates) - 0.5))
            axes.set_xticks(range(len(nodes)), map(_power, nodes))
            axes.set_yticks(range(len(rates)), map(with_prefix("b/s"), rates))
            axes.tick_params(length=0)
            amount = figures.integer(cells[0]["amount"])
            title = f"lowest latency, {amount} transactions a block"
            if cells[0]["ranked_by"] == "throughput_per_second":
                title = f"highest throughput, blocks of {amount} B"
            axes.set_title(title, size=8, weight="normal", loc="left", color=INK)
        for axes in squares[len(questions) :]:
            axes.set_axis_off()
        for axes in squares[-across:]:
            axes.set_xlabel("nodes")
        for axes in squares[::across]:
            axes.set_ylabel("uplink of a node")
    return figure_of(squares[0])


def _square(axes: Axes, x: int, y: int, cell: dict[Any, Any], colour: str) -> None:
    """Draw a square with the best scheme; translucent colours are readable on dark pages."""
    winner = cell["winner"].partition("-SHA")[0] if paper.narrow() else cell["winner"]
    axes.fill_between([x - 0.5, x + 0.5], y - 0.5, y + 0.5, color=colour, alpha=0.35, linewidth=0)
    lead = ""
    if cell["lead"] >= _TIE:
        lead = f"\n{figures.TIMES}{cell['lead']:.2f}"
    elif cell["runner_up"]:
        lead = f"\n\N{ALMOST EQUAL TO} {cell['runner_up'].partition('-SHA')[0]}"
    axes.text(x, y, f"{winner}{lead}", ha="center", va="center", size=paper.scaled(6.5), color=INK)
    if x:
        axes.plot([x - 0.5, x - 0.5], [y - 0.5, y + 0.5], color=PAPER, linewidth=1)
    if y:
        axes.plot([x - 0.5, x + 0.5], [y - 0.5, y - 0.5], color=PAPER, linewidth=1)


def _measured(axes: Axes, nodes: Any, seen: Any, half: Any, colour: str, marker: str) -> None:
    style = props(linestyle="", marker=marker, markersize=4, elinewidth=0.8, capsize=2)
    axes.errorbar(nodes, seen, yerr=half, color=colour, **style)


def _over_nodes(axes: Axes, nodes: Sequence[int], show: Callable[[float], str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(nodes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    grid(axes)


def _power(nodes: float) -> str:
    exponent = int(nodes).bit_length() - 1
    return f"$2^{{{exponent}}}$" if nodes == 2**exponent else str(int(nodes))


def _long(value: float) -> str:
    return brief(value) if value < 1 else f"{figures.integer(value)}{figures.NARROW_SPACE}s"
