"""The re-encoding paper's Table 1 and Figure 1 beside replays, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.reencode.tables import contrast_table
from pqchain.render import numbers
from pqchain.render.table import Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works.quic_reencoding.frames import CLAIMED_PERCENT, KEY
from pqchain.works.quic_reencoding.replays import DATAGRAM_SECONDS, PRESETS
from pqchain.works.shown import table
from pqchain.works.work import Frames


def table1(frame: pd.DataFrame, said: Mapping[str, Any]) -> Table:
    """Show Table 1, printed and replayed: a row for each run, a column for each phase."""
    notes = [note.format(datagram_microseconds=DATAGRAM_SECONDS * 1e6) for note in said["notes"]]
    rows = []
    for _, group in frame.groupby("run", sort=False):
        phases = group.to_dict("records")
        shown = {row["phase"]: _phase(row) for row in phases}
        total = math.fsum(row["seconds"] for row in phases)
        rows.append(phases[0] | shown | {"total": total, "remark": _remark(phases[0], "note")})
    return table(said, rows, source=list(dict.fromkeys(frame["kind"])), notes=notes)


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
    yield table(words["figure1"], _figure1(figure), source=kinds)
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
        shown = [
            row | {"transfer": _spread(row), "remark": _remark(row, "verdict")}
            for row in transports
        ]
        caption = said["caption"].format(rate=rate)
        yield table(said, shown, caption=caption, notes=_left_out(frames))


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
    whole = PRESETS["paper"].block_bytes
    if largest < whole:
        ours = numbers.byte_count(largest)
        missing.append(f"a block of {whole / 1e6:g} MB (the virtual ones above have {ours})")
    command = f"pqchain reproduce --only {KEY} --preset paper"
    return [f"Not done with this preset: {'; '.join(missing)}. Run: {command}"] * bool(missing)
