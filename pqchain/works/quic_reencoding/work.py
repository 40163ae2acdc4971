"""Re-encoding over QUIC: Table 1 and Figure 1 beside replays, and what the claims come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.figures import BYTES, SECONDS
from pqchain.reencode.tables import contrast_table
from pqchain.render.table import Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers, shown
from pqchain.works.quic_reencoding import judging, replays
from pqchain.works.quic_reencoding.frames import (
    CLAIMED_PERCENT,
    KEY,
    LINK_ONLY,
    LOOPBACK,
    PHASES,
    TOTAL,
)
from pqchain.works.readers import Number, Reader, Undecided, spoken
from pqchain.works.verdicts import Verdict
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays a failure and its repair, and the exchange of chunks over one stream or many."""

    key = KEY

    def compute(self, bench: Bench) -> Frames:
        """Return what `replays.reproduce` does; nothing without a clock."""
        if bench.measurements is None:
            return {}
        return replays.reproduce(bench.preset, progress=bench.progress)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge by the replays what the print alone cannot decide."""
        return judging.judge(claim, frames) if frames else ()

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
        facts |= _link_facts(frames["table1"])
        live = _run(frames["table1"], LOOPBACK)
        if len(live):
            share, first = live.set_index("phase")["share_percent"], live.iloc[0]
            facts |= {
                "live_bytes": BYTES.text(first["payload_bytes"], exact=True),
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
                f"{row['mode']}_size": BYTES.text(at["block_bytes"], exact=True),
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


def _run(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of a run of Table 1; none if it has failed."""
    return table[(table["run"] == name) & (table["status"] == "ok")]


def _link_facts(table: pd.DataFrame) -> dict[str, Any]:
    """Return what Table 1 comes to with the link alone."""
    rows = _run(table, LINK_ONLY).set_index("phase")
    if rows.empty:
        return {}
    size = BYTES.text(rows["payload_bytes"].iloc[0], exact=True)
    printed = table.query("kind == 'published'").set_index("phase")["seconds"]
    ours = rows["seconds"]["transfer"]
    return {"link_bytes": size, "link_seconds": ours, "printed_seconds": printed["transfer"]}


def _reader(kind: str, values: Mapping[tuple[str, str], float]) -> Reader:
    """Read numbers by printed name and quantity."""

    def read(name: str, quantity: str, implementation: str) -> Number:
        if (name, quantity) not in values or not math.isfinite(values[name, quantity]):
            raise Undecided(f"this run gave no {spoken(quantity)} of {name}")
        return Number(values[name, quantity])

    return Reader(kind, read, decides=False)


_SAVING = "Multiplexing shorter than a single stream"


def table_of_phases(frame: pd.DataFrame, said: Mapping[str, Any]) -> Table:
    """Show Table 1, printed and replayed: a row for each run, a column for each phase."""
    microseconds = replays.DATAGRAM_SECONDS * 1e6
    notes = [note.format(datagram_microseconds=microseconds) for note in said["notes"]]
    rows: list[dict[Any, Any]] = []
    for _, group in frame.groupby("run", sort=False):
        phases = group.to_dict("records")
        cells = {row["phase"]: _phase(row) for row in phases}
        total = math.fsum(row["seconds"] for row in phases)
        rows.append(phases[0] | cells | {"total": total, "remark": _remark(phases[0], "note")})
    return shown.table(said, rows, source=list(dict.fromkeys(frame["kind"])), notes=notes)


def _phase(row: Mapping[Any, Any]) -> Shown:
    seconds = row["seconds"]
    if not math.isfinite(seconds):
        return Shown(seconds, figures.MISSING)
    return Shown(seconds, f"{SECONDS.text(seconds)} ({row['share_percent']:.2f} %)")


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
    rows: list[dict[Any, Any]] = [
        row | {"remark": _remark(row, "note")} for row in frames["libraries"].to_dict("records")
    ]
    yield shown.table(words["libraries"], rows)
    yield shown.table(words["trouble"], _troubles(frames["trouble"]))
    if transports:
        said, rate = words["transports"], transports[0]["bits_per_second"] / 1e6
        rows = [
            row | {"transfer": _spread(row), "remark": _remark(row, "verdict")}
            for row in transports
        ]
        caption = said["caption"].format(rate=rate)
        yield shown.table(said, rows, caption=caption, notes=_left_out(frames))


def _troubles(trouble: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the means over the runs of each kind under latency."""
    keys = ["comparison", "streams", "sessions", "loss", "delay_seconds", "blocks", "block_bytes"]
    fine = trouble[trouble["status"] == "ok"]
    for group, runs in fine.groupby(keys, sort=False):
        times = ("first_chunk_seconds", "mean_chunk_seconds", "transfer_seconds")
        about = dict(zip(keys, group, strict=True)) | {"repeats": len(runs)}
        yield about | {name: float(runs[name].mean()) for name in times}


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
    text = f"{SECONDS.text(mean)} ({SECONDS.text(low)} to {SECONDS.text(high)})"
    return Shown(mean, text if math.isfinite(mean) else figures.MISSING)


def _left_out(frames: Frames) -> list[str]:
    missing = []
    if set(frames["contrast"]["mode"]) == {"virtual"}:
        missing.append("single against multiplexed on real sockets")
    if not len(frames["transports"]):
        missing.append(f"the comparison of {', '.join(TRANSPORTS)} at equal links")
    largest = frames["table1"].query("kind == 'replayed'")["block_bytes"].max()
    whole = replays.WHOLE_BLOCK_BYTES
    if largest < whole:
        ours = BYTES.text(largest, exact=True)
        missing.append(
            f"blocks of {whole / 1e6:g} MB (those above have {ours}: the native transport, which "
            "is quick enough, was not built; see pqchain doctor)"
        )
    reference = frames["libraries"].query("transport == 'aioquic'")["block_bytes"].max()
    if reference < whole:
        missing.append(f"a block of {whole / 1e6:g} MB over aioquic")
    command = f"pqchain reproduce --only {KEY} --preset paper"
    return [f"Not done with this preset: {'; '.join(missing)}. Run: {command}"] * bool(missing)
