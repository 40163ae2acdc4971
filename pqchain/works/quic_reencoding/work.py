"""Re-encoding over QUIC: Table 1 and Figure 1, printed and replayed, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.reencode.replays import BUSY
from pqchain.reencode.scenario import STREAMS, ReplayScenario
from pqchain.reencode.storage import chunk_bytes
from pqchain.results.statistics import interval_text, median_interval
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import replays
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.verdicts import CLOCK, CODE, MACHINE, SIZE, Standing, Verdict, outcome
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays of a node failure and its repair, and of the exchange of chunks over streams."""

    key = built.KEY

    def compute(self, bench: Bench) -> Frames:
        """Return the frames of `replays.reproduce`; none without measurements."""
        if bench.measurements is None:
            return {}
        return replays.reproduce(bench.preset, progress=bench.progress)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement by the replays; no verdict if none decides it."""
        return _JUDGES[claim](frames) if frames and claim in _JUDGES else ()

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of settings, the replayed Table 1 and saving, and the length of chunks."""
        yield from_values(Kind.TAKEN, built.settings(frames))
        if not frames:
            return
        table = frames["table1"][frames["table1"]["run"] == built.LINK_ONLY]
        values: dict[tuple[str, str], float] = {}
        for row in table.to_dict("records"):
            values[built.PHASES[row["phase"]], "duration_seconds"] = row["seconds"]
            values[built.PHASES[row["phase"]], "share_percent"] = row["share_percent"]
        values[built.TOTAL, "duration_seconds"] = float(table["seconds"].sum())
        values[built.TOTAL, "share_percent"] = 100.0
        contrast = frames["contrast"]
        for row in contrast[contrast["run"] == built.LINK_ONLY].to_dict("records"):
            values[built.SAVING, "transfer_time_saving_percent"] = row["saving_percent"]
        yield from_values(Kind.REPLAYED, values)
        chunk = chunk_bytes(int(table["block_bytes"].iloc[0]), ReplayScenario().before[0])
        yield from_values(Kind.RUN, {("Chunk", "chunk_megabytes"): chunk / 1e6})

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts that can be computed from the frames; none without frames."""
        if not frames:
            return {}
        facts: dict[str, Any] = {
            "claimed": built.claimed_percent(),
            "datagram_microseconds": 1e6 * built.DATAGRAM_SECONDS,
        }
        table = frames["table1"].query("status == 'ok'")
        rates: dict[Any, float] = {}
        for run, rows in table.groupby("run", sort=False):
            phases = rows.set_index("phase")
            share, seconds = phases["share_percent"], phases["seconds"]
            payload = int(rows["payload_bytes"].iloc[0])
            rates |= {(run, phase): value / payload for phase, value in seconds.items()}
            if run in _TABLE_RUNS:
                prefix, name = _TABLE_RUNS[str(run)]
                facts |= {f"{prefix}{phase}": share[phase] for phase in ("transfer", "io", "other")}
                facts[f"{prefix}coding"] = share["decode"] + share["encode"]
                facts[f"{name}_seconds"] = seconds["transfer"]
                facts[f"{name}_bytes"] = BYTES.text(payload, exact=True)
        # What the fitted phases come out at, in percent of the print.
        fitted = {"files": (built.LINK_ONLY, "io"), "transfer": (built.CALIBRATED, "transfer")}
        for name, (run, phase) in fitted.items():
            if (run, phase) in rates:
                ratio = rates[run, phase] / rates["printed", phase]
                facts[f"{name}_of_print"] = 100 * ratio
        for row in frames["contrast"].to_dict("records"):
            name = _PAIR_RUNS[row["run"]]
            facts |= {
                f"{name}_saved": row["saving_percent"],
                f"{name}_interval": _interval(row),
                f"{name}_size": BYTES.text(row["block_bytes"], exact=True),
            }
        return facts

    def failures(self, frames: Frames) -> Iterable[str]:
        """Yield a message per failed run; other frames only summarize `runs` and `impaired`."""
        for name in ("runs", "impaired") if frames else ():
            for row in frames[name].query("status == 'failed'").to_dict("records"):
                size = BYTES.text(row["block_bytes"], exact=True)
                run = f"{row['blocks']} x {size}, {row['streams']}, {row['transport']}"
                yield f"{self.key}, {name}: {run} failed: {row['verdict']}"


# By run of Table 1, the prefixes of its shares and of its other numbers in the names of facts.
_TABLE_RUNS = {
    "printed": ("", "printed"),
    built.LINK_ONLY: ("link_", "link"),
    built.LOOPBACK: ("live_", "live"),
}

_PAIR_RUNS = {built.LINK_ONLY: "link", built.CALIBRATED: "calibrated", built.LOOPBACK: "loopback"}

LITTLE_PERCENT = 1.0
"""Upper bound, chosen by us, of the share that the paper calls "little influence"."""


def decisive(share: pd.Series[float]) -> bool | None:
    """Return whether the transfer exceeds the other tasks; None if our hashing decides that."""
    # The paper does not mention hashing, so a result that depends on it is open.
    tasks = share["decode"] + share["encode"] + share["io"]
    above = {bool(share["transfer"] > rest) for rest in (tasks, tasks + share["other"])}
    return above.pop() if len(above) == 1 else None


_CLOCKS = {
    built.LINK_ONLY: "a virtual clock on which a datagram takes no processor time",
    built.CALIBRATED: "a virtual clock on which a datagram takes "
    + SECONDS.text(built.DATAGRAM_SECONDS, exact=True),
}


def _standing(row: pd.Series[Any], nodes: str) -> Standing:
    """Return a run's standing; `nodes` is the key of its node count in the paper's setting.

    No run is in the paper's setting: the paper names no library, so that ours counts as another,
    virtual runs have a modelled clock, and on sockets all nodes share one machine.
    """
    setting_of_paper = papers.paper(built.KEY).setting
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


def _shares(judge: Callable[[pd.Series[float]], bool | None], frames: Frames) -> Iterator[Verdict]:
    table = frames["table1"]
    for run, group in table[table["kind"] != Kind.PUBLISHED].groupby("run", sort=False):
        if (group["status"] != "ok").any() or not TRANSPORTS[group["transport"].iloc[0]].quic:
            continue  # the statements are about QUIC
        first, share = group.iloc[0], group.set_index("phase")["share_percent"]
        shares = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        evidence = f"{run}: {shares}; other is mostly our hashing, which the paper does not mention"
        # On the virtual clock, nodes decode, encode and write at the rates of Table 1.
        standing = replace(_standing(first, "nodes_left"), fitted=first["mode"] == "virtual")
        yield Verdict(outcome(judge(share)), evidence, str(first["kind"]), standing)


def _saving(frames: Frames, *, exactly: bool) -> Iterator[Verdict]:
    for _, row in frames["contrast"].iterrows():
        low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
        excludes = claimed < low or claimed > high
        saves = False if exactly and excludes else _sign(low, high)
        evidence = f"{row['saving_percent']:.2f} % saved, {_interval(row)}"
        dropped = [row[f"{kind}_dropped_datagrams"] for kind in STREAMS]
        if max(dropped) > 0:
            evidence += "; full queues drop {:.0f} and {:.0f} datagrams of a run".format(*dropped)
        yield Verdict(outcome(saves), evidence, built.kind_of(row["mode"]), _standing(row, "nodes"))


def _interval(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return the interval of a row of "contrast" as text, or why there is none."""
    low, high, count = row["low_percent"], row["high_percent"], f"{row['repeats']} pairs"
    if math.isnan(low):
        return f"{count}; {row['verdict']}"
    return f"{interval_text(low, high, ' %')} over {count}; {row['verdict']}"


