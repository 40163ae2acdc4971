"""`pqchain reproduce`: measure, compare with the published tables, write results and pages."""

from __future__ import annotations

import argparse

from pqchain.commands import console
from pqchain.figures import Kind


def run(arguments: argparse.Namespace) -> int:
    """Write results and pages, and summarize the verdicts."""
    from pqchain import bench, reproduce
    from pqchain.works import printed
    from pqchain.works.work import split_ours

    with console.resumable(arguments, "reproduce", ("only",)) as checkpoint:
        result = reproduce.run(
            arguments.output,
            preset=arguments.preset or bench.preset(),
            only=arguments.only,
            algorithms=arguments.user_schemes,
            progress=console.is_interactive(),
            checkpoint=checkpoint,
        )
    claims, added = split_ours(result.claims)
    is_published = claims["source"] == Kind.PUBLISHED
    columns = {
        "claims checked with the paper's numbers": claims.loc[is_published, "verdict"],
        "claims checked with our numbers": claims.loc[~is_published, "verdict"],
        "statements of ours": added["verdict"],
        "sizes": printed.sizes(result.printed)["verdict"],
        "printed numbers, ours": result.printed["kind"],
        "operations timed": result.measurements["status"],
    }
    counts = {
        name: {str(value): int(count) for value, count in column.value_counts().items()}
        for name, column in columns.items()
    }
    data = {
        "ok": not result.failures,
        "failures": result.failures,
        "index": str(result.output / "index.html"),
        "works": [work.work.key for work in result.results],
        **{
            name.replace(" ", "_").replace(",", "").replace("'", ""): count
            for name, count in counts.items()
        },
        "frames": {
            work.work.key: {name: console.records(frame) for name, frame in work.frames.items()}
            for work in result.results
        },
    }
    if not arguments.json:
        for name, verdicts in counts.items():
            listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
            console.print_stderr(f"{name:>38}: {listed}")
        for failure in result.failures:
            console.print_stderr(f"pqchain: {failure}")
    return console.show(arguments, data, str(result.output / "index.html"), ok=not result.failures)
