"""Re-encoding over QUIC: Table 1 and Figure 1 beside replays, and what the claims come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain.reencode.tables import contrast_table
from pqchain.render import numbers
from pqchain.render.table import Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers, shown
from pqchain.works.quic_reencoding import replays
from pqchain.works.quic_reencoding.frames import (
    CLAIMED_PERCENT,
    KEY,
    LINK_ONLY,
    PHASES,
    TOTAL,
    kind_of,
)
from pqchain.works.readers import Number, Reader, Undecided, spoken
from pqchain.works.verdicts import FAILS, HOLDS, OPEN, SIZE, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays a failure and its repair, and the exchange of chunks over one stream or many."""

    key = KEY

    def compute(self, bench: Bench) -> Frames:
        """Return runs, table1, figure1, contrast and transports; nothing without a clock."""
        if bench.measurements is None:
            return {}
        return replays.reproduce(bench.preset, progress=bench.progress)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge by the replays what the print alone cannot decide."""
        if not frames:
            return
        if claim in ("multiplexing-saves-time", "multiplexing-more-efficient"):
            exactly = claim == "multiplexing-saves-time"
            yield from _saving(frames["contrast"], frames["runs"], exactly=exactly)
        if claim == "chunks-restore-blocks":
            yield from _restored(frames["runs"])
        if claim == "single-stream-first-chunk":
            yield from _earlier(frames["runs"])
        if claim in _BY_SHARES:
            yield from _shares(_BY_SHARES[claim], frames["table1"])

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Read Table 1 as replayed with the link alone, what was saved, and the blocks."""
        if not frames:
            return
        table = frames["table1"][frames["table1"]["run"] == LINK_ONLY]
        first = table.iloc[0]
        values: dict[tuple[str, str], float] = {}
        for row in table.to_dict("records"):
            values[PHASES[row["phase"]], "duration_seconds"] = row["seconds"]
            values[PHASES[row["phase"]], "share_percent"] = row["share_percent"]
        values[TOTAL, "duration_seconds"] = float(table["seconds"].sum())
        values[TOTAL, "share_percent"] = 100.0
        for row in frames["contrast"].query("mode == 'virtual'").to_dict("records"):
            values[_SAVING, "transfer_time_saving_percent"] = row["saving_percent"]
        size = float(first["block_bytes"]) / 1e6
        counts = {
            ("Blocks of experiment 2", "block_count"): float(first["blocks"]),
            ("Block file", "block_megabytes"): size,
            ("Chunk", "chunk_megabytes"): size / papers.paper(KEY).regime["data_chunks"],
        }
        yield _reader("replayed", values)
        yield _reader("run", counts)

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the shares of a run on sockets, and what multiplexing saved."""
        if not frames:
            return {}
        printed = frames["table1"].query("kind == 'published'").set_index("phase")["share_percent"]
        facts: dict[str, Any] = {
            "transfer": printed["transfer"],
            "coding": printed["decode"] + printed["encode"],
            "io": printed["io"],
            "other": printed["other"],
            "claimed": CLAIMED_PERCENT,
        }
        live = frames["table1"].query("kind == 'measured' and status == 'ok'")
        if len(live):
            share, first = live.set_index("phase")["share_percent"], live.iloc[0]
            facts |= {
                "live_bytes": numbers.byte_count(first["payload_bytes"]),
                "live_transfer": share["transfer"],
                "live_coding": share["decode"] + share["encode"],
                "live_io": share["io"],
                "live_other": share["other"],
            }
        for row in frames["contrast"].to_dict("records"):
            at = frames["figure1"].query("mode == @row['mode']").iloc[-1]
            facts |= {
                f"{row['mode']}_saved": row["saving_percent"],
                f"{row['mode']}_low": row["low_percent"],
                f"{row['mode']}_high": row["high_percent"],
                f"{row['mode']}_size": numbers.byte_count(at["block_bytes"]),
            }
        return facts

    def failures(self, frames: Frames) -> Iterable[str]:
        """Say which runs of Table 1 failed; its rows stand for those of `runs`."""
        return super().failures({"table1": frames["table1"]} if frames else {})

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show Table 1 with how to read it, streams and transports."""
        if frames:
            yield table_of_phases(frames["table1"], self.words["table1"])
            yield from streams(frames, self.words)


def _reader(kind: str, values: Mapping[tuple[str, str], float]) -> Reader:
    """Read numbers by printed name and quantity."""

    def read(name: str, quantity: str, implementation: str) -> Number:
        if (name, quantity) not in values or not math.isfinite(values[name, quantity]):
            raise Undecided(f"this run gave no {spoken(quantity)} of {name}")
        return Number(values[name, quantity])

    return Reader(kind, read, decides=False)


