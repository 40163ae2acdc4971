"""`pqchain compare`: compare runs of the benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqchain.commands import console, options
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs in files, show the result, and draw it if requested."""
    named = [*arguments.files, *(name for side in arguments.others for name in side)]
    # Missing files are rejected before the slower imports.
    for name in named:
        if Path(name).suffix:
            options.existing_file(name)
        if Path(name).suffix != ".csv" and Path(name).exists():
            expected = "a table of `pqchain bench --output` (FILE.csv) or a machine of data/"
            raise UsageError(f"{name} must be {expected}measurements; name one of these")
    from pqchain import results
    from pqchain.bench import comparing, runs, stored, tables, variation

    # A name without a suffix is that of a machine with a stored run.
    paths = {name: Path(name) if Path(name).suffix else stored.file(name) for name in named}
    # Without --with each file is a side, because most comparisons are of one file with another.
    groups = (
        [arguments.files, *arguments.others] if arguments.others else [[name] for name in named]
    )
    comparison = comparing.compare_runs([[paths[name] for name in group] for group in groups])
    provenance = comparison.attrs["runs"]
    console.save(comparison, arguments.output, provenance={"sides": provenance})
    if arguments.plot is not None:
        from pqchain import plots

        files = list(paths.values())
        axes = plots.plot_compared(comparison)
        # The runs of one history are a line over dates.
        if (
            len(named) == 1
            and results.contract_of(results.load(files[0])).name == runs.HISTORY.name
        ):
            axes = plots.plot_history(runs.concat_runs(files))
        console.save_plot(axes, arguments.plot)
    warnings = [
        f"Warning: the machine was busy during {name}: median/min of verifications "
        f"{facts['median_over_min']:.2f}, which is above {variation.MAX_MEDIAN_OVER_MIN:g}."
        for name, facts in provenance.items()
        if (facts["median_over_min"] or 0) > variation.MAX_MEDIAN_OVER_MIN
    ]
    data = {
        "warnings": warnings, "runs": provenance, "compared": console.records(comparison)
    }  # fmt: skip
    summary = "\n".join([*warnings, _summary(provenance)])
    return console.show(arguments, data, summary, tables.compared_table(comparison))


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
