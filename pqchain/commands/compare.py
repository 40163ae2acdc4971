"""`pqchain compare`: compare runs of the benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqchain.commands import console
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs in files, show the result, and draw it if requested."""
    named = [*arguments.files, *(name for side in arguments.others for name in side)]
    # Missing files are rejected before the slower imports.
    for name in named:
        if Path(name).suffix == ".csv" and not Path(name).is_file():
            raise UsageError(f"{name} does not exist; name a file of `pqchain bench --output`")
    from pqchain import results
    from pqchain.bench import comparing, runs, stored, tables

    # A name without the suffix .csv is that of a machine with a stored run.
    paths = {
        name: Path(name) if Path(name).suffix == ".csv" else stored.file(name) for name in named
    }
    # Without --with each file is a side, because most comparisons are of one file with another.
    groups = (
        [arguments.files, *arguments.others] if arguments.others else [[name] for name in named]
    )
    comparison = comparing.compare_runs([[paths[name] for name in group] for group in groups])
    provenance = comparison.attrs["runs"]
    console.save(comparison, arguments.output, provenance={"runs": provenance})
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
    data = {"runs": provenance, "compared": console.records(comparison)}
    summary = "\n".join(f"{name}: {_side(facts)}" for name, facts in provenance.items())
    return console.show(arguments, data, summary, tables.compared_table(comparison))


def _side(facts: Mapping[str, Any]) -> str:
    count, ratio = facts["runs"], facts["median_over_min"]
    values = [value for name, value in facts.items() if name not in ("runs", "median_over_min")]
    noise = f"median/min of verifications {ratio:.2f}" if ratio else ""
    return ", ".join(map(str, filter(None, [*values, f"{count} run{'s'[: count > 1]}", noise])))
