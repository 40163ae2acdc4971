"""`pqchain reencode`: replay a re-encoding, and show where its time goes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from pqchain import checks
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.reencode import scenario
from pqchain.reencode.scenario import Compute, Link, Scenario
from pqchain.results import outputs
from pqchain.wire.transports import registry


def run(arguments: argparse.Namespace) -> int:
    """Replay a re-encoding and show where its time goes."""
    from pqchain.reencode import replay, tables
    from pqchain.works import papers

    repeats: int = arguments.repeats
    checks.integer("--repeats", repeats, least=1, most=scenario.MOST_REPEATS)
    known = checks.meanings(Scenario)["streams"][1].choices
    streams = list(dict.fromkeys(values.folded(each, known) for each in arguments.streams or ()))
    one = _scenario(arguments, streams)
    _make_folder("--resume", arguments.resume, one, needs=["virtual"])
    _make_folder("--qlog", arguments.qlog, one, needs=registry.names(logs=True))
    reason = replay.unavailable_reason(one)
    if reason:
        frame = replay.unsupported(one, reason)
    else:
        runs = repeats * max(len(streams), 1)
        size = BYTES.text(one.transfer_bytes, exact=True)
        console.talk(
            f"About {SECONDS.text(runs * replay.estimate_seconds(one), 2)} on an idle machine: "
            f"{runs} run{'s'[: runs != 1]} of {size} of chunks."
        )
        frame = replay.replay(
            one,
            streams=streams,
            repeats=repeats,
            progress=console.watched(),
            resume=arguments.resume,
            logs=arguments.qlog,
        )
    provenance = frame.attrs.get("provenance", {})
    console.save(frame, arguments.output)
    plain = {"provenance": provenance, "runs": console.records(frame)}
    shown = [tables.runs_table(frame)]
    remarks = []
    if len(streams) > 1 and not reason:
        if repeats > 1:
            printed = papers.published("quic-reencoding").set_index("quantity")["value"]
            claimed = float(printed["transfer_time_saving_percent"])
            compared = replay.contrast(frame, claimed_percent=claimed)
            plain["contrast"] = console.records(compared)
            shown.append(tables.contrast_table(compared))
        else:
            remarks.append(
                "One pair tells nothing about a difference of some percent: give --repeats 10."
            )
    facts = {fact: provenance.get(fact) for fact in ("run", "modelled")}
    remarks += [f"{fact.capitalize()}: {said}." for fact, said in facts.items() if said]
    return console.show(arguments, plain, *shown, remarks=remarks)


def _make_folder(option: str, folder: Path | None, one: Scenario, *, needs: list[str]) -> None:
    """Create the folder up front (fail fast). Raises UsageError."""
    if folder is None:
        return
    if not {one.mode, one.transport} & set(needs):
        raise UsageError(
            f"{option} works with {' and '.join(needs)} only, this run is {one.mode} over "
            f"{one.transport}; leave it out"
        )
    outputs.claim(folder)


def _scenario(arguments: argparse.Namespace, streams: list[str]) -> Scenario:
    """Return the scenario of the options. Raises UsageError for an invalid value."""
    changes = console.changes(arguments, Scenario)
    if "transport" in changes and not registry.get(changes["transport"]).virtual:
        # A transport without virtual time needs sockets.
        changes.setdefault("mode", "loopback")
    elif arguments.qlog is not None:
        # Not every transport can write qlog.
        changes.setdefault("transport", registry.names(logs=True)[0])
    if len(streams) == 1:
        changes["streams"] = streams[0]
    one = scenario.preset(arguments.preset or "quick", **changes)
    # Every kind of streams is validated before the first run.
    for kind in streams:
        replace(one, streams=kind)
    link, compute = console.changes(arguments, Link), console.changes(arguments, Compute)
    _check_mode(one, link, "virtual", "netns")
    _check_mode(one, compute, "virtual")
    return replace(one, link=replace(one.link, **link), compute=replace(one.compute, **compute))


def _check_mode(one: Scenario, changes: dict[str, Any], *modes: str) -> None:
    """Reject options that have no effect in the mode. Raises UsageError."""
    if changes and one.mode not in modes:
        name, value = next(iter(changes.items()))
        raise UsageError(
            f"--{name.replace('_', '-')} {value}: {one.mode} models and shapes nothing; "
            f"choose --mode {' or '.join(modes)}"
        )
