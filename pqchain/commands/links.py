"""`pqchain links`: replay one repair over many kinds of links, and compare the ways."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.reencode.scenario import Scenario


def run(arguments: argparse.Namespace) -> int:
    """Replay each way under each link condition; show a table and draw it."""
    from pqchain import results
    from pqchain.reencode import sweeps, tables

    # The plot's file is checked before the replays.
    plot = console.picture(arguments.plot, "--plot")
    base = replace(sweeps.SMALL, **console.changes(arguments, Scenario))
    # The sweep varies rate, delay and loss, which loopback cannot.
    if base.mode == "loopback":
        raise UsageError("--mode loopback: its links are not shaped; choose virtual or netns")
    ways = [values.folded(each, sweeps.WAYS) for each in console.names(arguments.ways)]
    frame = sweeps.sweep(
        base,
        bits_per_second=_numbers("--bits-per-second", arguments.rates),
        delay_seconds=_numbers("--delay-seconds", arguments.delays),
        loss=_numbers("--loss", arguments.losses),
        ways=list(dict.fromkeys(ways)),
        repeats=arguments.repeats,
        progress=console.watched(),
    )
    console.save(frame, arguments.output)
    if plot is not None:
        from pqchain import plots

        drawn = plots.figure_bytes(plots.plot_links(frame), console.format_of(plot))
        results.write_atomically(plot, drawn)
    plain = {"provenance": frame.attrs["provenance"], "links": console.records(frame)}
    fine = not (frame["status"] == "failed").any()
    return console.show(arguments, plain, tables.links_table(frame), fine=fine)


def _numbers(option: str, text: str) -> list[float]:
    """Parse numbers separated by commas. Raises UsageError."""
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} {text}: expected numbers separated by commas") from None
