"""Verdicts on the statements of the re-encoding paper, derived from the replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.reencode.scenario import STREAMS
from pqchain.statistics import half_width
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers
from pqchain.works.quic_reencoding.frames import (
    CALIBRATED,
    DATAGRAM_SECONDS,
    EARLY,
    KEY,
    LINK_ONLY,
    LOOPBACK,
    LOSSY,
    kind_of,
)
from pqchain.works.verdicts import (
    CLOCK,
    CODE,
    FAILS,
    HOLDS,
    MACHINE,
    OPEN,
    SIZE,
    Standing,
    Verdict,
)
from pqchain.works.work import Frames


def judge(claim: str, frames: Frames) -> Iterator[Verdict]:
    """Yield the verdicts on a statement; yield nothing if no replay decides it."""
    if claim in ("multiplexing-saves-time", "multiplexing-more-efficient"):
        exactly = claim == "multiplexing-saves-time"
        yield from _saving(frames["contrast"], exactly=exactly)
    if claim == "chunks-restore-blocks":
        yield from _restored(frames["runs"], frames["table1"])
    if claim == "zero-rtt-starts-earlier":
        yield from _starts_earlier(frames["impaired"])
    if claim == "streams-independent":
        yield from _independent(frames["impaired"])
    if claim == "single-stream-first-chunk":
        yield from _earlier_chunks(frames["runs"])
    if claim in _BY_SHARES:
        yield from _shares(_BY_SHARES[claim], frames["table1"])


def decisive(share: pd.Series[float]) -> str:
    """Judge whether the transfer exceeds the other tasks, both with and without our hashing."""
    # The paper does not mention hashing, so a result that depends on it is open.
    tasks = share["decode"] + share["encode"] + share["io"]
    above = {share["transfer"] > rest for rest in (tasks, tasks + share["other"])}
    return OPEN if len(above) > 1 else HOLDS if above.pop() else FAILS


def _coding_small(share: pd.Series[float]) -> str:
    return HOLDS if max(share["decode"], share["encode"]) < share["transfer"] else FAILS


def _io_negligible(share: pd.Series[float]) -> str:
    return HOLDS if share["io"] <= LITTLE_PERCENT else FAILS


LITTLE_PERCENT = 1.0
"""Upper bound, chosen by us, of the share that the paper calls "little influence"."""

# Statements that the shares of the phases decide.
_BY_SHARES: dict[str, Callable[[pd.Series[float]], str]] = {
    "propagation-large-influence": decisive,
    "transfer-decisive": decisive,
    "coding-small": _coding_small,
    "input-output-negligible": _io_negligible,
}


_CLOCKS = {
    LINK_ONLY: "a virtual clock on which a datagram takes no processor time",
    CALIBRATED: "a virtual clock on which a datagram takes "
    + SECONDS.text(DATAGRAM_SECONDS, exact=True),
}


def _standing(row: pd.Series[Any], nodes: str) -> Standing:
    """Return a run's standing; `nodes` is the key of its node count in the paper's setting.

    No run is in the paper's setting: the paper names no library, so that ours counts as another,
    virtual runs have a modelled clock, and on sockets all nodes share one machine.
    """
    setting_of_paper = papers.paper(KEY).setting
    sizes = {"nodes": nodes, "blocks": "blocks", "block_bytes": "block_bytes"}
    same_size = all(row[size] == setting_of_paper[name] for size, name in sizes.items())
    is_virtual = row["mode"] == "virtual"
    clock = _CLOCKS.get(row["run"], "a virtual clock")
    where = clock if is_virtual else f"sockets ({row['mode']}), all nodes on one machine"
    setting = (
        f"{row['nodes']} nodes, {row['blocks']} x {BYTES.text(row['block_bytes'], exact=True)},"
        f" {setting_of_paper['code']}, {row['transport']}, {where};"
        f" the paper's: {setting_of_paper['text']}"
    )
    differences = {CLOCK: is_virtual, CODE: True, SIZE: not same_size, MACHINE: not is_virtual}
    return Standing(setting, tuple(name for name, differs in differences.items() if differs))


def _shares(judge: Callable[[pd.Series[float]], str], table: pd.DataFrame) -> Iterator[Verdict]:
    for run, group in table[table["kind"] != Kind.PUBLISHED].groupby("run", sort=False):
        if (group["status"] != "ok").any() or not TRANSPORTS[group["transport"].iloc[0]].datagrams:
            continue  # the statements are about QUIC
        first, share = group.iloc[0], group.set_index("phase")["share_percent"]
        shares = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        evidence = f"{run}: {shares}; other is mostly our hashing, which the paper does not mention"
        # On the virtual clock, nodes decode, encode and write at the rates of Table 1.
        standing = replace(_standing(first, "nodes_left"), fitted=first["mode"] == "virtual")
        yield Verdict(judge(share), evidence, str(first["kind"]), standing)


def _saving(contrast: pd.DataFrame, *, exactly: bool) -> Iterator[Verdict]:
    for _, row in contrast.iterrows():
        low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
        # An interval that contains 0 decides nothing.
        outcome = HOLDS if low > 0 else FAILS if high < 0 else OPEN
        if exactly and not low <= claimed <= high:
            outcome = FAILS
        evidence = (
            f"{row['saving_percent']:.2f} % saved, 95 % interval {low:.2f} to {high:.2f} % over "
            f"{row['repeats']} pairs; {row['verdict']}"
        )
        dropped = [row[f"{kind}_dropped_datagrams"] for kind in STREAMS]
        if max(dropped) > 0:
            evidence += "; full queues drop {:.0f} and {:.0f} datagrams of a run".format(*dropped)
        yield Verdict(outcome, evidence, kind_of(row["mode"]), _standing(row, "nodes"))


def _restored(runs: pd.DataFrame, table: pd.DataFrame) -> Iterator[Verdict]:
    ran = runs[(runs["experiment"] == "reencode") & (runs["status"] != "unsupported")]
    if len(ran):
        failed = ran[ran["status"] != "ok"]
        evidence = (
            f"{len(ran) - len(failed)} of {len(ran)} re-encodings ended with every block at every "
            "node, each checked against its hash"
        )
        outcome = FAILS if len(failed) else HOLDS
        standing = _standing(table[table["run"] == LINK_ONLY].iloc[0], "nodes_left")
        # Which bytes a node restores does not depend on the clock.
        differences = tuple(name for name in standing.elsewhere if name != CLOCK)
        yield Verdict(outcome, evidence, Kind.RUN, replace(standing, elsewhere=differences))


def _earlier_chunks(runs: pd.DataFrame) -> Iterator[Verdict]:
    exchanges = runs.query("experiment == 'exchange' and status == 'ok'")
    for run in (LINK_ONLY, CALIBRATED, LOOPBACK):
        group = exchanges[exchanges["run"] == run]
        group = group[group["blocks"] == group["blocks"].max()]
        if group.empty:
            continue
        paired = group.pivot_table(
            index="repeat", columns="streams", values="mean_chunk_seconds"
        ).dropna()
        earlier = int((paired["single"] < paired["multiplexed"]).sum())
        # Only a unanimous result decides; pairs that disagree leave the statement open.
        outcome = {0: FAILS, len(paired): HOLDS}.get(earlier, OPEN)
        single, multiplexed = 1e3 * paired["single"].mean(), 1e3 * paired["multiplexed"].mean()
        evidence = (
            f"a chunk is complete after {single:.3g} ms on average with a single stream, "
            f"{multiplexed:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
        )
        first = group.iloc[0]
        yield Verdict(outcome, evidence, kind_of(first["mode"]), _standing(first, "nodes"))


def _starts_earlier(impaired: pd.DataFrame) -> Iterator[Verdict]:
    runs = _compared(impaired, EARLY)
    pairs = runs.pivot_table(index="repeat", columns="sessions", values="first_chunk_seconds")
    pairs = pairs.reindex(columns=["full", "0-rtt"]).dropna()
    # A single pair has no interval.
    if len(pairs) < 2:
        return
    gained = 1e3 * (pairs["full"] - pairs["0-rtt"])
    full, early = 1e3 * pairs["full"].mean(), 1e3 * pairs["0-rtt"].mean()
    evidence = (
        f"over fresh sessions the first chunk is complete after {early:.4g} ms with 0-RTT, "
        f"{full:.4g} ms with full handshakes; {_interval(gained)} ms earlier"
    )
    yield Verdict(_above_0(gained), evidence, Kind.REPLAYED, _impaired_standing(runs.iloc[0]))


def _independent(impaired: pd.DataFrame) -> Iterator[Verdict]:
    runs = _compared(impaired, LOSSY)
    means = runs.pivot_table(
        index=["repeat", "streams"],
        columns=runs["loss"].gt(0).map({True: "with", False: "without"}),
        values="mean_chunk_seconds",
    )
    # Delay caused by loss, in milliseconds, per pair of runs with the same seeds.
    delays = 1e3 * (means["with"] - means["without"]).unstack("streams").dropna()
    if len(delays) < 2:
        return
    saved = delays["single"] - delays["multiplexed"]
    loss_percent = 100 * runs["loss"].max()
    evidence = (
        f"{loss_percent:g} % of loss delays a chunk by {delays['multiplexed'].mean():.4g} ms on a "
        f"stream of its own, {delays['single'].mean():.4g} ms behind others on one; "
        f"{_interval(saved)} ms less. Streams share the congestion window, which each loss reduces"
    )
    yield Verdict(_above_0(saved), evidence, Kind.REPLAYED, _impaired_standing(runs.iloc[0]))


def _compared(impaired: pd.DataFrame, comparison: str) -> pd.DataFrame:
    return impaired[(impaired["comparison"] == comparison) & (impaired["status"] == "ok")]


def _interval(values: pd.Series[float]) -> str:
    mean, margin = values.mean(), half_width(values.to_numpy(float))
    return f"{mean:.3g} (95 % interval {mean - margin:.3g} to {mean + margin:.3g})"


def _above_0(values: pd.Series[float]) -> str:
    mean, margin = values.mean(), half_width(values.to_numpy(float))
    return HOLDS if mean - margin > 0 else FAILS if mean + margin < 0 else OPEN


def _impaired_standing(row: pd.Series[Any]) -> Standing:
    """Return the standing of runs over links with latency or loss, which the paper's links lack."""
    size = BYTES.text(row["block_bytes"], exact=True)
    delay = f"{1e3 * row['delay_seconds']:g} ms each way"
    setting = f"{row['blocks']} x {size}, {delay}, {row['transport']}, a virtual clock"
    return Standing(setting, (CLOCK, CODE, SIZE))
