"""`pqchain plot`: draw a saved table, also in the width of a paper's column."""

from __future__ import annotations

import argparse
import inspect
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.commands import console
from pqchain.errors import DataError, UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd

_NAMES = ("algorithm", "scheme")
"""Columns from which --algorithms selects."""


def run(arguments: argparse.Namespace) -> int:
    """Draw a kind of plot from a file, or list the kinds."""
    if arguments.kind is None:
        return _kinds(arguments)
    if arguments.file is not None and not arguments.file.is_file():
        raise UsageError(f"there is no file {arguments.file}; give a table that pqchain saved")
    from pqchain import plots

    kind: str = arguments.kind
    # Drawing modules load at first use, so a wrong kind is refused quickly.
    draw = plots.find(kind)
    from pqchain import results

    suffix = f".{arguments.format}" if arguments.format else ".svg"
    output = arguments.output or Path(f"{kind}{suffix}")
    console.picture(output, "--output")
    if arguments.format and output.suffix != suffix:
        raise UsageError(f"--output {output} and --format {arguments.format} differ; give one")
    own: list[str] = arguments.own
    source = _sizes(arguments, own) if kind == "sizes" else _frame(arguments, own)
    with plots.style("paper", width=arguments.width) if arguments.width else nullcontext():
        drawn = draw(source, *_more(kind, draw, arguments.what))
        content = plots.figure_bytes(drawn, console.format_of(output))
    results.write_atomically(output, content)
    return console.show(arguments, {"output": str(output), "bytes": len(content)}, str(output))


def _kinds(arguments: argparse.Namespace) -> int:
    """Show the kinds of plots with the first line of their docstrings."""
    from pqchain import plots

    rows = [
        {"kind": kind, "draws": inspect.cleandoc(plots.find(kind).__doc__ or "").partition("\n")[0]}
        for kind in plots.KINDS
    ]
    return console.show(arguments, rows, Table.of(rows, [Column("kind"), Column("draws")]))


def _more(kind: str, draw: Any, what: str | None) -> list[Any]:
    """Return the arguments of a plot after its frame: --what, or none for its default."""
    _, *others = inspect.signature(draw).parameters.values()
    wanted = [each for each in others if each.kind is each.POSITIONAL_OR_KEYWORD]
    if not wanted:
        if what is not None:
            raise UsageError(f"--what {what}: {kind} takes none; leave it out")
        return []
    if wanted[0].name == "limits":
        return [{}]
    if what is None and wanted[0].default is inspect.Parameter.empty:
        raise UsageError(f"{kind} needs --what {wanted[0].name.upper()}; see pqchain plot --help")
    return [] if what is None else [what]


def _sizes(arguments: argparse.Namespace, own: list[str]) -> list[str] | None:
    if arguments.algorithms is None and arguments.file is not None:
        return [*dict.fromkeys(_frame(arguments, own)["algorithm"])]
    return console.beside(arguments.algorithms or (), own) or None


def _frame(arguments: argparse.Namespace, own: list[str]) -> pd.DataFrame:
    """Return the selected rows of the file, and those of the user's own schemes."""
    import pandas as pd

    from pqchain import algorithms, results
    from pqchain.bench import comparing
    from pqchain.bench.operations import measure
    from pqchain.costs import MEASUREMENT, algorithms_of

    if arguments.file is None:
        raise UsageError(f"{arguments.kind} is drawn from a file; name one that pqchain saved")
    frame = results.load(arguments.file)
    if results.contract_of(frame).name == comparing.HISTORY.name:
        frame = comparing.concat_runs([arguments.file])
    if own:
        if results.contract_of(frame).name != MEASUREMENT.name:
            raise UsageError("--scheme stands beside measurements; this file holds none")
        given = measure(own)
        kept = frame.attrs.get("provenance", {})
        more = given.attrs["provenance"].get("schemes", [])
        # pandas.concat keeps attrs only if they are equal, so provenance is merged here.
        frame.attrs, given.attrs = {}, {}
        frame = results.check(pd.concat([frame, given], ignore_index=True), MEASUREMENT)
        frame.attrs["provenance"] = kept | {"schemes": [*kept.get("schemes", []), *more]}
    if arguments.algorithms is None:
        return frame
    column = next((name for name in _NAMES if name in frame), None)
    if column is None:
        raise UsageError("--algorithms: this file names no algorithms; leave it out")
    held = {name.casefold(): name for name in frame[column].unique()}
    if column == "algorithm":
        # Aliases select a scheme as its name does.
        held |= {each.casefold(): row.name for row in algorithms_of(frame) for each in row.aliases}
    chosen = []
    for name in arguments.algorithms:
        if name.casefold() not in held:
            # A name that is not a scheme at all raises UnknownName.
            algorithms.get(name)
            known = ", ".join(sorted(frame[column].unique()))
            raise DataError(f"{arguments.file} has nothing of {name}; it has {known}")
        chosen.append(held[name.casefold()])
    kept_rows = frame[frame[column].isin([*chosen, *own])].reset_index(drop=True)
    kept_rows.attrs = frame.attrs
    return kept_rows
