"""`pqchain plot`: plot a saved table, for the screen or in the width of a paper's column."""

from __future__ import annotations

import argparse
import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.commands import console, options
from pqchain.errors import DataError, UsageError
from pqchain.render.table import Table

if TYPE_CHECKING:
    import pandas as pd


def run(arguments: argparse.Namespace) -> int:
    """Plot a file, or list the kinds of plots."""
    if arguments.kind is None:
        return _show_kinds(arguments)
    if arguments.file is not None:
        options.existing_file(arguments.file)
    from pqchain import plots

    kind: str = arguments.kind.replace("-", "_")
    # Plot modules load at first use, so an unknown kind is rejected quickly.
    draw = plots.find(kind)
    output = arguments.output or options.plot_path(f"{kind}.svg")
    sources = {"sizes": _algorithms, "cost_on_chains": _cost_on_chains}
    source = sources.get(kind, _frame)(arguments)
    with plots.style("paper", width=arguments.width) if arguments.width else nullcontext():
        axes = draw(source, *_plot_arguments(kind, draw, arguments.quantity))
        size = console.save_plot(axes, output)
    # Without names, the sizes of all signature schemes are drawn; some tables have no schemes.
    schemes = algorithms.names("signature") if source is None else source
    named = schemes if isinstance(schemes, list) else schemes.get("algorithm", [])
    remarks = algorithms.cautions(named)
    data = {"output": str(output), "bytes": size}
    return console.show(arguments, data, str(output), remarks=remarks)


def _show_kinds(arguments: argparse.Namespace) -> int:
    from pqchain import plots

    rows = [
        {"kind": kind, "draws": inspect.cleandoc(plots.find(kind).__doc__ or "").partition("\n")[0]}
        for kind in plots.KINDS
    ]
    return console.show(arguments, rows, Table.of(rows, ["kind", "draws"]))


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


def _algorithms(arguments: argparse.Namespace) -> list[str] | None:
    if arguments.algorithm is None and arguments.file is not None:
        return [*dict.fromkeys(_frame(arguments)["algorithm"])]
    return console.algorithm_names(arguments) or None


def _cost_on_chains(arguments: argparse.Namespace) -> pd.DataFrame:
    """Return the frame of a file, or one computed from the measurements that are in the file.

    Without a file, from the reference measurements.
    """
    from pqchain import costs, results, study
    from pqchain.bench import stored

    frame = stored.load() if arguments.file is None else results.load(arguments.file)
    if results.contract_of(frame).name == "cost-on-chains":
        return _frame(arguments)
    table = costs.from_frame(frame)
    names = console.algorithm_names(arguments)
    return study.cost_on_chains(table, names) if names else study.cost_on_chains(table)


def _frame(arguments: argparse.Namespace) -> pd.DataFrame:
    from pqchain import results
    from pqchain.bench import runs
    from pqchain.bench.operations import measure
    from pqchain.measurements import MEASUREMENT

    if arguments.file is None:
        raise UsageError(f"{arguments.kind} needs a file; name a table saved by pqchain")
    frame = results.load(arguments.file)
    if results.contract_of(frame).name == runs.HISTORY.name:
        frame = runs.concat_runs([arguments.file])
    if arguments.kind == "history" and "run" not in frame:
        raise UsageError(f"history needs a file of `pqchain bench --append`; got {arguments.file}")
    # A file of `bench --scheme` has the user's schemes already.
    added = [name for name in arguments.user_schemes if name not in set(frame.get("algorithm", ()))]
    if added:
        if results.contract_of(frame).name != MEASUREMENT.name:
            raise UsageError(f"--scheme needs a file of measurements; got {arguments.file}")
        frame = runs.with_schemes(frame, measure(added))
    if arguments.algorithm is None:
        return frame
    if "algorithm" not in frame:
        raise UsageError("--algorithm needs a table with a column algorithm; leave it out")
    known = {name.casefold(): name for name in frame["algorithm"].unique()}
    # The registry resolves aliases, and raises UnknownName for a name that is not an algorithm.
    chosen = [
        known.get(name.casefold()) or algorithms.get(name).name for name in arguments.algorithm
    ]
    if missing := set(chosen) - set(known.values()):
        raise DataError(
            f"{arguments.file} has no rows of {', '.join(sorted(missing))}; it has "
            f"{', '.join(sorted(known.values()))}"
        )
    rows = frame["algorithm"].isin([*chosen, *arguments.user_schemes])
    return frame[rows].reset_index(drop=True)
