"""`pqchain chain`: measure blocks; one is described in text, several are listed in a table."""

from __future__ import annotations

import argparse

from pqchain import algorithms
from pqchain.commands import console, values
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Measure blocks and show them."""
    own: list[str] = arguments.own
    # Wrong names are refused before the slower imports.
    for name in arguments.algorithm or ():
        algorithms.split_hybrid(name)
    from pqchain.bench import blocks, presets, tables

    names: list[str] | None = [*(arguments.algorithm or []), *own] or None
    if arguments.all and own:
        names = arguments.algorithm
    if arguments.all and names is not None:
        raise UsageError(f"--all and --algorithm {','.join(names)} exclude each other; give one")
    threads = ",".join(arguments.threads or ["1", "2", "4"])
    measured = blocks.measure_blocks(
        None if arguments.all else names or ["Falcon-512"],
        transactions=arguments.transactions,
        threads=values.whole_numbers(threads, "--threads"),
        key_mode=arguments.key_mode,
        implementation=arguments.implementation,
        data_bytes=arguments.data_bytes,
        preset=arguments.preset or presets.preset(),
        progress=console.watched(),
    )
    measured.attrs.pop("rounds", None)
    console.save(measured, arguments.output)
    # LaTeX and Markdown are for tables, also of a single algorithm.
    alone = measured["algorithm"].nunique() == 1 and not console.for_paper(arguments)
    shown = "\n".join(tables.lines(measured)) if alone else tables.block_table(measured)
    return console.measured(arguments, "blocks", measured, shown)
