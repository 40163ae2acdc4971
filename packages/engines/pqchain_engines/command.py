"""`pqchain engine`: build and run consensus engines of other projects."""

from __future__ import annotations

import argparse
from itertools import product

from pqchain.commands import console, options, values
from pqchain.errors import UsageError
from pqchain_engines.setup import Setup


def show_list(arguments: argparse.Namespace) -> int:
    """List the engines, and whether they can run on this machine."""
    from pqchain_engines import registry, tables

    table = tables.availability(registry.engines().values())
    return console.show(arguments, {"engines": table.records()}, table)


def build(arguments: argparse.Namespace) -> int:
    """Build engines whose toolchains are installed."""
    from pqchain.render.table import Column, Table, verdict
    from pqchain_engines import registry

    names = [registry.get(name).name for name in arguments.engine] or None
    console.print_stderr("Building; simplex takes 20 minutes of processor time the first time ...")
    builds = registry.build(names)
    labels = {"built": "ok", "cached": "ok"}
    rows = [
        [name, verdict(labels.get(status, status)), reason or status]
        for name, (status, reason) in builds.items()
    ]
    table = Table(columns=[Column("engine"), Column("status"), Column("reason")], rows=rows)
    # Engines are optional, so a missing toolchain fails the command only if it was asked for.
    failures = ("failed", "unsupported") if names else ("failed",)
    ok = all(status not in failures for status, _ in builds.values())
    return console.show(arguments, {"engines": table.records()}, table, ok=ok)


def run(arguments: argparse.Namespace) -> int:
    """Run an engine for every scheme and number of validators, and show medians."""
    from pqchain_engines import frames, prices, registry, runner, tables

    engine = registry.get(arguments.engine)
    if arguments.timeout <= 0:
        raise UsageError(f"--timeout must be at least 1; got {arguments.timeout}")
    changed = options.changed_fields(arguments, Setup)
    if not engine.modes:
        if changed:
            raise UsageError(
                f"{engine.name} is an EVM without validators; leave out {', '.join(changed)}"
            )
        return _run_evm(arguments)
    changed.setdefault("mode", engine.modes[0])
    counts = values.integers(arguments.nodes, "--nodes")
    setups = [
        Setup(algorithm=algorithm, nodes=nodes, **changed)
        for nodes, algorithm in product(counts, arguments.algorithm or ["Ed25519", "ML-DSA-65"])
    ]
    for setup in setups:
        runner.check(engine, setup)
    setups = [prices.with_prices(engine.name, setup) for setup in setups]
    heights = runner.run(engine.name, setups, limit_seconds=arguments.timeout)
    console.save(heights, arguments.output)
    summary = frames.summarize(heights)
    data = {
        "provenance": heights.attrs["provenance"],
        "runs": console.records(summary),
        "heights": console.records(heights),
    }
    return console.show(arguments, data, tables.runs(summary), ok=console.all_ran(summary))


def _run_evm(arguments: argparse.Namespace) -> int:
    from pqchain_engines import evm, tables

    frame = evm.measure(
        arguments.algorithm or evm.ALGORITHMS, runs=arguments.runs, limit_seconds=arguments.timeout
    )
    console.save(frame, arguments.output)
    data = {"provenance": frame.attrs["provenance"], "precompiles": console.records(frame)}
    return console.show(arguments, data, tables.precompiles(frame), ok=console.all_ran(frame))


def show_prices(arguments: argparse.Namespace) -> int:
    """Measure what signatures cost with the libraries of an engine."""
    from pqchain.figures import SECONDS, Kind
    from pqchain.render.table import Column, Table
    from pqchain_engines import prices

    frame = prices.measure(arguments.engine, samples=arguments.samples, runs=arguments.runs)
    console.save(frame, arguments.output)
    columns: list[Column | str] = ["algorithm"]
    for name in ("sign", "verify"):
        columns.append(f"{name}_seconds")
        group = f"95 % interval, {name}"
        for end in ("low", "high"):
            key = f"{name}_{end}_seconds"
            columns.append(Column(end, group=group, key=key, numeric=True, unit=SECONDS))
    columns.append("aggregate_seconds")
    table = Table.of(frame, columns, remark="reason", source=[Kind.MEASURED])
    data = {"provenance": frame.attrs["provenance"], "prices": console.records(frame)}
    return console.show(arguments, data, table, ok=console.all_ran(frame))


def show_comparison(arguments: argparse.Namespace) -> int:
    """Compare the consensus model with runs of an engine."""
    from pqchain_engines import comparison, registry, tables

    name = registry.get(arguments.engine).name
    runs = comparison.stored(name) if arguments.file is None else comparison.load(arguments.file)
    frame = comparison.compare(runs)
    console.save(frame, arguments.output, provenance=runs.attrs["provenance"])
    data = {"provenance": runs.attrs["provenance"], "comparison": console.records(frame)}
    outside = int((~frame["within"]).sum())
    remarks = [f"{len(frame) - outside} of {len(frame)} rows are within the goal"]
    return console.show(arguments, data, *tables.comparison(frame), remarks=remarks)


def show_certificates(arguments: argparse.Namespace) -> int:
    """Show bytes and verification times of certificates by number of validators."""
    from pqchain.study import certificate

    nodes = values.integers(arguments.nodes, "--nodes") if arguments.nodes else certificate.NODES
    frame = certificate.certificates(nodes)
    console.save(frame, arguments.output)
    data = {"provenance": frame.attrs["provenance"], "certificates": console.records(frame)}
    return console.show(arguments, data, *certificate.tables(frame))
