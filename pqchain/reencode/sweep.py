"""The same repair over links of many kinds, in several ways, to see when which of them wins.

A way is a transport with its streams, its sessions and its congestion control. Every condition is
replayed in every way with the same seeds, so that ways compare within a condition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain.checks import whole
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.reencode import replay
from pqchain.reencode.scenario import MOST_REPEATS, Link, Scenario
from pqchain.results import Contract
from pqchain.wire.transports import registry

SWEEP = Contract.of(
    "reencode_sweep",
    ("str", "way mode transport streams sessions congestion"),
    ("float64", "bits_per_second delay_seconds loss"),
    ("Int64", "blocks block_bytes datagram_bytes repeats"),
    ("float64", "first_chunk_seconds mean_chunk_seconds transfer_seconds"),
    ("float64", "low_seconds high_seconds wire_limit_seconds over_best"),
    ("str", "status note"),
)

_QUIC = registry.names(virtual=True)[0]

WAYS: Mapping[str, Mapping[str, str]] = {
    "tcp": {"transport": "tcp-tls"},
    "quic": {"transport": _QUIC},
    "quic-one-stream": {"transport": _QUIC, "streams": "single"},
    "quic-cubic": {"transport": _QUIC, "congestion": "cubic"},
    "quic-bbr": {"transport": _QUIC, "congestion": "bbr"},
    "quic-fresh": {"transport": _QUIC, "sessions": "full"},
    "quic-0-rtt": {"transport": _QUIC, "sessions": "0-rtt"},
}
"""What a scenario changes. Without more, a stream for each chunk over sessions that are there,
with NewReno. Fresh sessions are opened for the chunks: with a full handshake, or with 0-RTT."""

SMALL = Scenario(
    nodes=5, before=(3, 2), after=(2, 2), failed_node=4, block_bytes=300_000, blocks=4,
    sources="all", limit_seconds=900.0, timeout_seconds=5.0, stall_seconds=300.0,
    give_up_seconds=300.0,
)  # fmt: skip
"""Five nodes and four blocks, so that many conditions can be tried; and patience, as a slow link
with loss is no dead node."""


def sweep(
    base: Scenario = SMALL,
    *,
    bits_per_second: Sequence[float] = (10e6, 1e9),
    delay_seconds: Sequence[float] = (1e-4, 20e-3),
    loss: Sequence[float] = (0.0, 0.02),
    ways: Sequence[str] = ("quic", "quic-one-stream", "quic-fresh", "quic-0-rtt"),
    repeats: int = 3,
    progress: bool = False,
) -> pd.DataFrame:
    """Replay every condition in every way; return a row for each, conditions in the order given.

    Columns: way, mode, transport, streams, sessions, congestion, bits_per_second, delay_seconds
    (one way), loss (a probability), blocks, block_bytes, datagram_bytes, repeats,
    first_chunk_seconds and mean_chunk_seconds (from a node's beginning until a chunk is complete,
    means over nodes and repeats), transfer_seconds (mean), low_seconds and high_seconds (shortest
    and longest transfer), wire_limit_seconds, over_best (transfer over the least in the same
    condition), status, note. What a way cannot do is a row that says why; TCP needs sockets, and so
    `mode="netns"`, where links are shaped and all is measured. Raises UnknownName, UsageError.
    """
    from tqdm import tqdm

    for way in ways:
        if way not in WAYS:
            raise UnknownName("way", way, WAYS)
    whole("repeats", repeats, least=1, most=MOST_REPEATS)
    conditions = [
        Link(bits_per_second=rate, delay_seconds=delay, loss=lost)
        for rate, delay, lost in itertools.product(bits_per_second, delay_seconds, loss)
    ]
    rows: list[dict[str, Any]] = []
    total = len(conditions) * len(ways)
    with tqdm(total=total, disable=not progress, desc="links", leave=False) as bar:
        for link in conditions:
            found = []
            for way in ways:
                found.append(_row(replace(base, link=link), way, repeats))
                bar.update()
            best = min(row["transfer_seconds"] for row in found)
            rows += [row | {"over_best": row["transfer_seconds"] / best} for row in found]
    frame = SWEEP.frame(rows).replace(math.inf, math.nan)
    frame.attrs["provenance"] = {"scenario_id": base.id, "repeats": repeats}
    return frame


def _row(base: Scenario, way: str, repeats: int) -> dict[str, Any]:
    """Return a row of SWEEP but for `over_best`; without times if the way is closed here."""
    names = "mode transport streams sessions congestion blocks block_bytes datagram_bytes"
    row: dict[str, Any] = dict.fromkeys(SWEEP.columns, math.inf)
    row |= {name: getattr(base, name) for name in names.split()}
    row |= {"way": way, **WAYS[way], "repeats": 0}
    row |= {name: getattr(base.link, name) for name in ("bits_per_second", "delay_seconds", "loss")}
    try:
        one = replace(base, **dict[str, Any](WAYS[way]))
        if reason := replay.check_possible(one):
            return row | {"status": "unsupported", "note": reason}
        frame = replay.replay(one, repeats=repeats)
    except PqchainError as error:
        status = "unsupported" if isinstance(error, UsageError) else "failed"
        return row | {"status": status, "note": str(error)}
    means = ("first_chunk_seconds", "mean_chunk_seconds", "transfer_seconds", "wire_limit_seconds")
    row |= {name: frame[name].mean() for name in means}
    times = frame["transfer_seconds"]
    row |= {"low_seconds": times.min(), "high_seconds": times.max(), "repeats": repeats}
    return row | {"status": "ok", "note": str(frame["verdict"].iloc[0])}
