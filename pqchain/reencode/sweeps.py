"""Sweep of one repair over link conditions and variants of the transport."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from pqchain.errors import UnknownName
from pqchain.reencode.replays import replay
from pqchain.reencode.scenario import Link, ReplayScenario
from pqchain.results import Contract

SWEEP = Contract.of(
    "reencode_sweep",
    ("str", "way mode transport streams sessions congestion"),
    ("float64", "bits_per_second delay_seconds loss"),
    ("Int64", "blocks block_bytes datagram_bytes repeats"),
    ("float64", "first_chunk_seconds mean_chunk_seconds transfer_seconds"),
    ("float64", "low_seconds high_seconds wire_limit_seconds"),
)

WAYS: Mapping[str, Mapping[str, Any]] = {
    "tcp": {"transport": "tcp-tls"},
    "quic": {},
    "quic-one-stream": {"streams": "single"},
    "quic-cubic": {"congestion": "cubic"},
    "quic-bbr": {"congestion": "bbr"},
    "quic-fresh": {"sessions": "full"},
    "quic-0-rtt": {"sessions": "0-rtt"},
}
"""Variants by name, each with the scenario fields that it changes; "quic" has NewReno and a stream
per chunk on existing sessions."""

SMALL = ReplayScenario(
    nodes=5, before=(3, 2), after=(2, 2), failed_node=4, block_bytes=300_000, blocks=4,
    sources="all", limit_seconds=900.0, timeout_seconds=5.0, stall_seconds=300.0,
    give_up_seconds=300.0,
)  # fmt: skip
"""Scenario of five nodes; its timeouts are long, because a node on a slow link is not dead."""


def sweep(
    base: ReplayScenario = SMALL,
    *,
    bits_per_second: Sequence[float] = (10e6, 1e9),
    delay_seconds: Sequence[float] = (1e-4, 20e-3),
    loss: Sequence[float] = (0.0, 0.02),
    ways: Sequence[str] = ("quic", "quic-one-stream", "quic-fresh", "quic-0-rtt"),
    repeats: int = 3,
) -> pd.DataFrame:
    """Replay every condition in every way with the same seeds; return a row for each pair.

    Columns: way, mode, transport, streams, sessions, congestion, bits_per_second, delay_seconds
    (one way), loss (a probability), blocks, block_bytes, datagram_bytes, repeats,
    first_chunk_seconds and mean_chunk_seconds (from a node's start until a chunk is complete, means
    over nodes and repeats), transfer_seconds (mean), low_seconds and high_seconds (minimum and
    maximum transfer), wire_limit_seconds. TCP needs `mode="netns"`. Raises UnknownName, UsageError,
    Unsupported and PqchainError.
    """
    if unknown := [way for way in ways if way not in WAYS]:
        raise UnknownName("way", unknown[0], WAYS)
    rows: list[dict[str, Any]] = []
    for rate, delay, lost, way in itertools.product(bits_per_second, delay_seconds, loss, ways):
        link = Link(bits_per_second=rate, delay_seconds=delay, loss=lost)
        scenario = replace(base, link=link, **WAYS[way])
        frame = replay(scenario, repeats=repeats).frame
        times = frame["transfer_seconds"]
        row = frame.mean(numeric_only=True).to_dict() | asdict(scenario) | asdict(link)
        row |= {"way": way, "repeats": repeats}
        row |= {"low_seconds": times.min(), "high_seconds": times.max()}
        rows.append({name: row[name] for name in SWEEP.columns})
    return SWEEP.frame(rows)
