"""`pqchain links`: compare transports by replaying one repair over many kinds of links."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pqchain.commands import console, options, values
from pqchain.errors import UsageError
from pqchain.reencode.scenario import ReplayScenario


def run(arguments: argparse.Namespace) -> int:
    """Replay a repair by each transport variant on each kind of link; show a table and plot it."""
    from pqchain.reencode import sweeps, tables

    base = replace(sweeps.SMALL, **options.changed_fields(arguments, ReplayScenario))
    # The sweep varies rate, delay and loss, which loopback cannot.
    if base.mode not in ("virtual", "netns"):
        raise UsageError(
            f"--mode must be virtual or netns, whose links are shaped; got {base.mode}"
        )
    ways = [values.canonical_case(name, sweeps.WAYS) for name in options.name_list(arguments.ways)]
    frame = sweeps.sweep(
        base,
        bits_per_second=_numbers("--bits-per-second", arguments.rates),
        delay_seconds=_numbers("--delay-seconds", arguments.delays),
        loss=_numbers("--loss", arguments.losses),
        ways=list(dict.fromkeys(ways)),
        repeats=arguments.repeats,
        progress=console.is_interactive(),
    )
    console.save(frame, arguments.output)
    if arguments.plot is not None:
        from pqchain import plots

        console.save_plot(plots.plot_links(frame), arguments.plot)
    data = {"provenance": frame.attrs["provenance"], "links": console.records(frame)}
    ok = not (frame["status"] == "failed").any()
    return console.show(arguments, data, tables.links_table(frame), ok=ok)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} must be numbers separated by commas; got {text}") from None
