"""Plots of consensus: published and modelled tables, latency by network, certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.plots import canvas, marks
from pqchain.plots.marks import props

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
    canvas.require(cells, f"algorithm nodes {column} published_{column}")
    seconds, was_run = quantity == "latency", f"run_{column}" in cells
    power = (-2.0 if seconds else 2.0) if per_pair else 0.0
    names = list(dict.fromkeys(cells["algorithm"]))
    lines, ends = marks.dashes(names), []
    with canvas.canvas(ax, 4.2) as axes:
        for index, (name, group) in enumerate(cells.groupby("algorithm", sort=False)):
            mark = marks.mark_of(str(name))
            nodes = group["nodes"].to_numpy(dtype=float)
            # Lines are moved with their marks: marks beside a line would look like its error.
            places = nodes * 2 ** (0.07 * (index - (len(names) - 1) / 2))
            ours, printed = (
                nodes**power * group[f"{side}{column}"].to_numpy() for side in ("", "published_")
            )
            axes.plot(places, ours, color=mark.colour, linewidth=1.3, linestyle=lines[str(name)])
            # Sets of a family have different marks, which may be between two lines.
            markers = mark.marker + _OTHER_SETS.get(mark.marker, "")
            marker = markers[marks.DASHES.index(lines[str(name)]) % len(markers)]
            style = mark.style(5, is_published=True) | props(marker=marker, linestyle="")
            axes.plot(places, printed, label=str(name), **style)
            if was_run:
                run = [f"run_{column}", f"run_{column}_half_width"]
                seen, half = (nodes**power * group[name].to_numpy() for name in run)
                _measured(axes, places, seen, half, mark.colour, marker)
            ends.append((str(name), (float(places[-1]), float(ours[-1]))))
        _over_nodes(axes, sorted(set(cells["nodes"])), "{:g}".format)
        marks.log_ticks(axes, "y", marks.brief if seconds else "{:g}".format)
        notes = [marks.HOLLOW, "line: model fitted to the published latencies"]
        notes += ["filled mark: run", marks.INTERVAL] if was_run else []
        if per_pair:
            label = f"{label} {'/' if seconds else figures.TIMES} N²"
            notes.append("level line: proportional to N²")
        canvas.x_label(axes, "nodes N", *notes, "schemes are moved apart sideways")
        axes.set_ylabel(label)
        most = cells[cells["nodes"] == cells["nodes"].max()].set_index("algorithm")
        what = f"Published {quantity} with {most['nodes'].iloc[0]} nodes"
        show = SECONDS.text if seconds else figures.significant
        canvas.headline(axes, marks.extremes(what, most[f"published_{column}"], show))
        marks.label_ends(axes, ends)
    return axes


def plot_computers(runs: pd.DataFrame) -> Figure:
    """Draw latency over the number of delegates: a panel for each exchange, lines by setting.

    Takes runs of `pqchain.works.pqdpol.measured`: setting, exchange, nodes, latency_seconds with
    its _half_width, and predicted_latency_seconds, dashed if known; with a column `kind`, settings
    in virtual time are named as simulated. Returns the figure, because it has several axes. Raises
    DataError.
    """
    canvas.require(runs, "setting exchange nodes latency_seconds latency_seconds_half_width")
    canvas.require(runs, "predicted_latency_seconds")
    is_simulated = runs["kind"] == Kind.REPLAYED if "kind" in runs else pd.Series(False, runs.index)
    named = runs["setting"].where(~is_simulated, runs["setting"] + " (simulated)")
    runs = runs.assign(setting=named)
    settings, exchanges = (list(dict.fromkeys(runs[name])) for name in ("setting", "exchange"))
    markers = dict(zip(exchanges, "os^D", strict=False))
    of_run = runs["predicted_latency_seconds"] / runs["latency_seconds"]
    # Lines that cannot be seen are not explained.
    differs = bool(((of_run - 1).abs() > 0.02).any())
    count = len(exchanges)
    down, across = (count, 1) if canvas.narrow() else (1, count)
    with canvas.panels(down, across, 2.8 * down + 1.0) as all_axes:
        for (setting, exchange), group in runs.groupby(["setting", "exchange"], sort=False):
            axes = all_axes[exchanges.index(exchange)]
            place, marker = settings.index(setting), markers[exchange]
            colour, rows = canvas.look(place)[0], group.sort_values("nodes")
            # Moved apart, because latencies of few delegates are nearly equal.
            aside = 2 ** (0.05 * (place - (len(settings) - 1) / 2))
            nodes = rows["nodes"].to_numpy(dtype=float) * aside
            seen = rows["latency_seconds"].to_numpy()
            axes.plot(nodes, seen, color=colour, linewidth=1.3, label=f"{setting}, {exchange}")
            _measured(axes, nodes, seen, rows["latency_seconds_half_width"], colour, marker)
            # With marks, which tell dashed lines of one colour apart.
            style = props(linestyle="--", marker=marker, markerfacecolor=canvas.PAPER)
            style |= props(linewidth=1.1, markersize=3.2, zorder=4)
            axes.plot(nodes, rows["predicted_latency_seconds"], color=colour, **style)
            axes.set_yscale("log")
        limits = np.array([axes.get_ylim() for axes in all_axes])
        for axes, exchange in zip(all_axes, exchanges, strict=True):
            _over_nodes(axes, sorted(set(runs["nodes"])), "{:g}".format)
            axes.set_ylim(limits.min(), limits.max())
            marks.log_ticks(axes, "y", marks.brief)
            canvas.panel_title(axes, exchange)
        least, most = (figures.significant(end, 2) for end in (of_run.min(), of_run.max()))
        notes = [f"dashed: model, {least} to {most} times the run"] if differs else []
        notes += [marks.INTERVAL, "lines are moved apart sideways"]
        canvas.x_label(all_axes[-1], "delegates N", *notes, is_shared=across > 1)
        for axes in all_axes[::across]:
            axes.set_ylabel("latency of a block")
        looks = ((canvas.look(at)[0], name) for at, name in enumerate(settings))
        handles = [Line2D([], [], color=colour, linewidth=4, label=name) for colour, name in looks]
        canvas.legend_above(all_axes[0], 3, handles)
        most = runs[runs["nodes"] == runs["nodes"].max()]
        seen = most.set_index(most["exchange"] + ", " + most["setting"])["latency_seconds"]
        what = f"Latency of a block with {most['nodes'].iloc[0]} delegates"
        canvas.headline(all_axes[0], marks.extremes(what, seen, SECONDS.text))
    return canvas.figure_of(all_axes[0])


def plot_networks(laws: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the number of nodes, a line for each kind of network.

    Takes a frame of `pqchain.consensus.landscape.laws`. Solid lines: every node votes; dashed:
    delegates vote. Of several seeds the median is drawn, with a whisker from least to greatest.
    Raises DataError, and UsageError if nothing ran.
    """
    canvas.require(laws, "setting nodes delegates latency_seconds status")
    fine = laws[laws["status"] == "ok"]
    canvas.require(fine, "")
    ends: list[tuple[str, tuple[float, float]]] = []
    seeds = 1
    with canvas.canvas(ax, 4.6) as axes:
        for index, (name, group) in enumerate(fine.groupby("setting", sort=False)):
            colour, marker = canvas.look(index)
            elected = bool((group["delegates"] < group["nodes"]).any())
            seen = group.groupby("nodes")["latency_seconds"].agg(["median", "min", "max", "count"])
            nodes, latency = seen.index.to_numpy(dtype=float), seen["median"].to_numpy()
            if (seen["count"] > 1).any():
                axes.vlines(nodes, seen["min"], seen["max"], color=colour, linewidth=1.2)
                seeds = max(seeds, int(seen["count"].max()))
            line = props(linestyle="--" if elected else "-", linewidth=1.4, label=str(name))
            axes.plot(nodes, latency, color=colour, marker=marker, markersize=4, **line)
            ends.append((str(name), (float(nodes[-1]), float(latency[-1]))))
        low, high = int(fine["nodes"].min()), int(fine["nodes"].max())
        exponents = range(low.bit_length() - 1, high.bit_length())
        step = 1 if len(exponents) < 12 and not canvas.narrow() else 2
        _over_nodes(axes, [2**n for n in exponents if n % step == 0], _power)
        marks.log_ticks(axes, "y", marks.brief)
        notes = ["solid: every node votes", "dashed: delegates vote"]
        notes += [f"whisker: range of {seeds} random placements of the nodes"] if seeds > 1 else []
        canvas.x_label(axes, "number of nodes", *notes)
        axes.set_ylabel("latency of a block, modelled")
        by_nodes = fine.groupby("nodes")["setting"].nunique()
        shared = by_nodes[by_nodes == by_nodes.max()].index.max()
        times = fine[fine["nodes"] == shared].groupby("setting")["latency_seconds"].median()
        what = f"Latency of a block with {figures.integer(shared)} nodes"
        canvas.headline(axes, marks.extremes(what, times, partial(SECONDS.text, digits=2)))
        marks.label_ends(axes, ends)
    return axes


