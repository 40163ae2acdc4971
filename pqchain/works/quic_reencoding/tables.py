"""Replays of a re-encoding for people: on a terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain.reencode import tables as replay_tables
from pqchain.render import html, numbers
from pqchain.render.html import Column, Markup
from pqchain.works.quic_reencoding import work as reencoding

PHASES = (*reencoding.PHASES, "total")

NOT_ALIKE = (
    "Shares compare, seconds do not: the blocks are not of one size, and nothing printed tells of "
    "the authors' processors, language or library.",
    "On the virtual clock every byte of QUIC, TLS and the codec is run, signatures, files and "
    "hashes too; the clock, the link and the time of decoding, encoding, hashing and files are "
    "modelled. Decoding, encoding and files go at the rates that Table 1 prints, so those rows "
    "agree by construction; transfer and the rest are what the model adds.",
    "Link only: the processor takes no time for a datagram, so what is left is the link of "
    "10 Gbit/s and QUIC's own waiting. Link and processor: each datagram costs "
    f"{reencoding.DATAGRAM_SECONDS * 1e6:.1f} µs, chosen so that the printed transfer comes out. "
    "That the two differ so much says that the printed time is one of processing, not of the link: "
    "153 MB/s came into each node, 12 % of the link.",
    "Our rest holds SHA3-256 of every chunk and block, which the paper does not mention.",
    "On loopback ten processes share this machine's processors, with datagrams of 8952 bytes, or "
    "the longest that this version of aioquic sends.",
)
"""How to read Table 1."""


def _table1(table: pd.DataFrame) -> tuple[list[str], list[list[str]], list[str]]:
    """Return headings, rows and remarks of Table 1: a row for each run, a column for each phase."""
    head = ["run", "kind", "bytes", *reencoding.PHASES, "total"]
    rows, remarks = [], []
    for run, group in table.groupby("run", sort=False):
        each: list[dict[Any, Any]] = group.to_dict("records")
        total = math.fsum(row["seconds"] for row in each)
        cells = [
            f"{numbers.seconds(row['seconds'])} ({row['share_percent']:.2f} %)"
            if math.isfinite(row["seconds"]) else numbers.MISSING
            for row in each
        ]  # fmt: skip
        size = numbers.byte_count(each[0]["payload_bytes"])
        rows.append([str(run), each[0]["kind"], size, *cells, numbers.seconds(total)])
        fine = each[0]["status"] == "ok"
        remarks.append(each[0]["note"] if fine else f"{each[0]['status']}: {each[0]['note']}")
    return head, rows, remarks


def _figure1(series: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of Figure 1."""
    head = ["mode", "blocks", "bytes each", "single", "multiplexed", "saved", "runs of each"]
    rows = []
    for (mode, blocks, _), group in series.groupby(["mode", "blocks", "block_bytes"]):
        by = {row["streams"]: row for row in group.to_dict("records")}
        if not {"single", "multiplexed"} <= set(by):
            continue
        pair = [by["single"], by["multiplexed"]]
        shown = [
            f"{numbers.seconds(row['transfer_seconds'])} ({numbers.seconds(row['low_seconds'])} "
            f"to {numbers.seconds(row['high_seconds'])})"
            for row in pair
        ]
        saving = 100 * (1 - pair[1]["transfer_seconds"] / pair[0]["transfer_seconds"])
        saved = f"{round(saving, 2) + 0.0:.2f} %"  # never -0.00
        each = numbers.byte_count(pair[0]["block_bytes"])
        rows.append([str(mode), str(blocks), each, *shown, saved, str(pair[0]["repeats"])])
    return head, rows


