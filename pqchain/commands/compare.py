"""`pqchain compare`: compare runs of the benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqchain.commands import console
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs in files, show the result, and draw it if requested."""
    # Missing files are refused before the slower imports.
    for name in arguments.files:
        if Path(name).suffix == ".csv" and not Path(name).is_file():
            raise UsageError(f"there is no file {name}; give what `pqchain bench --output` wrote")
    from pqchain import results
    from pqchain.bench import comparing, stored, tables

    # A name without the suffix .csv is that of a machine with a stored run.
    files = [
        Path(name) if Path(name).suffix == ".csv" else stored.file(name) for name in arguments.files
    ]
    # The plot's file is checked before the comparison.
    plot = console.picture(arguments.plot, "--plot")
    compared = comparing.compare_runs(files)
    console.save(compared, arguments.output, provenance={"runs": compared.attrs["runs"]})
    if plot is not None:
        from pqchain import plots

        drawn = plots.plot_compared(compared)
        if any(results.contract_of(results.load(path)).name == comparing.HISTORY.name
               for path in files):  # fmt: skip
            drawn = plots.plot_history(comparing.concat_runs(files))
        results.write_atomically(plot, plots.figure_bytes(drawn, console.format_of(plot)))
    made = compared.attrs["runs"]
    plain = {"runs": made, "compared": console.records(compared)}
    head = "\n".join(
        f"{name}: {', '.join(str(value) for value in about.values() if value)}"
        for name, about in made.items()
    )
    return console.show(arguments, plain, head, tables.compared_table(compared))
