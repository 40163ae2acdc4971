"""`pqchain reproduce`: measure, compare with the published tables, write the report."""

from __future__ import annotations

import argparse

from pqchain.commands import console


def run(arguments: argparse.Namespace) -> int:
    """Write the report and summarize its results."""
    from pqchain import bench, report

    done = report.reproduce(
        arguments.output,
        preset=arguments.preset or bench.preset(),
        only=arguments.only,
        algorithms=arguments.own,
        progress=console.watched(),
    )
    by_print = done.claims["source"] == "published"
    columns = {
        "claims checked with the paper's numbers": done.claims.loc[by_print, "verdict"],
        "claims checked with our numbers": done.claims.loc[~by_print, "verdict"],
        "sizes": done.sizes["verdict"],
        "printed numbers, ours": done.printed["kind"],
        "operations timed": done.measurements["status"],
    }
    counts = {
        name: {str(value): int(count) for value, count in column.value_counts().items()}
        for name, column in columns.items()
    }
    plain = {
        "ok": not done.failures,
        "failures": done.failures,
        "index": str(done.index),
        "works": list(done.keys),
        **{
            name.replace(" ", "_").replace(",", "").replace("'", ""): count
            for name, count in counts.items()
        },
        "frames": {
            key: {name: console.records(frame) for name, frame in frames.items()}
            for key, frames in done.frames.items()
        },
    }
    shown = []
    if not arguments.json:
        for name, verdicts in counts.items():
            listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
            console.talk(f"{name:>38}: {listed}")
        for failure in done.failures:
            console.talk(f"pqchain: {failure}")
        for work in done.works if arguments.only else ():
            shown += [table.text() for table in work.tables(done.frames[work.key])]
    return console.show(arguments, plain, *shown, str(done.index), fine=not done.failures)
