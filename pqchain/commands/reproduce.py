"""`pqchain reproduce`: measure, set beside the published tables, write the report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pqchain.commands import console


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.epilog = """examples:
  pqchain reproduce
  pqchain reproduce --preset paper --only pqdpol

exits 1 only on a broken size or a failed computation, never on a timing"""
    console.add_json(parser)
    console.add_measuring_preset(parser, "2 to 3 minutes for all works on 4 idle cores")
    console.add_names(parser, "KEY", only="only this work; may be repeated")
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="FOLDER", help="default: results"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the report and say what came out."""
    from pqchain.bench import operations
    from pqchain.report import reproduce as report
    from pqchain.works.pqdpol import tables as pqdpol_layout
    from pqchain.works.quic_reencoding import tables as replaylayout
    from pqchain.works.round3 import tables as layout
    from pqchain.works.round3 import work as round3

    done = report.reproduce(
        arguments.output,
        preset=arguments.preset or operations.preset(),
        only=arguments.only,
        progress=console.watched(),
    )
    by_print = done.claims["source"] == "published"
    frames = (
        ("statements by the print", done.claims[by_print], "verdict"),
        ("statements by numbers from here", done.claims[~by_print], "verdict"),
        ("sizes", done.sizes, "verdict"),
        ("operations timed", done.measurements, "status"),
    )
    counts = {
        name: {str(value): int(count) for value, count in frame[column].value_counts().items()}
        for name, frame, column in frames
    }
    table = round3.table1(done.measurements) if round3.KEY in done.keys else None
    if arguments.json:
        extra: dict[str, Any] = {} if table is None else {"round3_table1": round3.columns(table)}
        if done.study:
            tables = done.study.tables
            extra["pqdpol_tables"] = [row for each in tables for row in console.records(each)]
        if done.replays:
            extra["quic_reencoding"] = {
                name: console.records(each) for name, each in done.replays.items() if name != "runs"
            }
        console.write_json(
            {
                "ok": not done.failures,
                "failures": done.failures,
                "index": str(done.index),
                "works": list(done.keys),
                **{name.replace(" ", "_"): count for name, count in counts.items()},
                **extra,
            }
        )
    else:
        for name, verdicts in counts.items():
            listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
            console.talk(f"{name:>31}: {listed}")
        for failure in done.failures:
            console.talk(f"pqchain: {failure}")
        if table is not None and arguments.only:
            console.write(layout.text(table, round3.cross_check(done.measurements)) + "\n")
        if done.replays and arguments.only:
            console.write(replaylayout.text(done.replays) + "\n")
        if done.study and arguments.only:
            console.write(pqdpol_layout.text(done.study) + "\n")
        console.write(str(done.index))
    return console.CHECK_FAILED if done.failures else console.FINE