def _sign(low: float, high: float) -> bool | None:
    """Return whether an interval is above 0; one that contains 0 decides nothing."""
    return True if low > 0 else False if high < 0 else None


def _restored(frames: Frames) -> Iterator[Verdict]:
    runs, table = frames["runs"], frames["table1"]
    ran = runs[(runs["experiment"] == "reencode") & (runs["status"] != "unsupported")]
    if len(ran):
        fine = ran[ran["status"] == "ok"]
        evidence = (
            f"{len(fine)} of {len(ran)} re-encodings ended with every block at every "
            "node, each checked against its hash"
        )
        standing = _standing(table[table["run"] == built.LINK_ONLY].iloc[0], "nodes_left")
        # Which bytes a node restores does not depend on the clock.
        differences = tuple(name for name in standing.elsewhere if name != CLOCK)
        standing = replace(standing, elsewhere=differences)
        yield Verdict(outcome(len(fine) == len(ran)), evidence, Kind.RUN, standing)


def _earlier_chunks(frames: Frames) -> Iterator[Verdict]:
    exchanges = frames["runs"].query("experiment == 'exchange' and status == 'ok'")
    contrast = frames["contrast"]
    busy = set(contrast.loc[contrast["verdict"].str.startswith(BUSY), "run"])
    for run in (built.LINK_ONLY, built.CALIBRATED, built.LOOPBACK):
        group = exchanges[exchanges["run"] == run]
        group = group[group["blocks"] == group["blocks"].max()]
        if group.empty:
            continue
        paired = group.pivot_table(
            index="repeat", columns="streams", values="mean_chunk_seconds"
        ).dropna()
        earlier = int((paired["single"] < paired["multiplexed"]).sum())
        # Only a unanimous result decides; pairs that disagree leave the statement open.
        holds = {0: False, len(paired): True}.get(earlier)
        if run in busy:
            holds = None
        single, multiplexed = 1e3 * paired["single"].mean(), 1e3 * paired["multiplexed"].mean()
        evidence = (
            f"a chunk is complete after {single:.3g} ms on average with a single stream, "
            f"{multiplexed:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
        )
        first = group.iloc[0]
        yield Verdict(
            outcome(holds), evidence, built.kind_of(first["mode"]), _standing(first, "nodes")
        )