_SAVING = "Multiplexing shorter than a single stream"


def _decisive(share: pd.Series[float]) -> str:
    """Ask that the transfer takes more than the other tasks, our hashing among them or not."""
    tasks = share["decode"] + share["encode"] + share["io"]
    above = {share["transfer"] > rest for rest in (tasks, tasks + share["other"])}
    return OPEN if len(above) > 1 else HOLDS if above.pop() else FAILS


def _coding_small(share: pd.Series[float]) -> str:
    """Ask that decoding and encoding each take less than the transfer."""
    return HOLDS if max(share["decode"], share["encode"]) < share["transfer"] else FAILS


def _io_negligible(share: pd.Series[float]) -> str:
    """Ask that files take no more than LITTLE_PERCENT; hashing is no part of it."""
    return HOLDS if share["io"] <= LITTLE_PERCENT else FAILS


LITTLE_PERCENT = 1.0
"""What counts as little influence. The paper gives no bound; this one is ours."""

_BY_SHARES: dict[str, Callable[[pd.Series[float]], str]] = {
    "propagation-large-influence": _decisive,
    "transfer-decisive": _decisive,
    "coding-small": _coding_small,
    "input-output-negligible": _io_negligible,
}
"""Statements that the shares of a run in percent decide."""


def _standing(row: pd.Series[Any], nodes: int) -> Standing:
    """Say with what a run was done, and whether that is the paper's setting; `nodes` is its."""
    regime = papers.paper(KEY).regime
    alike = row["nodes"] == nodes
    alike = alike and all(row[size] == regime[size] for size in ("blocks", "block_bytes"))
    clock = "virtual clock" if row["mode"] == "virtual" else f"sockets ({row['mode']})"
    setting = (
        f"{row['nodes']} nodes, {row['blocks']} x {numbers.byte_count(row['block_bytes'])},"
        f" {regime['code']}, {row['transport']}, {clock}"
    )
    if not alike:
        setting += f"; the paper's: {regime['words']}"
    return Standing(setting, () if alike else (SIZE,))


def _shares(judge: Callable[[pd.Series[float]], str], table: pd.DataFrame) -> Iterator[Verdict]:
    """Judge each run of Table 1; those on the virtual clock decode, encode and write at its rates.

    So what they say of shares is fitted to that very table.
    """
    left = papers.paper(KEY).regime["nodes_left"]
    for run, group in table[table["kind"] != "published"].groupby("run", sort=False):
        if (group["status"] != "ok").any():
            continue
        first, share = group.iloc[0], group.set_index("phase")["share_percent"]
        shares = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        evidence = f"{run}: {shares}; other is mostly our hashing, which the paper does not mention"
        standing = replace(_standing(first, left), fitted=first["mode"] == "virtual")
        yield Verdict(judge(share), evidence, str(first["kind"]), standing)


def _saving(contrast: pd.DataFrame, runs: pd.DataFrame, *, exactly: bool) -> Iterator[Verdict]:
    """Judge the saving by its interval: above 0, and if `exactly` with the claimed one inside."""
    groups = dict(_pairs(runs))
    for row in contrast.to_dict("records"):  # none if there was one pair only
        mode, group = row["mode"], groups[row["mode"]]
        low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
        outcome = HOLDS if low > 0 else FAILS if high < 0 else OPEN
        if exactly and not low <= claimed <= high:
            outcome = FAILS
        evidence = (
            f"{row['saving_percent']:.2f} % saved, 95 % interval {low:.2f} to {high:.2f} % over "
            f"{row['repeats']} pairs; {row['verdict']}"
        )
        nodes = papers.paper(KEY).regime["nodes"]
        yield Verdict(outcome, evidence, kind_of(mode), _standing(group.iloc[0], nodes))


