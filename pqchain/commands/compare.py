"""`pqchain compare`: compare runs of the benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqchain.commands import console
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs in files, show the result, and draw it if requested."""
    # Missing files are rejected before the slower imports.
    for name in arguments.files:
        if Path(name).suffix == ".csv" and not Path(name).is_file():
            raise UsageError(f"{name} does not exist; name a file of `pqchain bench --output`")
    from pqchain import results
    from pqchain.bench import comparing, stored, tables

    # A name without the suffix .csv is that of a machine with a stored run.
    files = [
        Path(name) if Path(name).suffix == ".csv" else stored.file(name) for name in arguments.files
    ]
    comparison = comparing.compare_runs(files)
    provenance = comparison.attrs["runs"]
    console.save(comparison, arguments.output, provenance={"runs": provenance})
    if arguments.plot is not None:
        from pqchain import plots

        axes = plots.plot_compared(comparison)
        if any(results.contract_of(results.load(path)).name == comparing.HISTORY.name
               for path in files):  # fmt: skip
            axes = plots.plot_history(comparing.concat_runs(files))
        console.save_plot(axes, arguments.plot)
    data = {"runs": provenance, "compared": console.records(comparison)}
    summary = "\n".join(
        f"{name}: {', '.join(str(value) for value in facts.values() if value)}"
        for name, facts in provenance.items()
    )
    return console.show(arguments, data, summary, tables.compared_table(comparison))
