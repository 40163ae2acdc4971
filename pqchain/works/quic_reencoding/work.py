"""Re-encoding over QUIC: Table 1 and Figure 1 beside replays, and what the claims come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.reencode.tables import contrast_table
from pqchain.render import numbers
from pqchain.render.table import Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import shown
from pqchain.works.comparisons import FAILS, HOLDS, OPEN
from pqchain.works.quic_reencoding import replays
from pqchain.works.quic_reencoding.frames import CALIBRATED, CLAIMED_PERCENT, KEY, kind_of
from pqchain.works.work import Bench, Frames, Verdict, Work


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
        if claim == "multiplexing-saves-time":
            yield from map(_saving, frames["contrast"].to_dict("records"))
        if claim == "single-stream-first-chunk":
            yield from _earlier(frames["runs"])
        if claim in ("transfer-decisive", "coding-small"):
            yield from _shares(claim, frames["table1"])

    def failures(self, frames: Frames) -> Iterable[str]:
        """Say which runs of Table 1 failed; its rows stand for those of `runs`."""
        return super().failures({"table1": frames["table1"]} if frames else {})

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show Table 1 with how to read it, streams and transports."""
        if frames:
            yield table_of_phases(frames["table1"], self.words["table1"])
            yield from streams(frames, self.words)


def _saving(row: Mapping[Any, Any]) -> Verdict:
    """Judge the saving by its interval: it must hold the claim, and lie above 0."""
    low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
    inside = low <= claimed <= high
    decided = HOLDS if low > 0 else OPEN
    evidence = (
        f"{row['mode']}: {row['saving_percent']:.2f} % saved, 95 % interval {low:.2f} to "
        f"{high:.2f} % over {row['repeats']} pairs; {row['verdict']}"
    )
    return Verdict(decided if inside else FAILS, evidence, kind_of(row["mode"]))


def _earlier(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Judge whether chunks are complete earlier with single streams, in every pair of runs."""
    exchanges = runs.query("experiment == 'exchange' and status == 'ok'")
    most = exchanges[exchanges["blocks"] == exchanges["blocks"].max()]
    for mode, group in most.groupby("mode", sort=False):
        paired = group.pivot_table(
            index="repeat", columns="streams", values="mean_chunk_seconds"
        ).dropna()
        earlier = int((paired["single"] < paired["multiplexed"]).sum())
        verdict = {0: FAILS, len(paired): HOLDS}.get(earlier, OPEN)
        single, multiplexed = 1e3 * paired["single"].mean(), 1e3 * paired["multiplexed"].mean()
        evidence = (
            f"{mode}: a chunk is complete after {single:.3g} ms on average with a single stream, "
            f"{multiplexed:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
        )
        yield Verdict(verdict, evidence, kind_of(str(mode)))


def _shares(claim: str, table: pd.DataFrame) -> Iterator[Verdict]:
    for run, group in table[table["kind"] != "published"].groupby("run", sort=False):
        kind, share = str(group["kind"].iloc[0]), group.set_index("phase")["share_percent"]
        if run == CALIBRATED or (group["status"] != "ok").any():
            continue  # what was fitted to the print cannot support it
        if claim == "coding-small" and kind == "modelled":
            continue  # decoding and encoding go at the printed rates there
        holds = share["transfer"] > 50
        if claim == "coding-small":
            holds = max(share["decode"], share["encode"]) < share["transfer"]
        shares = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        yield Verdict(HOLDS if holds else FAILS, f"{run}: {shares}", kind)


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
    largest = frames["table1"].query("kind == 'modelled'")["payload_bytes"].max()
    whole = replays.PRESETS["paper"].block_bytes
    if largest < whole:
        ours = numbers.byte_count(largest)
        missing.append(f"a block of {whole / 1e6:g} MB (the virtual ones above have {ours})")
    command = f"pqchain reproduce --only {KEY} --preset paper"
    return [f"Not done with this preset: {'; '.join(missing)}. Run: {command}"] * bool(missing)
