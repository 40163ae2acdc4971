"""Plot a saved table, for the screen or in the width of a paper's column."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Table

if TYPE_CHECKING:
    import pandas as pd


def plot(
    kind: str | None = None,
    file: Path | None = None,
    /,
    *,
    quantity: str | None = None,
    width: str | None = None,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    output: values.PlotFile | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Plot a saved table, for the screen or a paper's column.

    Without a kind, the kinds are listed. Most kinds plot a file of --output; the others plot frames
    that `pqchain reproduce` saves. With --width the plot fits a paper: exact width, text of 7
    points, labels and legend inside, embedded fonts (Type 42), colours that differ in grey.

    Args:
        kind: kind of plot; default: list the kinds
        file: a table saved by pqchain
        quantity: quantity to plot, for kinds that have several: blocks (bytes, verify or rate),
            operation (sign), cells (latency or throughput), certificates (bytes or verify)
        width: single (3.5 inches), double (7.16 inches), or such as 3.5in or 89mm; default: 170
            mm, for the screen
        algorithm: plot only these rows; default: all
        output: output file: .pdf, .svg, .png or .pgf; default: KIND.svg

    Examples:
      pqchain bench --algorithm Falcon-512,ML-DSA-44 --output mine.csv
      pqchain plot speed mine.csv --width 3.5in --output speed.pdf
      pqchain plot tradeoff mine.csv --width double --output tradeoff.pgf     needs LaTeX
      pqchain plot sizes --algorithm Falcon-512,ML-DSA-44 --width single
      pqchain plot speed mine.csv --scheme "Mine,public_key=1000,signature=300,sign=1ms"
    """
    if kind is None:
        return _show_kinds(form)
    if file is not None:
        values.existing_file(file)
    added = console.register_schemes(scheme)
    from pqchain import plots

    kind = kind.replace("-", "_")
    # Plot modules load at first use, so an unknown kind is rejected quickly.
    draw = plots.find(kind)
    from pqchain.bench import frames

    output = output or values.plot_path(f"{kind}.svg")
    source: Any
    if kind == "sizes":
        names = () if file is None or algorithm else frames.rows_of(kind, file, (), [])["algorithm"]
        source = console.algorithm_names(algorithm or dict.fromkeys(names), added) or None
    elif kind == "cost_on_chains":
        source = _cost_on_chains(kind, file, algorithm, added)
    else:
        source = frames.rows_of(kind, file, algorithm, added)
    with plots.style("paper", width=width) if width else nullcontext():
        axes = draw(source, *_plot_arguments(kind, draw, quantity))
        size = console.save_plot(axes, output)
    # Without names, the sizes of all signature schemes are drawn; some tables have no schemes.
    schemes = algorithms.names("signature") if source is None else source
    named = schemes if isinstance(schemes, list) else schemes.get("algorithm", [])
    data = {"output": str(output), "bytes": size}
    return console.show(form, data, str(output), remarks=algorithms.cautions(named))


def _show_kinds(form: values.Format) -> int:
    from pqchain import plots

    rows = [
        {"kind": kind, "draws": inspect.cleandoc(plots.find(kind).__doc__ or "").partition("\n")[0]}
        for kind in plots.KINDS
    ]
    return console.show(form, rows, Table.of(rows, ["kind", "draws"]))


def _plot_arguments(kind: str, draw: Any, quantity: str | None) -> list[Any]:
    """Return the arguments of a plot function after the frame: --quantity if it is set."""
    _, *others = inspect.signature(draw).parameters.values()
    positional = [other for other in others if other.kind is other.POSITIONAL_OR_KEYWORD]
    if not positional:
        if quantity is not None:
            raise UsageError(f"{kind} has one quantity; leave out --quantity {quantity}")
        return []
    if positional[0].name == "limits":
        return [{}]
    if quantity is None and positional[0].default is inspect.Parameter.empty:
        raise UsageError(f"{kind} needs --quantity; see `pqchain plot --help`")
    return [] if quantity is None else [quantity]


def _cost_on_chains(
    kind: str, file: Path | None, names: tuple[str, ...], added: list[str]
) -> pd.DataFrame:
    """Return the frame of a file, or one computed from the measurements that are in the file.

    Without a file, from the reference measurements.
    """
    from pqchain import costs, results, study
    from pqchain.bench import frames, stored

    frame = stored.load() if file is None else results.load(file)
    if results.contract_of(frame).name == "cost-on-chains":
        return frames.rows_of(kind, file, names, added)
    chosen = console.algorithm_names(names, added)
    table = costs.from_frame(frame)
    return study.cost_on_chains(table, chosen) if chosen else study.cost_on_chains(table)