def _starts_earlier(frames: Frames) -> Iterator[Verdict]:
    runs = _compared(frames, built.EARLY)
    pairs = runs.pivot_table(index="repeat", columns="sessions", values="first_chunk_seconds")
    pairs = pairs.reindex(columns=["full", "0-rtt"]).dropna()
    evidence = (
        "over fresh sessions the first chunk is complete after {0-rtt:.4g} ms with 0-RTT, "
        "{full:.4g} ms with full handshakes, {interval}"
    )
    yield from _gain(runs, pairs, ("full", "0-rtt"), evidence)


def _independent(frames: Frames) -> Iterator[Verdict]:
    runs = _compared(frames, built.LOSSY)
    means = runs.pivot_table(
        index=["repeat", "streams"],
        columns=runs["loss"].gt(0).map({True: "with", False: "without"}),
        values="mean_chunk_seconds",
    )
    # Delay caused by loss per pair of runs with the same seeds.
    delays = (means["with"] - means["without"]).unstack("streams").dropna()
    evidence = (
        f"{100 * runs['loss'].max():g} % of loss delays a chunk by {{multiplexed:.4g}} ms on a "
        "stream of its own, {single:.4g} ms behind others on one, {interval}. Streams share the "
        "congestion window, which each loss reduces"
    )
    yield from _gain(runs, delays, ("single", "multiplexed"), evidence)


def _compared(frames: Frames, comparison: str) -> pd.DataFrame:
    impaired = frames["impaired"]
    return impaired[(impaired["comparison"] == comparison) & (impaired["status"] == "ok")]


def _gain(
    runs: pd.DataFrame, pairs: pd.DataFrame, columns: tuple[str, str], evidence: str
) -> Iterator[Verdict]:
    """Judge whether the first column of `pairs`, in seconds, exceeds the second."""
    if pairs.empty:
        return
    gained = 1e3 * (pairs[columns[0]] - pairs[columns[1]])
    low, high = median_interval(gained)
    medians = {str(name): 1e3 * value for name, value in pairs.median().items()}
    interval = f"{gained.median():.3g} ms less ({interval_text(low, high, ' ms', '.3g')})"
    text = evidence.format(interval=interval, **medians)
    standing = _impaired_standing(runs.iloc[0])
    yield Verdict(outcome(_sign(low, high)), text, Kind.REPLAYED, standing)


def _impaired_standing(row: pd.Series[Any]) -> Standing:
    """Return the standing of runs over links with latency or loss, which the paper's links lack."""
    size = BYTES.text(row["block_bytes"], exact=True)
    delay = f"{1e3 * row['delay_seconds']:g} ms each way"
    setting = f"{row['blocks']} x {size}, {delay}, {row['transport']}, a virtual clock"
    return Standing(setting, (CLOCK, CODE, SIZE))


_JUDGES: dict[str, Callable[[Frames], Iterator[Verdict]]] = {
    "propagation-large-influence": partial(_shares, decisive),
    "transfer-decisive": partial(_shares, decisive),
    "coding-small": partial(
        _shares, lambda row: max(row["decode"], row["encode"]) < row["transfer"]
    ),
    "input-output-negligible": partial(_shares, lambda row: row["io"] <= LITTLE_PERCENT),
    "multiplexing-saves-time": partial(_saving, exactly=True),
    "multiplexing-more-efficient": partial(_saving, exactly=False),
    "chunks-restore-blocks": _restored,
    "zero-rtt-starts-earlier": _starts_earlier,
    "streams-independent": _independent,
    "single-stream-first-chunk": _earlier_chunks,
}
"""The functions that judge statements, by the shares of the phases or by single runs."""
