"""`pqchain bench`: operations timed on this machine."""

from __future__ import annotations

import argparse

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Measure and show."""
    from pqchain.bench import operations, presets, tables

    output = beside = arguments.output
    if arguments.samples:
        if output is None:
            raise UsageError(
                "--samples needs --output FILE.csv; the samples go to FILE-samples.csv"
            )
        beside = console.table(output.with_name(f"{output.stem}-samples.csv"))
    names: list[str] | None = arguments.algorithm
    if own := console.own_schemes(arguments.scheme):
        names = [*(names or []), *own]
    measured = operations.measure(
        None if names is None else [algorithms.get(name).name for name in names],
        arguments.operation,
        arguments.implementation,
        preset=arguments.preset or presets.preset(),
        progress=console.watched(),
        keep_samples=arguments.samples,
    )
    samples = measured.attrs.pop("samples", None)
    console.save(measured, output)
    if samples is not None:
        console.save(samples, beside, provenance=measured.attrs["provenance"])
    return console.measured(arguments, "measurements", measured, tables.operation_table(measured))
