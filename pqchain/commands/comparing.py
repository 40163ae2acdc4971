"""Compare benchmark runs, and plot saved tables."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Table


def compare(
    *files: str,
    plot: values.PlotFile | None = None,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Compare benchmark runs: machines, versions or dates.

    For each operation and the baseline, which is the first side: both times, their ratio with a 95
    % interval, and a verdict. A verdict needs at least two runs of each side, better three, and on
    one machine they must alternate; an undecided row states how many more are needed. Single runs
    get a ratio without a verdict.

    Args:
        files: file of `pqchain bench --output` or `--append`, or the name of a machine in
            data/measurements; each file is a side, and the first is the baseline
        plot: plot the comparison, or the history over time if only one is named: .pdf, .svg, .png
            or .pgf

    Examples:
      pqchain bench --append old.csv                      alternate with the new version's --append
      pqchain compare old.csv new.csv                     each file is a side: three runs or more
      pqchain compare laptop.csv server.csv board.csv --plot all.pdf --latex
      pqchain compare history.csv --plot history.svg      one history: each run and the first
    """
    if not files:
        raise UsageError("name a file of `pqchain bench --output`, or a machine")
    # Missing files are rejected before the slower imports.
    for path in map(Path, files):
        if path.suffix:
            values.existing_file(path)
        if path.suffix != ".csv" and path.exists():
            raise UsageError(
                f"{path} must be a table of `pqchain bench --output` (FILE.csv) or a machine of "
                "data/measurements; name one of these"
            )
    from pqchain import results
    from pqchain.bench import comparing, runs, stored, tables

    # A name without a suffix is that of a machine with a stored run.
    paths = [Path(name) if Path(name).suffix else stored.file(name) for name in files]
    comparison = comparing.compare_runs([[path] for path in paths])
    provenance = comparison.attrs["runs"]
    console.save(comparison, output, provenance={"sides": provenance})
    if plot is not None:
        from pqchain import plots

        first, *others = paths
        axes = plots.plot_compared(comparison)
        # The runs of one history are a line over dates.
        if not others and runs.is_history(results.load(first)):
            axes = plots.plot_history(runs.concat_runs([first]))
        console.save_plot(axes, plot)
    warnings = comparing.warnings(provenance)
    data = {"warnings": warnings, "runs": provenance, "compared": console.records(comparison)}
    summary = "\n".join([*warnings, comparing.summary(provenance)])
    return console.show(form, data, summary, tables.compared_table(comparison))


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
            operation (sign), cells (latency or throughput)
        width: single (3.5 inches), double (7.16 inches), or such as 3.5in or 89mm; default: 170
            mm, for the screen
        algorithm: plot only these rows; default: all
        output: output file: .pdf, .svg, .png or .pgf; default: KIND.svg

    Examples:
      pqchain plot speed mine.csv --width 3.5in --output speed.pdf
      pqchain plot tradeoff mine.csv --width double --output tradeoff.pgf     needs LaTeX
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
    from pqchain.bench import runs

    output = output or values.plot_path(f"{kind}.svg")
    source: Any
    if kind == "sizes":
        names = () if file is None or algorithm else runs.rows_of(file, (), [])["algorithm"]
        source = console.algorithm_names(algorithm or dict.fromkeys(names), added) or None
    elif file is None:
        raise UsageError(f"{kind} needs a file; name a table saved by pqchain")
    else:
        source = runs.rows_of(file, algorithm, added)
        if kind == "history" and "run" not in source:
            raise UsageError(f"history needs a file of `pqchain bench --append`; got {file}")
    arguments: dict[str, Any] = {} if quantity is None else {"quantity": quantity}
    if kind == "capacity":
        arguments["limits"] = {}  # a table has no reasons for its limits
    try:
        inspect.signature(draw).bind(source, **arguments)
    except TypeError as error:
        raise UsageError(f"{kind}: {error}; see --quantity of `pqchain plot --help`") from None
    with plots.style("paper", width=width) if width else nullcontext():
        axes = draw(source, **arguments)
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
