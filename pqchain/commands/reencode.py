"""`pqchain reencode`: a re-encoding replayed, and where its time goes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.reencode import scenario
from pqchain.reencode.scenario import Compute, Link, Scenario
from pqchain.render import numbers

SCENARIO = (
    *("mode", "experiment", "transport", "blocks", "block_bytes", "datagram_bytes", "seed"),
    *("sources", "sessions", "overlap", "limit_seconds"),
)
LINK = ("bits_per_second", "delay_seconds", "loss")
COMPUTE = ("datagram_seconds",)
"""Fields that have an option of their name."""

_MOST_REPEATS = 10_000


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.epilog = """examples:
  pqchain reencode                                     virtual clock, 2 MB block
  pqchain reencode --mode loopback --datagram-bytes 8952
  pqchain reencode --transport grpc                    real sockets
  pqchain reencode --experiment exchange --blocks 10 --block-bytes 200000 \\
      --streams single,multiplexed --repeats 10        what do many streams save?
  pqchain reencode --mode netns --bits-per-second 1e7 --transport tcp-tls
  pqchain reencode --preset paper --resume kept        may be stopped and resumed
  pqchain reencode --qlog logs                         open those files in qvis

Ten nodes hold a block as ten chunks of a (7,3) Reed-Solomon code. One dies; heartbeats
fail; the other nine gather chunks, decode, check hashes and encode with (6,3).

modes:
  virtual   every byte of QUIC, TLS and the codec is run; clock, link and the rates of
            decoding, encoding, hashing and files are modelled; same seed, same numbers
  loopback  a process per node and real sockets; everything is measured, nothing shaped
  netns     the same between network namespaces with links of a given rate; needs root

phases: transfer, decode, encode, io (files), other (hashes, checks, confirmations)"""
    console.add_json(parser)
    meaning = "quick (default): one block of 2 MB; paper: ten blocks of 64 MB, 10 Gbit/s"
    console.add_preset(parser, meaning)
    meaning = "single, multiplexed, or both, separated by commas, to compare them"
    console.add_names(parser, "KIND", streams=meaning)
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="default: 1")
    console.add_fields(parser, Scenario, SCENARIO)
    console.add_fields(parser, Link, LINK)
    console.add_fields(parser, Compute, COMPUTE)
    console.add_options(parser, "FOLDER", Path, resume="keep finished virtual blocks there")
    meaning = "write each node's QUIC log there, for qvis"
    console.add_options(parser, "FOLDER", Path, qlog=meaning)
    console.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Replay a re-encoding and show where the time goes."""
    from pqchain.reencode import replay
    from pqchain.works.quic_reencoding import tables as replaylayout

    console.check_output(arguments.output)
    repeats: int = arguments.repeats
    if not 1 <= repeats <= _MOST_REPEATS:
        raise UsageError(f"--repeats {repeats}: give 1 to {_MOST_REPEATS}")
    streams = list(dict.fromkeys(arguments.streams or []))
    one = _scenario(arguments, streams)
    _make_folder("--resume", arguments.resume, one, needs="virtual")
    _make_folder("--qlog", arguments.qlog, one, needs="aioquic")
    reason = replay.check_possible(one)
    if reason:
        frame = replay.unsupported(one, reason)
    else:
        runs = repeats * max(len(streams), 1)
        console.talk(
            f"About {numbers.duration(runs * replay.estimate_seconds(one))} on an idle machine: "
            f"{runs} run{'s'[: runs != 1]} of {numbers.byte_count(one.transfer_bytes)} of chunks."
        )
        frame = replay.replay(
            one,
            streams=streams,
            repeats=repeats,
            progress=console.watched(),
            resume=arguments.resume,
            logs=arguments.qlog,
        )
    several = len(streams) > 1 and not reason
    compared = replay.contrast(frame) if several and repeats > 1 else None
    provenance = frame.attrs.get("provenance", {})
    console.save(frame, arguments.output)
    if arguments.json:
        extra = {} if compared is None else {"contrast": console.records(compared)}
        console.write_json({"provenance": provenance, "runs": console.records(frame), **extra})
        return console.FINE
    console.write(replaylayout.runs_text(frame, console.width()))
    if compared is not None:
        console.write("\n" + replaylayout.contrast_text(compared, console.width()))
    elif several:
        console.talk(
            "One pair tells nothing about a difference of some percent: give --repeats 10."
        )
    for fact in ("run", "modelled"):
        if provenance.get(fact):
            console.talk(f"{fact.capitalize()}: {provenance[fact]}.")
    return console.FINE


def _make_folder(option: str, folder: Path | None, one: Scenario, *, needs: str) -> None:
    """Make a folder, better now than after minutes. Raises UsageError."""
    if folder is None:
        return
    if needs not in (one.mode, one.transport):
        raise UsageError(
            f"{option} works with {needs} only, this run is {one.mode} over {one.transport}; "
            "leave it out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {folder} cannot be made: {error.strerror}") from error


def _scenario(arguments: argparse.Namespace, streams: list[str]) -> Scenario:
    """Return the scenario of the options. Raises UsageError with the value and its bounds."""
    changes = console.changes(arguments, SCENARIO)
    if changes.get("transport", "aioquic") != "aioquic":
        changes.setdefault("mode", "loopback")
    if len(streams) == 1:
        changes["streams"] = streams[0]
    one = scenario.preset(arguments.preset or "quick", **changes)
    for kind in streams:
        replace(one, streams=kind)
    link, compute = console.changes(arguments, LINK), console.changes(arguments, COMPUTE)
    _check_mode(one, link, "virtual", "netns")
    _check_mode(one, compute, "virtual")
    return replace(one, link=replace(one.link, **link), compute=replace(one.compute, **compute))


def _check_mode(one: Scenario, changes: dict[str, Any], *modes: str) -> None:
    """Refuse options that other modes leave without effect."""
    if changes and one.mode not in modes:
        name, value = next(iter(changes.items()))
        raise UsageError(
            f"--{name.replace('_', '-')} {value}: {one.mode} models and shapes nothing; "
            f"choose --mode {' or '.join(modes)}"
        )
