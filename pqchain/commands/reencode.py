"""`pqchain reencode`: replay the re-encoding of blocks after a failure, with times by phase."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from pqchain import checks
from pqchain.commands import console, options, values
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.reencode import scenario
from pqchain.reencode.scenario import Compute, Link, ReplayScenario
from pqchain.results import outputs
from pqchain.wire.transports import registry


def run(arguments: argparse.Namespace) -> int:
    """Replay a re-encoding of blocks and show the time of each phase."""
    from pqchain.reencode import replays, tables
    from pqchain.works import papers

    repeats: int = arguments.repeats
    checks.integer("--repeats", repeats, least=1, most=scenario.MAX_REPEATS)
    choices = checks.declarations(ReplayScenario)["streams"].choices
    names: Any = (values.canonical_case(name, choices) for name in arguments.streams or ())
    streams = list(dict.fromkeys(names))
    chosen = _scenario(arguments, streams)
    cluster = values.cluster(arguments, chosen.mode)
    _make_folder("--store", arguments.store, chosen, "virtual")
    _make_folder("--log", arguments.log, chosen, *registry.names(writes_qlog=True))
    reason = replays.unavailable_reason(chosen)
    if reason:
        frame = replays.unsupported(chosen, reason).frame
    else:
        runs = repeats * max(len(streams), 1)
        size = BYTES.text(chosen.transfer_bytes, exact=True)
        console.print_stderr(
            f"About {SECONDS.text(runs * replays.estimate_seconds(chosen), 2)} on an idle machine: "
            f"{runs} run{'s'[: runs != 1]} of {size} of chunks."
        )
        frame = replays.replay(
            chosen,
            streams=streams,
            repeats=repeats,
            progress=console.is_interactive(),
            store=arguments.store,
            log=arguments.log,
            scheduler=cluster,
        ).frame
    provenance = frame.attrs.get("provenance", {})
    console.save(frame, arguments.output)
    data = {"provenance": provenance, "runs": console.records(frame)}
    shown_tables = [tables.runs_table(frame)]
    remarks = []
    if len(streams) > 1 and not reason:
        if repeats > 1:
            printed = papers.published("quic-reencoding").set_index("quantity")["value"]
            claimed = float(printed["transfer_time_saving_percent"])
            compared = replays.contrast(frame, claimed_percent=claimed)
            data["contrast"] = console.records(compared)
            shown_tables.append(tables.contrast_table(compared))
        else:
            remarks.append(
                "One pair of runs cannot show a difference of some percent; use --repeats 10."
            )
    facts = {name: provenance.get(name) for name in ("run", "modelled")}
    remarks += [f"{name.capitalize()}: {fact}." for name, fact in facts.items() if fact]
    remarks += values.cluster_remarks(provenance.get("cluster", {}))
    return console.show(arguments, data, *shown_tables, remarks=remarks)


def _make_folder(option: str, folder: Path | None, chosen: ReplayScenario, *needed: str) -> None:
    """Create the folder up front (fail fast). Raises UsageError."""
    if folder is None:
        return
    if not {chosen.mode, chosen.transport} & set(needed):
        raise UsageError(
            f"{option} works with {' and '.join(needed)} only, this run is {chosen.mode} over "
            f"{chosen.transport}; leave it out"
        )
    outputs.claim(folder)


def _scenario(arguments: argparse.Namespace, streams: list[Any]) -> ReplayScenario:
    changes = options.changed_fields(arguments, ReplayScenario)
    if "transport" in changes and not registry.get(changes["transport"]).virtual:
        # A transport without virtual time needs sockets.
        changes.setdefault("mode", "loopback")
    elif arguments.log is not None:
        # Not every transport can write qlog.
        changes.setdefault("transport", registry.names(writes_qlog=True)[0])
    if len(streams) == 1:
        changes["streams"] = streams[0]
    chosen = scenario.preset(arguments.preset or "quick", **changes)
    # Every kind of streams is validated before the first run.
    for kind in streams:
        replace(chosen, streams=kind)
    link = options.changed_fields(arguments, Link)
    compute = options.changed_fields(arguments, Compute)
    _check_mode(chosen, link, "virtual", "netns")
    _check_mode(chosen, compute, "virtual")
    return replace(
        chosen, link=replace(chosen.link, **link), compute=replace(chosen.compute, **compute)
    )


def _check_mode(chosen: ReplayScenario, changes: dict[str, Any], *modes: str) -> None:
    if changes and chosen.mode not in modes:
        name, value = next(iter(changes.items()))
        raise UsageError(
            f"--{name.replace('_', '-')} {value} needs --mode {' or '.join(modes)}; got "
            f"{chosen.mode}"
        )
