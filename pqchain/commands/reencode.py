"""What `pqchain reencode` does: replay a re-encoding and show where the time goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pqchain.commands import console as commands
from pqchain.commands.console import FINE, talk
from pqchain.errors import UsageError
from pqchain.render import numbers
from pqchain.wire.transports import registry

if TYPE_CHECKING:
    from pqchain.reencode.scenario import Scenario

_FIELDS = (
    "mode", "experiment", "transport", "blocks", "block_bytes", "datagram_bytes", "seed",
    "sources", "sessions", "overlap", "limit_seconds",
)  # fmt: skip
_MOST_REPEATS = 10_000
_VIRTUAL = " and ".join(registry.names(virtual=True))
_LINK_FIELDS = ("bits_per_second", "delay_seconds", "loss")


def add(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Describe the replay of a re-encoding."""
    replaying = command(
        "reencode", run,
        "replay how nodes recover and re-encode blocks after a failure",
        "  pqchain reencode                                     virtual clock, 2 MB block\n"
        "  pqchain reencode --mode loopback --datagram-bytes 8952\n"
        "  pqchain reencode --transport grpc                    real sockets\n"
        "  pqchain reencode --experiment exchange --blocks 10 --block-bytes 200000 \\\n"
        "      --streams single,multiplexed --repeats 10        what do many streams save?\n"
        "  pqchain reencode --mode netns --bits-per-second 1e7 --transport tcp-tls\n"
        "  pqchain reencode --preset paper --resume kept        may be stopped and resumed\n"
        "  pqchain reencode --qlog logs                         open those files in qvis\n\n"
        "Ten nodes hold a block as ten chunks of a (7,3) Reed-Solomon code. One dies; heartbeats\n"
        "fail; the other nine gather chunks, decode, check hashes and encode with (6,3).\n\n"
        "modes:\n"
        "  virtual   every byte of QUIC, TLS and the codec is run; clock, link and the rates of\n"
        "            decoding, encoding, hashing and files are modelled; same seed, same numbers\n"
        "  loopback  a process per node and real sockets; everything is measured, nothing shaped\n"
        "  netns     the same between network namespaces with links of a given rate; needs root\n\n"
        "phases: transfer, decode, encode, io (files), other (hashes, checks, confirmations)",
    )  # fmt: skip
    replaying.add_argument(
        "--preset", choices=("quick", "paper"),
        help="quick (default): one block of 2 MB; paper: ten blocks of 64 MB, 10 Gbit/s",
    )  # fmt: skip
    replaying.add_argument(
        "--mode", choices=("virtual", "loopback", "netns"),
        help=f"default: virtual; for other transports than {_VIRTUAL}, loopback",
    )  # fmt: skip
    replaying.add_argument(
        "--experiment", choices=("reencode", "exchange"),
        help="a failure and its repair (default), or everyone asks everyone for chunks",
    )  # fmt: skip
    replaying.add_argument(
        "--transport", choices=tuple(registry.TRANSPORTS),
        help="default: aioquic; qh3 (QUIC too, in Rust) and grpc need qh3 and grpcio installed",
    )  # fmt: skip
    replaying.add_argument(
        "--streams", action="append", metavar="KIND",
        help="single, multiplexed, or both, separated by commas, to compare them",
    )  # fmt: skip
    replaying.add_argument("--repeats", type=int, default=1, metavar="N", help="default: 1")
    for option, kind, what in (
        ("--blocks", int, "how many blocks"),
        ("--block-bytes", int, "length of a block"),
        ("--datagram-bytes", int, "longest QUIC datagram, 1200 to 16000"),
        ("--bits-per-second", float, "rate of each port of the virtual network, or of a namespace"),
        ("--delay-seconds", float, "one-way delay of the virtual network, or of a namespace"),
        ("--loss", float, "probability that a datagram of such a network is lost"),
        ("--datagram-seconds", float, "virtual processor time of each datagram; default: 0"),
        ("--limit-seconds", float, "when a run that does not end by itself is ended; default: 600"),
        ("--seed", int, "of blocks, losses and starting times; repeat r adds r"),
    ):
        replaying.add_argument(option, type=kind, metavar="N", help=what)
    replaying.add_argument(
        "--sources", choices=("nearest", "least-loaded", "all"), help="whom a node asks for chunks"
    )
    replaying.add_argument(
        "--sessions", choices=("kept", "full", "0-rtt"),
        help="chunks over the heartbeats' sessions (default), or over fresh ones",
    )  # fmt: skip
    replaying.add_argument(
        "--overlap", action="store_true", default=None, help="decode while chunks still arrive"
    )
    replaying.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="keep finished virtual blocks there"
    )
    replaying.add_argument(
        "--qlog", type=Path, metavar="FOLDER", help="write each node's QUIC log there, for qvis"
    )
    replaying.add_argument(
        "--output", type=Path, metavar="FILE.csv", help="save, with its provenance in FILE.json"
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay a re-encoding and show where the time goes."""
    from pqchain import results
    from pqchain.reencode import replay, tables

    output: Path | None = arguments.output
    commands._check_output(output)
    if not 1 <= arguments.repeats <= _MOST_REPEATS:
        raise UsageError(f"--repeats {arguments.repeats}: give 1 to {_MOST_REPEATS}")
    streams = list(dict.fromkeys(commands._split(arguments.streams) or []))
    one = _scenario(arguments, streams)
    logging = registry.names(logs=True)
    for name, works, possible in (
        ("resume", "virtual", one.mode == "virtual"),
        ("qlog", " and ".join(logging), one.transport in logging),
    ):
        if getattr(arguments, name) is not None and not possible:
            raise UsageError(
                f"--{name} works with {works} only, this run is {one.mode} over {one.transport}; "
                "leave it out"
            )
        folder: Path | None = getattr(arguments, name)
        if folder is not None:
            # Better now than after minutes.
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"--{name} {folder} cannot be made: {error.strerror}") from error
    reason = replay.check_possible(one)
    if reason:
        frame = replay.unsupported(one, reason)
    else:
        runs = arguments.repeats * max(len(streams), 1)
        talk(
            f"About {numbers.duration(runs * replay.estimate_seconds(one))} on an idle machine: "
            f"{runs} run{'s'[: runs != 1]} of {numbers.byte_count(one.transfer_bytes)} of chunks."
        )
        frame = replay.replay(
            one, streams=streams, repeats=arguments.repeats, progress=sys.stderr.isatty(),
            resume=arguments.resume, logs=arguments.qlog,
        )  # fmt: skip
    paired = len(streams) > 1 and arguments.repeats > 1 and not reason
    compared = None
    if paired:
        from pqchain.works.quic_reencoding.work import CLAIMED_PERCENT

        compared = replay.contrast(frame, claimed_percent=CLAIMED_PERCENT)
    if output is not None:
        results.save(frame, output)
        talk(f"Saved: {output}")
    if arguments.json:
        extra = {} if compared is None else {"contrast": commands._records(compared)}
        provenance = frame.attrs.get("provenance", {})
        commands._write_json({"provenance": provenance, "runs": commands._records(frame), **extra})
        return FINE
    width = commands._terminal_width()
    commands._write(tables.runs(frame).text(width))
    if compared is not None:
        commands._write("\n" + tables.contrast(compared).text(width))
    elif len(streams) > 1 and not reason:
        talk("One pair tells nothing about a difference of some percent: give --repeats 10.")
    about = frame.attrs.get("provenance", {})
    for what in ("run", "modelled"):
        if about.get(what):
            talk(f"{what.capitalize()}: {about[what]}.")
    return FINE


def _scenario(arguments: argparse.Namespace, streams: list[str]) -> Scenario:
    """Return what was asked for. Raises UsageError with the value and its bounds."""
    from pqchain.reencode import scenario

    def given(names: tuple[str, ...]) -> dict[str, object]:
        values = {name: getattr(arguments, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    changes = given(_FIELDS)
    if "transport" in changes and not registry.get(str(changes["transport"])).virtual:
        changes.setdefault("mode", "loopback")
    if len(streams) == 1:
        changes["streams"] = streams[0]
    one = scenario.preset(arguments.preset or "quick", **changes)
    link, compute = given(_LINK_FIELDS), given(("datagram_seconds",))
    for kind in streams:
        replace(one, streams=kind)
    for names, modes in ((link, ("virtual", "netns")), (compute, ("virtual",))):
        if names and one.mode not in modes:
            option = next(iter(names)).replace("_", "-")
            raise UsageError(
                f"--{option} {next(iter(names.values()))}: {one.mode} models and shapes nothing; "
                f"choose --mode {' or '.join(modes)}"
            )
    return replace(
        one,
        link=replace(one.link, **link),  # type: ignore[arg-type]
        compute=replace(one.compute, **compute),  # type: ignore[arg-type]
    )
