"""Compare benchmark runs: machines, versions or dates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pqchain.commands import console, values
from pqchain.errors import UsageError


def compare(
    *files: str,
    with_: Annotated[tuple[tuple[str, ...], ...], values.SIDES] = (),
    plot: values.PlotFile | None = None,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Compare benchmark runs with a baseline, the first side: machines, versions or dates.

    For each operation: both times, their ratio with a 95 % interval, and a verdict. A verdict needs
    at least two runs of each side, better three, and on one machine they must alternate; an
    undecided row states how many more are needed. Single runs get a ratio without a verdict.

    Args:
        files: file of `pqchain bench --output` or `--append`, or the name of a machine in
            data/measurements; each file is a side, and the first is the baseline
        with_: files of another side; those before it are one side, the baseline; may be repeated
        plot: plot the comparison, or the history over time if only one is named: .pdf, .svg, .png
            or .pgf

    Examples:
      pqchain bench --append old.csv                      alternate with the new version's --append
      pqchain compare old.csv new.csv                     each file is a side: three runs or more
      pqchain compare a1.csv a2.csv a3.csv --with b1.csv b2.csv b3.csv
      pqchain compare laptop.csv server.csv board.csv --plot all.pdf --latex
      pqchain compare history.csv --plot history.svg      one history: each run and the first
    """
    if not files:
        raise UsageError("name a file of `pqchain bench --output`, or a machine")
    named = [*files, *(name for side in with_ for name in side)]
    # Missing files are rejected before the slower imports.
    for path in map(Path, named):
        if path.suffix:
            values.existing_file(path)
        if path.suffix != ".csv" and path.exists():
            raise UsageError(
                f"{path} must be a table of `pqchain bench --output` (FILE.csv) or a machine of "
                "data/measurements; name one of these"
            )
    from pqchain import results
    from pqchain.bench import comparing, runs, sides, stored, tables

    # A name without a suffix is that of a machine with a stored run.
    paths = {name: Path(name) if Path(name).suffix else stored.file(name) for name in named}
    # Without --with each file is a side, because most comparisons are of one file with another.
    groups = [files, *with_] if with_ else [[name] for name in named]
    comparison = comparing.compare_runs([[paths[name] for name in group] for group in groups])
    provenance = comparison.attrs["runs"]
    console.save(comparison, output, provenance={"sides": provenance})
    if plot is not None:
        from pqchain import plots

        first, *others = paths.values()
        axes = plots.plot_compared(comparison)
        # The runs of one history are a line over dates.
        if not others and results.contract_of(results.load(first)).name == runs.HISTORY.name:
            axes = plots.plot_history(runs.concat_runs([first]))
        console.save_plot(axes, plot)
    warnings = sides.warnings(provenance)
    data = {"warnings": warnings, "runs": provenance, "compared": console.records(comparison)}
    summary = "\n".join([*warnings, sides.summary(provenance)])
    return console.show(form, data, summary, tables.compared_table(comparison))
