"""Compare benchmark runs: machines, versions or dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

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
    for name in named:
        if Path(name).suffix:
            values.existing_file(Path(name))
        if Path(name).suffix != ".csv" and Path(name).exists():
            expected = "a table of `pqchain bench --output` (FILE.csv) or a machine of data/"
            raise UsageError(f"{name} must be {expected}measurements; name one of these")
    from pqchain import results
    from pqchain.bench import comparing, runs, stored, tables, variation

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
    warnings = [
        f"Warning: the machine was busy during {name}: median/min of verifications "
        f"{facts['median_over_min']:.2f}, which is above {variation.MAX_MEDIAN_OVER_MIN:g}."
        for name, facts in provenance.items()
        if (facts["median_over_min"] or 0) > variation.MAX_MEDIAN_OVER_MIN
    ]
    data = {"warnings": warnings, "runs": provenance, "compared": console.records(comparison)}
    summary = "\n".join([*warnings, _summary(provenance)])
    return console.show(form, data, summary, tables.compared_table(comparison))


_LABELS = {
    "machine_id": "machine", "cpu_model": "processor", "cpu_count": "processors",
    "pqchain": "pqchain", "commit": "commit", "python": "Python", "preset": "preset",
    "date": "date",
}  # fmt: skip


def _summary(sides: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each side with the facts in which the sides differ, and one of the rest."""
    differing = [
        name for name in _LABELS if len({str(facts.get(name)) for facts in sides.values()}) > 1
    ]
    lines = [f"{name}: {_side(facts, differing)}" for name, facts in sides.items()]
    first, *others = (facts["libraries"] for facts in sides.values())
    common = {name: [side.get(name, of) for side in others] for name, of in first.items()}
    if changed := [name for name, of in common.items() if set(of) - {first[name]}]:
        lines.append(f"different builds: {', '.join(changed)}")
    first = next(iter(sides.values()))
    shared = [
        f"{_LABELS[name]} {_short(name, first[name])}"
        for name in _LABELS
        if name not in differing and first.get(name)
    ]
    return "\n".join([*lines, f"all sides: {', '.join(shared)}"])


def _side(facts: Mapping[str, Any], names: Sequence[str]) -> str:
    count, ratio = facts["runs"], facts["median_over_min"]
    values = [f"{_LABELS[name]} {_short(name, facts[name])}" for name in names if facts.get(name)]
    noise = f"median/min of verifications {ratio:.2f}" if ratio else ""
    return ", ".join(filter(None, [*values, f"{count} run{'s'[: count > 1]}", noise]))


def _short(name: str, value: Any) -> str:
    """Return a fact of provenance: seven digits of a commit, a date without its time zone."""
    text = str(value)
    if name == "commit":
        return text[:7] + "-dirty" * text.endswith("-dirty")
    if name == "date":
        return " to ".join(date[:16].replace("T", " ") for date in text.split(" to "))
    return text
