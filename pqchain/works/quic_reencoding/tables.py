"""The re-encoding paper's Table 1 and Figure 1 beside replays, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.reencode.tables import contrast_table
from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works.quic_reencoding.frames import CLAIMED_PERCENT, KEY, PHASES
from pqchain.works.quic_reencoding.replays import DATAGRAM_SECONDS, PRESETS
from pqchain.works.work import Frames

NOT_ALIKE = (
    "Shares compare, seconds do not: the blocks are not of one size, and nothing printed tells of "
    "the authors' processors, language or library.",
    "On the virtual clock every byte of QUIC, TLS and the codec is run, signatures, files and "
    "hashes too; the clock, the link and the time of decoding, encoding, hashing and files are "
    "modelled. Decoding, encoding and files go at the rates that Table 1 prints, so those rows "
    "agree by construction; transfer and the rest are what the model adds.",
    "Link only: the processor takes no time for a datagram, so what is left is the link of "
    "10 Gbit/s and QUIC's own waiting. Link and processor: each datagram costs "
    f"{DATAGRAM_SECONDS * 1e6:.1f} µs, chosen so that the printed transfer comes out. "
    "That the two differ so much says that the printed time is one of processing, not of the link: "
    "153 MB/s came into each node, 12 % of the link.",
    "Our rest holds SHA3-256 of every chunk and block, which the paper does not mention.",
    "On loopback ten processes share this machine's processors, with datagrams of 8952 bytes, or "
    "the longest that this version of aioquic sends.",
)
"""How to read Table 1."""


def table1(frame: pd.DataFrame) -> Table:
    """Show Table 1, printed and replayed: a row for each run, a column for each phase."""
    rows, remarks = [], []
    for run, group in frame.groupby("run", sort=False):
        phases = group.to_dict("records")
        first = phases[0]
        total = math.fsum(row["seconds"] for row in phases)
        rows.append([str(run), first["kind"], first["payload_bytes"], *map(_phase, phases), total])
        remarks.append(_remark(first, first["note"]))
    return Table(
        columns=[
            Column("run"),
            Column("kind"),
            Column("bytes", numeric=True, show=numbers.byte_count),
            *(Column(phase, numeric=True) for phase in PHASES),
            Column("total", numeric=True, show=numbers.seconds),
        ],
        rows=rows,
        remarks=remarks,
        caption="Table 1, printed and replayed: mean time of a node in each phase, and its share.",
        source=tuple(dict.fromkeys(frame["kind"])),
        notes=NOT_ALIKE,
        part="Where the time goes",
    )


def _phase(row: Mapping[Any, Any]) -> Shown:
    seconds = row["seconds"]
    if not math.isfinite(seconds):
        return Shown(seconds, numbers.MISSING)
    return Shown(seconds, f"{numbers.seconds(seconds)} ({row['share_percent']:.2f} %)")


def _remark(row: Mapping[Any, Any], text: str) -> str:
    """Put the status before a remark unless all is well."""
    return text if row["status"] == "ok" else f"{row['status']}: {text}"


def streams(frames: Frames) -> Iterator[Table]:
    """Yield Figure 1 as numbers, single against multiplexed, and transports at equal links."""
    figure, transports = frames["figure1"], frames["transports"]
    kinds = tuple(dict.fromkeys(figure["kind"]))
    yield Table(
        columns=[
            Column("mode"),
            Column("blocks", numeric=True),
            Column("bytes each", numeric=True, show=numbers.byte_count),
            Column("single", numeric=True),
            Column("multiplexed", numeric=True),
            Column("saved", numeric=True, show=lambda value: f"{round(value, 2) + 0.0:.2f} %"),
            Column("runs of each", numeric=True),
        ],
        rows=list(_figure1(figure)),
        caption="Figure 1 as numbers: time of transfer, mean (shortest to longest run). Each node "
        "asks nine others for the chunks of all blocks. The print's values are a picture.",
        source=kinds,
        part="Streams and transports",
    )
    yield contrast_table(
        frames["contrast"],
        caption="Single against multiplexed, paired by seed, at the most blocks; "
        f"{CLAIMED_PERCENT} % saved is claimed. Interval: Student's t.",
        source=kinds,
        notes=() if len(transports) else _left_out(frames),
        part="Streams and transports",
    )
    if len(transports):
        rate = transports["bits_per_second"].iloc[0] / 1e6
        records = transports.to_dict("records")
        yield Table(
            columns=[
                Column("transport"),
                Column("runs", numeric=True),
                Column("transfer", numeric=True),
                Column("wire limit", numeric=True, show=numbers.seconds),
                Column("CPU", numeric=True, show=numbers.seconds),
            ],
            rows=[
                [
                    row["transport"],
                    row["repeats"],
                    _spread(row),
                    row["wire_limit_seconds"],
                    row["cpu_seconds"],
                ]
                for row in records
            ],
            remarks=[_remark(row, row["verdict"]) for row in records],
            caption="Transports between network namespaces, every link shaped to "
            f"{rate:g} Mbit/s: time of transfer, mean (shortest to longest run).",
            source=("measured",),
            notes=_left_out(frames),
            part="Streams and transports",
        )


def _figure1(series: pd.DataFrame) -> Iterator[list[Any]]:
    for (mode, blocks, size), group in series.groupby(["mode", "blocks", "block_bytes"]):
        by = {row["streams"]: row for row in group.to_dict("records")}
        if {"single", "multiplexed"} <= set(by):
            single, multiplexed = by["single"], by["multiplexed"]
            saved = 100 * (1 - multiplexed["transfer_seconds"] / single["transfer_seconds"])
            times = [_spread(single), _spread(multiplexed)]
            yield [str(mode), blocks, size, *times, saved, single["repeats"]]


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
