"""`pqchain bench`: time operations on this machine."""

from __future__ import annotations

import argparse

from pqchain.commands import console
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Measure operations and show the results."""
    own: list[str] = arguments.own
    names = console.beside(arguments.algorithm or (), own) or None
    # Imported after the names are checked, so that a wrong name is refused quickly.
    from pqchain.bench import comparing, operations, presets, tables

    output = beside = arguments.output
    if arguments.samples:
        if output is None:
            raise UsageError(
                "--samples needs --output FILE.csv; the samples go to FILE-samples.csv"
            )
        # Output files are checked before the measurement, which may take minutes.
        beside = console.table(output.with_name(f"{output.stem}-samples.csv"))
    history = arguments.append and console.table(arguments.append)
    measured = operations.measure(
        names,
        arguments.operation,
        arguments.implementation,
        preset=arguments.preset or presets.preset(),
        progress=console.watched(),
        # --cycles computes its quartiles from the samples.
        keep_samples=arguments.samples or arguments.cycles,
    )
    samples = measured.attrs.pop("samples", None)
    console.save(measured, output)
    if samples is not None and arguments.samples:
        console.save(samples, beside, provenance=measured.attrs["provenance"])
    if history:
        comparing.append(measured, history)
        console.talk(f"Added to: {history}")
    if arguments.cycles and samples is not None:
        quartiles = operations.quartiles(samples)
        plain = {"provenance": measured.attrs["provenance"]}
        plain["quartiles"] = console.records(quartiles)
        return console.show(arguments, plain, tables.quartile_table(quartiles))
    return console.measured(arguments, "measurements", measured, tables.operation_table(measured))
