"""`pqchain bench`: operations timed on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.epilog = """examples:
  pqchain bench --algorithm Falcon-512,ML-DSA-44 --operation sign,verify
  pqchain bench --algorithm Dilithium2 --implementation liboqs-0.13/avx2 \
--implementation liboqs-0.13/ref
  pqchain bench --preset paper --output mine.csv --samples"""
    console.add_json(parser)
    repeat = "repeat or separate by commas:"
    console.add_names(
        parser,
        "NAME",
        algorithm=f"{repeat} names; default: every algorithm of the default build",
        operation=f"{repeat} {', '.join(algorithms.OPERATIONS)}",
        implementation=f"{repeat} see `pqchain algorithms --implementations`",
    )
    console.add_measuring_preset(parser, "2 to 3 minutes for everything, seconds for one scheme")
    console.add_output(parser)
    console.add_flags(parser, samples="save every sample too, in FILE-samples.csv")


def run(arguments: argparse.Namespace) -> int:
    """Measure and show."""
    from pqchain.bench import operations, presets, tables

    output: Path | None = arguments.output
    if arguments.samples and output is None:
        raise UsageError("--samples needs --output FILE.csv; the samples go to FILE-samples.csv")
    beside = []
    if arguments.samples and output is not None:
        beside = [output.with_name(f"{output.stem}-samples.csv")]
    console.check_output(output, *beside)
    names: list[str] | None = arguments.algorithm
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
        console.save(samples, *beside, provenance=measured.attrs["provenance"])
    return console.measured(arguments, "measurements", measured, tables.operation_table(measured))