def _restored(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Judge that each run ended with every block decoded, checked against its hash and encoded."""
    ran = runs[(runs["experiment"] == "reencode") & (runs["status"] != "unsupported")]
    if len(ran):
        failed = ran[ran["status"] != "ok"]
        evidence = (
            f"{len(ran) - len(failed)} of {len(ran)} re-encodings ended with every block at every "
            "node, each checked against its hash"
        )
        left = papers.paper(KEY).regime["nodes_left"]
        outcome = FAILS if len(failed) else HOLDS
        yield Verdict(outcome, evidence, "run", _standing(ran.iloc[0], left))


def _pairs(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the exchanges of the most blocks, by mode."""
    exchanges = runs.query("experiment == 'exchange' and status == 'ok'")
    most = exchanges[exchanges["blocks"] == exchanges["blocks"].max()]
    for mode, group in most.groupby("mode", sort=False):
        yield str(mode), group


def _earlier(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Judge whether chunks are complete earlier with single streams, in every pair of runs."""
    for mode, group in _pairs(runs):
        paired = group.pivot_table(
            index="repeat", columns="streams", values="mean_chunk_seconds"
        ).dropna()
        earlier = int((paired["single"] < paired["multiplexed"]).sum())
        outcome = {0: FAILS, len(paired): HOLDS}.get(earlier, OPEN)
        single, multiplexed = 1e3 * paired["single"].mean(), 1e3 * paired["multiplexed"].mean()
        evidence = (
            f"a chunk is complete after {single:.3g} ms on average with a single stream, "
            f"{multiplexed:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
        )
        nodes = papers.paper(KEY).regime["nodes"]
        yield Verdict(outcome, evidence, kind_of(mode), _standing(group.iloc[0], nodes))


def table_of_phases(frame: pd.DataFrame, said: Mapping[str, Any]) -> Table:
    """Show Table 1, printed and replayed: a row for each run, a column for each phase."""
    microseconds = replays.DATAGRAM_SECONDS * 1e6
    notes = [note.format(datagram_microseconds=microseconds) for note in said["notes"]]
    rows = []
    for _, group in frame.groupby("run", sort=False):
        phases = group.to_dict("records")
        cells = {row["phase"]: _phase(row) for row in phases}
        total = math.fsum(row["seconds"] for row in phases)
        rows.append(phases[0] | cells | {"total": total, "remark": _remark(phases[0], "note")})
    return shown.table(said, rows, source=list(dict.fromkeys(frame["kind"])), notes=notes)


def _phase(row: Mapping[Any, Any]) -> Shown:
    seconds = row["seconds"]
    if not math.isfinite(seconds):
        return Shown(seconds, numbers.MISSING)
    return Shown(seconds, f"{numbers.seconds(seconds)} ({row['share_percent']:.2f} %)")


def _remark(row: Mapping[Any, Any], column: str) -> str:
    """Put the status before a remark unless all is well."""
    return str(row[column]) if row["status"] == "ok" else f"{row['status']}: {row[column]}"


def streams(frames: Frames, words: Mapping[str, Any]) -> Iterator[Table]:
    """Yield Figure 1 as numbers, single against multiplexed, and transports at equal links."""
    figure, transports = frames["figure1"], frames["transports"].to_dict("records")
    kinds = list(dict.fromkeys(figure["kind"]))
    yield shown.table(words["figure1"], _figure1(figure), source=kinds)
    said = words["contrast"]
    yield contrast_table(
        frames["contrast"],
        caption=said["caption"].format(claimed_percent=CLAIMED_PERCENT),
        source=kinds,
        notes=() if transports else _left_out(frames),
        part=said["part"],
    )
    if transports:
        said, rate = words["transports"], transports[0]["bits_per_second"] / 1e6
        rows = [
            row | {"transfer": _spread(row), "remark": _remark(row, "verdict")}
            for row in transports
        ]
        caption = said["caption"].format(rate=rate)
        yield shown.table(said, rows, caption=caption, notes=_left_out(frames))


def _figure1(series: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for _, group in series.groupby(["mode", "blocks", "block_bytes"]):
        by = {row["streams"]: row for row in group.to_dict("records")}
        if {"single", "multiplexed"} <= set(by):
            single, multiplexed = by["single"], by["multiplexed"]
            saved = 100 * (1 - multiplexed["transfer_seconds"] / single["transfer_seconds"])
            times = {name: _spread(row) for name, row in by.items()}
            yield single | times | {"saved": round(saved, 2) + 0.0}  # no -0.00


def _spread(row: Mapping[Any, Any]) -> Shown:
    mean, low, high = (row[f"{what}_seconds"] for what in ("transfer", "low", "high"))
    text = f"{numbers.seconds(mean)} ({numbers.seconds(low)} to {numbers.seconds(high)})"
    return Shown(mean, text if math.isfinite(mean) else numbers.MISSING)


def _left_out(frames: Frames) -> list[str]:
    missing = []
    if set(frames["contrast"]["mode"]) == {"virtual"}:
        missing.append("single against multiplexed on real sockets")
    if not len(frames["transports"]):
        missing.append(f"the comparison of {', '.join(TRANSPORTS)} at equal links")
    largest = frames["table1"].query("kind == 'replayed'")["payload_bytes"].max()
    whole = replays.PRESETS["paper"].block_bytes
    if largest < whole:
        ours = numbers.byte_count(largest)
        missing.append(f"a block of {whole / 1e6:g} MB (the virtual ones above have {ours})")
    command = f"pqchain reproduce --only {KEY} --preset paper"
    return [f"Not done with this preset: {'; '.join(missing)}. Run: {command}"] * bool(missing)
