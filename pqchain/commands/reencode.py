"""Replay how nodes recover and re-encode blocks after a node failure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pqchain import checks
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.reencode import scenario
from pqchain.reencode.scenario import Compute, ReplayScenario
from pqchain.wire.transports import registry

if TYPE_CHECKING:
    ReplayOptions: TypeAlias = dict[str, Any]
    LinkOptions: TypeAlias = dict[str, Any]
    ComputeOptions: TypeAlias = dict[str, Any]
else:
    ReplayOptions = values.options_of(
        ReplayScenario,
        "mode transport blocks block_bytes experiment datagram_bytes seed sources sessions",
        group="scenario",
    )
    LinkOptions = values.options_of(
        scenario.Link, "bits_per_second delay_seconds loss", group="scenario"
    )
    ComputeOptions = values.options_of(Compute, "datagram_seconds", group="scenario")


def reencode(
    *,
    changes: ReplayOptions | None = None,
    preset: Literal["quick", "paper"] = "quick",
    streams: values.Names = (),
    link: LinkOptions | None = None,
    compute: ComputeOptions | None = None,
    repeats: values.Whole = 1,
    hosts: values.ClusterOptions = values.NO_CLUSTER,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Replay how nodes recover and re-encode blocks after a node failure.

    Modes: virtual, where links and rates of computing are modelled; loopback, with a process per
    node and measured times; netns, between network namespaces (root); cluster, on the workers of
    --scheduler.

    Args:
        preset: quick: one block of 2 MB; paper: ten blocks of 64 MB at 10 Gbit/s
        streams: single, multiplexed, or both to compare them; default: multiplexed
        repeats: number of replays, each with another seed

    Examples:
      pqchain reencode                                     virtual clock, 2 MB block
      pqchain reencode --mode loopback --datagram-bytes 8952
      pqchain reencode --experiment exchange --blocks 10 --streams single,multiplexed --repeats 10
      pqchain reencode --mode cluster --scheduler tls://host:8786
      pqchain reencode --mode netns --transport tcp-tls --bits-per-second 1e7
    """
    from pqchain.reencode import replays

    checks.integer("--repeats", repeats, least=1, most=scenario.MAX_REPEATS)
    kinds: list[Any] = list(
        dict.fromkeys(values.canonical_case(name, scenario.STREAMS) for name in streams)
    )
    chosen = _scenario(dict(changes or {}), preset, kinds, link or {}, compute or {})
    cluster = hosts.cluster(chosen.mode)
    if reason := replays.unavailable_reason(chosen):
        frame = replays.unsupported(chosen, reason).frame
    else:
        progress = console.is_interactive()
        frame = replays.replay(
            chosen, streams=kinds, repeats=repeats, progress=progress, scheduler=cluster
        ).frame
    provenance = frame.attrs.get("provenance", {})
    console.save(frame, output)
    data = {"provenance": provenance, "runs": console.records(frame)}
    shown, remarks = [replays.runs_table(frame)], []
    if len(kinds) > 1 and not reason and repeats > 1:
        compared = replays.contrast(frame, claimed_percent=_claimed_percent())
        data["contrast"] = console.records(compared)
        shown.append(replays.contrast_table(compared))
    elif len(kinds) > 1 and not reason:
        remarks.append(
            "One pair of runs cannot show a difference of some percent; use --repeats 10."
        )
    facts = {name: provenance.get(name) for name in ("run", "modelled")}
    remarks += [f"{name.capitalize()}: {fact}." for name, fact in facts.items() if fact]
    remarks += console.cluster_remarks(provenance.get("cluster", {}))
    return console.show(form, data, *shown, remarks=remarks)


def _claimed_percent() -> float:
    from pqchain.works import papers

    printed = papers.published("quic-reencoding").set_index("quantity")["value"]
    return float(printed["transfer_time_saving_percent"])


def _scenario(
    changes: dict[str, Any],
    preset: str,
    streams: list[Any],
    link: dict[str, Any],
    compute: dict[str, Any],
) -> ReplayScenario:
    if "transport" in changes and not registry.get(changes["transport"]).quic:
        # A transport without virtual time needs sockets.
        changes.setdefault("mode", "loopback")
    if len(streams) == 1:
        changes["streams"] = streams[0]
    chosen = scenario.preset(preset, **changes)
    # Every kind of streams is validated before the first run.
    for kind in streams:
        replace(chosen, streams=kind)
    for options, modes in ((link, ("virtual", "netns")), (compute, ("virtual",))):
        for name, value in options.items():
            if chosen.mode not in modes:
                raise UsageError(
                    f"--{name.replace('_', '-')} {value} needs --mode {' or '.join(modes)}; got "
                    f"{chosen.mode}"
                )
    return replace(
        chosen, link=replace(chosen.link, **link), compute=replace(chosen.compute, **compute)
    )
