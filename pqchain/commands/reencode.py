"""Replay how nodes recover and re-encode blocks after a node failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pqchain import checks
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.figures import BYTES
from pqchain.reencode import scenario
from pqchain.reencode.scenario import Compute, ReplayScenario
from pqchain.wire.transports import registry

if TYPE_CHECKING:
    ReplayOptions: TypeAlias = dict[str, Any]
    ComputeOptions: TypeAlias = dict[str, Any]
else:
    ReplayOptions = values.options_of(
        ReplayScenario,
        "mode transport blocks block_bytes experiment datagram_bytes seed sources sessions",
        group="scenario",
    )
    ComputeOptions = values.options_of(Compute, "datagram_seconds", group="scenario")


def reencode(
    *,
    changes: ReplayOptions | None = None,
    preset: Literal["quick", "paper"] = "quick",
    streams: values.Names = (),
    ways: values.Names = (),
    bits_per_second: values.Numbers = (),
    delay_seconds: values.Numbers = (),
    loss: values.Numbers = (),
    compute: ComputeOptions | None = None,
    repeats: values.Whole | None = None,
    hosts: values.ClusterOptions = values.NO_CLUSTER,
    plot: values.PlotFile | None = None,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Replay how nodes recover and re-encode blocks after a node failure.

    Modes: virtual, where links and rates of computing are modelled; loopback, with a process per
    node and measured times; netns, between network namespaces (root); cluster, on the workers of
    --scheduler. With --ways, one repair is replayed by each of these variants of TCP and QUIC over
    links of each rate, delay and loss.

    Args:
        preset: quick: one block of 2 MB; paper: ten blocks of 64 MB at 10 Gbit/s
        streams: single, multiplexed, or both to compare them; default: multiplexed
        ways: tcp, quic, quic-one-stream, quic-cubic, quic-bbr, quic-fresh, quic-0-rtt
        bits_per_second: rate of every port, or with --ways several
        delay_seconds: one-way delay of a link, or with --ways several
        loss: loss probability of a datagram, or with --ways several
        repeats: number of replays, each with another seed; default: 1, with --ways 3
        plot: with --ways: plot the times: .pdf, .svg, .png or .pgf

    Examples:
      pqchain reencode                                     virtual clock, 2 MB block
      pqchain reencode --mode loopback --datagram-bytes 8952
      pqchain reencode --experiment exchange --blocks 10 --streams single,multiplexed --repeats 10
      pqchain reencode --mode cluster --scheduler tls://host:8786
      pqchain reencode --ways quic,quic-bbr --loss 0,0.01,0.05 --bits-per-second 1e7,1e9
      pqchain reencode --ways tcp,quic --mode netns --plot links.png
    """
    links = {"bits_per_second": bits_per_second, "delay_seconds": delay_seconds, "loss": loss}
    given = {name: values for name, values in links.items() if values}
    if ways:
        return _sweep(form, changes or {}, ways, repeats or 3, given, plot, output)
    if several := [name for name, values in given.items() if len(values) > 1]:
        raise UsageError(f"--{several[0].replace('_', '-')} with several values needs --ways")
    if plot is not None:
        raise UsageError("--plot needs --ways, whose times it shows")
    from pqchain.reencode import replays

    repeats = 1 if repeats is None else repeats
    checks.integer("--repeats", repeats, least=1, most=scenario.MAX_REPEATS)
    kinds: list[Any] = list(
        dict.fromkeys(values.canonical_case(name, scenario.STREAMS) for name in streams)
    )
    link = {name: values[0] for name, values in given.items()}
    chosen = _scenario(dict(changes or {}), preset, kinds, link, compute or {})
    cluster = hosts.cluster(chosen.mode)
    if reason := replays.unavailable_reason(chosen):
        frame = replays.unsupported(chosen, reason).frame
    else:
        runs = repeats * max(len(kinds), 1)
        size = BYTES.text(chosen.transfer_bytes, exact=True)
        console.print_stderr(f"{runs} run{'s'[: runs != 1]} of {size} of chunks.")
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


def _sweep(
    form: values.Format,
    changes: dict[str, Any],
    ways: tuple[str, ...],
    repeats: int,
    links: dict[str, Any],
    plot: Path | None,
    output: Path | None,
) -> int:
    """Replay a repair in each way over each kind of link, and show the times."""
    from pqchain.reencode import sweeps

    base = replace(sweeps.SMALL, **changes)
    # The sweep varies rate, delay and loss, which loopback cannot.
    if base.mode not in ("virtual", "netns"):
        raise UsageError(
            f"--mode must be virtual or netns, whose links are shaped; got {base.mode}"
        )
    known = [values.canonical_case(name, sweeps.WAYS) for name in ways]
    progress = console.is_interactive()
    frame = sweeps.sweep(base, ways=known, repeats=repeats, progress=progress, **links)
    console.save(frame, output)
    if plot is not None:
        from pqchain import plots

        console.save_plot(plots.plot_links(frame), plot)
    data = {"provenance": frame.attrs["provenance"], "links": console.records(frame)}
    ok = not (frame["status"] == "failed").any()
    return console.show(form, data, sweeps.links_table(frame), ok=ok)


def _scenario(
    changes: dict[str, Any],
    preset: str,
    streams: list[Any],
    link: dict[str, Any],
    compute: dict[str, Any],
) -> ReplayScenario:
    if "transport" in changes and not registry.get(changes["transport"]).virtual:
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
