"""`pqchain plot`: plot a saved table, also in the width of a paper's column."""

from __future__ import annotations

import argparse
import inspect
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.commands import console
from pqchain.errors import DataError, UsageError
from pqchain.render.table import Table

if TYPE_CHECKING:
    import pandas as pd


def run(arguments: argparse.Namespace) -> int:
    """Plot a file, or list the kinds of plots."""
    if arguments.kind is None:
        return _show_kinds(arguments)
    if arguments.file is not None and not arguments.file.is_file():
        raise UsageError(f"there is no file {arguments.file}; name a table saved by pqchain")
    from pqchain import plots

    kind: str = arguments.kind
    # Plot modules load at first use, so an unknown kind is rejected quickly.
    draw = plots.find(kind)
    from pqchain import results

    output = arguments.output or Path(f"{kind}.svg")
    console.check_plot(output, "--output")
    source = _algorithms(arguments) if kind == "sizes" else _frame(arguments)
    with plots.style("paper", width=arguments.width) if arguments.width else nullcontext():
        axes = draw(source, *_plot_arguments(kind, draw, arguments.quantity))
        content = plots.figure_bytes(axes, console.plot_format(output))
    results.write_atomically(output, content)
    return console.show(arguments, {"output": str(output), "bytes": len(content)}, str(output))


def _show_kinds(arguments: argparse.Namespace) -> int:
    """Show the kinds of plots with the first line of their docstrings."""
    from pqchain import plots

    rows = [
        {"kind": kind, "draws": inspect.cleandoc(plots.find(kind).__doc__ or "").partition("\n")[0]}
        for kind in plots.KINDS
    ]
    return console.show(arguments, rows, Table.of(rows, ["kind", "draws"]))


def _plot_arguments(kind: str, draw: Any, quantity: str | None) -> list[Any]:
    """Return the arguments of a plot after its frame: --quantity, or none for its default."""
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


def _algorithms(arguments: argparse.Namespace) -> list[str] | None:
    if arguments.algorithm is None and arguments.file is not None:
        return [*dict.fromkeys(_frame(arguments)["algorithm"])]
    return console.algorithm_names(arguments) or None


def _frame(arguments: argparse.Namespace) -> pd.DataFrame:
    """Return the selected rows of the file, and measurements of the user's schemes."""
    import pandas as pd

    from pqchain import algorithms, results
    from pqchain.bench import comparing
    from pqchain.bench.operations import measure
    from pqchain.costs import MEASUREMENT, schemes

    if arguments.file is None:
        raise UsageError(f"{arguments.kind} needs a file; name a table saved by pqchain")
    frame = results.load(arguments.file)
    if results.contract_of(frame).name == comparing.HISTORY.name:
        frame = comparing.concat_runs([arguments.file])
    if arguments.user_schemes:
        if results.contract_of(frame).name != MEASUREMENT.name:
            raise UsageError(f"--scheme needs a file of measurements; got {arguments.file}")
        measured = measure(arguments.user_schemes)
        provenance = frame.attrs.get("provenance", {})
        added = measured.attrs["provenance"].get("schemes", [])
        # pandas.concat keeps attrs only if they are equal, so provenance is merged here.
        frame.attrs, measured.attrs = {}, {}
        frame = results.check(pd.concat([frame, measured], ignore_index=True), MEASUREMENT)
        known = provenance.get("schemes", [])
        frame.attrs["provenance"] = provenance | {"schemes": [*known, *added]}
    if arguments.algorithm is None:
        return frame
    # Tables of the gas and of studies have a column `scheme`.
    column = next((name for name in ("algorithm", "scheme") if name in frame), None)
    if column is None:
        raise UsageError("--algorithm needs a file with algorithms; leave it out")
    names = {name.casefold(): name for name in frame[column].unique()}
    if column == "algorithm":
        # Aliases select a scheme as its name does.
        names |= {alias.casefold(): row.name for row in schemes(frame) for alias in row.aliases}
    chosen = []
    for name in arguments.algorithm:
        if name.casefold() not in names:
            # A name that is not a scheme at all raises UnknownName.
            algorithms.get(name)
            known = ", ".join(sorted(frame[column].unique()))
            raise DataError(f"{arguments.file} has no rows of {name}; it has {known}")
        chosen.append(names[name.casefold()])
    rows = frame[frame[column].isin([*chosen, *arguments.user_schemes])].reset_index(drop=True)
    rows.attrs = frame.attrs
    return rows
