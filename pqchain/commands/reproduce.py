"""`pqchain reproduce`: measure, set beside the published tables, write the report."""

from __future__ import annotations

import argparse
from pathlib import Path

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
    from pqchain import bench, report

    done = report.reproduce(
        arguments.output,
        preset=arguments.preset or bench.preset(),
        only=arguments.only,
        progress=console.watched(),
    )
    by_print = done.claims["source"] == "published"
    columns = {
        "statements by the print": done.claims.loc[by_print, "verdict"],
        "statements by numbers from here": done.claims.loc[~by_print, "verdict"],
        "sizes": done.sizes["verdict"],
        "operations timed": done.measurements["status"],
    }
    counts = {
        name: {str(value): int(count) for value, count in column.value_counts().items()}
        for name, column in columns.items()
    }
    if arguments.json:
        console.write_json(
            {
                "ok": not done.failures,
                "failures": done.failures,
                "index": str(done.index),
                "works": list(done.keys),
                **{name.replace(" ", "_"): count for name, count in counts.items()},
                "frames": {
                    key: {name: console.records(frame) for name, frame in frames.items()}
                    for key, frames in done.frames.items()
                },
            }
        )
    else:
        for name, verdicts in counts.items():
            listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
            console.talk(f"{name:>31}: {listed}")
        for failure in done.failures:
            console.talk(f"pqchain: {failure}")
        for work in done.works if arguments.only else ():
            for table in work.tables(done.frames[work.key]):
                console.write(table.text() + "\n")
        console.write(str(done.index))
    return console.CHECK_FAILED if done.failures else console.FINE