def _transports(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the transports."""
    head = ["transport", "runs", "transfer", "shortest to longest", "wire limit", "CPU", "verdict"]
    rows = [
        [
            row["transport"], str(row["repeats"]), numbers.seconds(row["transfer_seconds"]),
            f"{numbers.seconds(row['low_seconds'])} to {numbers.seconds(row['high_seconds'])}",
            numbers.seconds(row["wire_limit_seconds"]), numbers.seconds(row["cpu_seconds"]),
            row["verdict"] if row["status"] == "ok" else f"{row['status']}: {row['verdict']}",
        ]
        for row in table.to_dict("records")
    ]  # fmt: skip
    return head, rows


def text(frames: Mapping[str, pd.DataFrame]) -> str:
    """Lay everything out for a terminal."""
    head, rows, remarks = _table1(frames["table1"])
    parts = [
        "Table 1, printed and replayed",
        numbers.text_table(head, rows, right=range(2, len(head))),
        "\n".join(f"- {row[0]}: {note}" for row, note in zip(rows, remarks, strict=True) if note),
        "Figure 1: time of transfer by number of blocks (its printed values are a picture)",
        numbers.text_table(*_figure1(frames["figure1"]), right=range(1, 7)),
        f"Single against multiplexed streams; {reencoding.CLAIMED_PERCENT} % saved is claimed",
        replay_tables.contrast(frames["contrast"]).text(),
    ]
    if len(frames["transports"]):
        parts += [
            "Transports at equal links",
            numbers.text_table(*_transports(frames["transports"])),
        ]
    return "\n\n".join([*parts, "\n".join(f"- {line}" for line in NOT_ALIKE), _left_out(frames)])


def _left_out(frames: Mapping[str, pd.DataFrame]) -> str:
    """Say what this preset did not do, and how to have it."""
    missing = []
    if set(frames["contrast"]["mode"]) == {"virtual"}:
        missing.append("single against multiplexed on real sockets")
    if not len(frames["transports"]):
        missing.append("the comparison of aioquic, qh3, TCP with TLS and gRPC at equal links")
    largest = frames["table1"].query("kind == 'modelled'")["payload_bytes"].max()
    if largest < 64_000_000:
        missing.append(
            f"a block of 64 MB (the virtual ones above have {numbers.byte_count(largest)})"
        )
    if not missing:
        return ""
    command = f"pqchain reproduce --only {reencoding.PAPER} --preset paper"
    return f"Not done with this preset: {'; '.join(missing)}. Run: {command}"


def markup(
    frames: Mapping[str, pd.DataFrame], figures: Mapping[str, Markup]
) -> tuple[list[Markup], list[Markup]]:
    """Write the parts of the chapter: Table 1 with how to read it, and streams and transports."""
    table = frames["table1"]
    columns, rows, remarks = [Column("phase")], [[name] for name in PHASES], []
    for run, group in table.groupby("run", sort=False):
        each: list[dict[Any, Any]] = group.to_dict("records")
        size = numbers.integer(each[0]["payload_bytes"] / 1e6)
        title = f"{run}: {each[0]['kind']}, {size} MB"
        columns += [Column("time", title, True), Column("share, %", title, True)]
        shown = [(row["seconds"], row["share_percent"]) for row in each]
        total = math.fsum(row["seconds"] for row in each)
        for cells, (seconds, share) in zip(rows, [*shown, (total, math.nan)], strict=True):
            number = f"{share:.2f}" if math.isfinite(share) else ""
            cells += [numbers.seconds(seconds), number]
        if each[0]["note"]:
            bad = "" if each[0]["status"] == "ok" else f"{each[0]['status']}: "
            remarks.append(f"{run}: {bad}{each[0]['note']}.")
    phases = [
        html.table(
            columns, rows, source=tuple(dict.fromkeys(table["kind"])),
            caption="Table 1, printed and replayed: mean time of a node, and its share.",
        ),
        *_chosen(figures, "phases"),
        html.bullets([*remarks, *NOT_ALIKE]),
    ]  # fmt: skip
    head, rows = _figure1(frames["figure1"])
    sources = tuple(dict.fromkeys(frames["figure1"]["kind"]))
    streams = [
        html.table(
            [Column(name, numeric=index > 0) for index, name in enumerate(head)], rows,
            source=sources,
            caption="Figure 1 as numbers: time of transfer, mean (shortest to longest run). Each "
            "node asks nine others for the chunks of all blocks. The print's values are a picture.",
        ),
        *_chosen(figures, "streams"),
    ]  # fmt: skip
    caption = (
        "Single against multiplexed, paired by seed, at the most blocks; "
        f"{reencoding.CLAIMED_PERCENT} % saved is claimed. Interval: Student's t."
    )
    pairs = replace(replay_tables.contrast(frames["contrast"]), caption=caption, source=sources)
    streams.append(pairs.html())
    if len(frames["transports"]):
        streams += [_transport_table(frames["transports"]), *_chosen(figures, "transports")]
    left = _left_out(frames)
    return phases, [*streams, *([html.element("p", left)] if left else [])]


def _transport_table(table: pd.DataFrame) -> Markup:
    """Write the transports at equal links."""
    head, rows = _transports(table)
    rate = table["bits_per_second"].iloc[0] / 1e6
    return html.table(
        [Column(name, numeric=1 <= index < 6) for index, name in enumerate(head[:-1])],
        [row[:-1] for row in rows], source=("measured",), remarks=[row[-1] for row in rows],
        caption=f"Transports between network namespaces, every link shaped to {rate:g} Mbit/s.",
    )  # fmt: skip


def _chosen(figures: Mapping[str, Markup], name: str) -> Sequence[Markup]:
    """Return a figure if it was drawn."""
    return [figures[name]] if name in figures else []
