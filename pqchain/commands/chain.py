"""`pqchain chain`: measure blocks; show one as text, several as a table."""

from __future__ import annotations

import argparse

from pqchain import algorithms
from pqchain.commands import console, values


def run(arguments: argparse.Namespace) -> int:
    """Measure blocks and show them."""
    names = arguments.algorithm or []
    wants_all = [name.casefold() for name in names] == ["all"]
    # Unknown names are rejected before the slower imports.
    for name in () if wants_all else names:
        algorithms.split_hybrid(name)
    from pqchain.bench import blocks, presets, tables

    wanted = ("algorithm", "transactions", "threads", "key_mode", "implementation", "data_bytes")
    with console.resumable(arguments, "chain", wanted) as checkpoint:
        frame = blocks.measure_blocks(
            None if wants_all else [*names, *arguments.user_schemes] or ["Falcon-512"],
            transactions=arguments.transactions,
            threads=values.integers(arguments.threads, "--threads"),
            key_mode=arguments.key_mode,
            implementation=arguments.implementation,
            data_bytes=arguments.data_bytes,
            preset=arguments.preset or presets.preset(),
            progress=console.is_interactive(),
            checkpoint=checkpoint,
            warn=False,  # shown with the table, and in --json
        )
        frame.attrs.pop("rounds", None)
        console.save(frame, arguments.output)
    # LaTeX and Markdown are for tables, also of a single algorithm.
    if frame["algorithm"].nunique() == 1 and not console.wants_table_markup(arguments):
        return console.show_measurements(arguments, "blocks", frame, tables.block_summary(frame))
    return console.show_measurements(arguments, "blocks", frame, tables.block_table(frame))