def _measured(axes: Axes, nodes: Any, seen: Any, half: Any, colour: str, marker: str) -> None:
    style = props(linestyle="", marker=marker, markersize=5, elinewidth=1.0, capsize=2)
    axes.errorbar(nodes, seen, yerr=half, color=colour, **style)


def _over_nodes(axes: Axes, nodes: Sequence[int], show: Callable[[float], str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(nodes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    marks.grid(axes)


def _power(nodes: float) -> str:
    return f"$2^{{{int(nodes).bit_length() - 1}}}$"


_PROVER_MARKS = "sDh"
"""Marks of further provers of a scheme, whose first has the mark of the family."""


def plot_certificates(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain_engines.certificate_sizes`: a line for each list or aggregate, marks
    for the proofs of all signatures in one, by prover and scheme; those from publications are
    hollow. A second panel, which axes of the caller lack, has the range of the proofs, which is
    shaded in the first and has only dots there; the axes of the first are returned. Raises
    DataError, UsageError.
    """
    canvas.require(frame, "algorithm form nodes certificate_bytes kind source")
    votes, proofs = frame[frame["form"] != "proof"], frame[frame["form"] == "proof"]
    what = "size of a certificate"
    count = 1 if ax is not None or proofs.empty else 2
    with canvas.panels(count, 1, 3.2 * count, ax) as (axes, *enlarged):
        ends = _votes(axes, votes)
        _proofs(axes, proofs, 0 if enlarged else 5)
        _scales(axes)
        axes.set_ylabel(what)
        for other in enlarged:
            _proofs(other, proofs, 3.6 if canvas.narrow() else 5)
            _scales(other)
            low, high = other.get_ylim()
            _votes(other, votes)
            other.set(xlim=axes.get_xlim(), ylim=(low, high), ylabel=what)
            axes.axhspan(low, high, color=canvas.GRID, alpha=0.5, linewidth=0, zorder=0)
            canvas.panel_title(other, "shaded range, enlarged")
        lowest = [axes, *enlarged][-1]
        canvas.x_label(lowest, "validators")
        if len(proofs):
            canvas.legend_above(axes, 3, lowest.get_legend_handles_labels()[0])
        most = votes[votes["nodes"] == votes["nodes"].max()]
        names = most["algorithm"] + ", " + most["form"]
        title = f"{what.capitalize()} with {figures.integer(most['nodes'].max())} validators"
        sizes = most.set_index(names)["certificate_bytes"]
        canvas.headline(axes, marks.extremes(title, sizes, BYTES.text))
        marks.label_ends(axes, ends)
    return axes


def _scales(axes: Axes) -> None:
    axes.set(xscale="log", yscale="log")
    marks.log_ticks(axes, "x", marks.with_prefix(""))
    marks.log_ticks(axes, "y", marks.with_prefix("B"))
    marks.grid(axes)


def _votes(axes: Axes, votes: pd.DataFrame) -> list[tuple[str, tuple[float, float]]]:
    """Draw lists and aggregates; return their names and ends."""
    lines, ends = marks.dashes(dict.fromkeys(votes["algorithm"])), []
    for name, rows in votes.groupby("algorithm", sort=False):
        rows = rows.sort_values("nodes")
        colour, dash = marks.mark_of(str(name)).colour, lines[str(name)]
        label = f"{name}, {rows['form'].iloc[0]}"
        # Names stand at the lines, and the legend has only proofs.
        style = props(color=colour, linewidth=1.5, linestyle=dash, label=f"_{label}")
        axes.plot(rows["nodes"].astype(float), rows["certificate_bytes"], **style)
        last = rows.iloc[-1]
        ends.append((label, (float(last["nodes"]), float(last["certificate_bytes"]))))
    return ends


def _proofs(axes: Axes, proofs: pd.DataFrame, points: float) -> None:
    """Draw the proofs of each prover, joined; `points` is the size of the marks, 0 for dots."""
    # Two sources publish the same proofs of one prover.
    proofs = proofs.drop_duplicates(["algorithm", "kind", "nodes", "certificate_bytes"])
    for algorithm, of_scheme in proofs.groupby("algorithm", sort=False):
        # "XMSS of leanSig" is a parameter set of a family, without an entry of its own.
        name = str(algorithm)
        mark = marks.mark_of(name) if name in ALGORITHMS else marks.family_mark(name.split()[0])
        markers = mark.marker + _PROVER_MARKS
        for place, (prover, rows) in enumerate(of_scheme.groupby("source", sort=False)):
            rows = rows.sort_values(["nodes", "certificate_bytes"])
            is_measured = rows["kind"].iloc[0] == Kind.MEASURED
            label = f"{name.partition(' of ')[0]} proof, {prover}"
            label += " (measured)" if is_measured else ""
            style = mark.style(points, is_published=not is_measured)
            style |= props(marker=markers[place % len(markers)], linewidth=0.8, label=label)
            style |= props(markeredgewidth=0.7)  # wider edges close small hollow marks
            if is_measured:  # an outline in the colour of the paper would hide small marks
                style |= props(markersize=1.4 * points, markeredgecolor=mark.colour)
            if len(rows) == 1 or not rows["nodes"].is_unique:
                style |= props(linestyle="none")  # settings of a prover, not a series
            if len(rows) > 5:
                # Marks of all would cover each other.
                style |= props(markevery=[0, len(rows) // 3, len(rows) - 1])
            if not points:
                style |= props(marker=".", markersize=4, markevery=None)
                style |= props(markerfacecolor=mark.colour, markeredgewidth=0)
            axes.plot(rows["nodes"].astype(float), rows["certificate_bytes"], zorder=3, **style)
