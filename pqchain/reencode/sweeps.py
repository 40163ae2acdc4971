"""Sweep of one repair over link conditions and configurations of the transport.

A configuration ("way") is a transport with its streams, sessions and congestion control. Every
condition is replayed with every configuration and the same seeds, so that configurations are
comparable within a condition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain.checks import integer
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.figures import RATIO
from pqchain.reencode import replays
from pqchain.reencode.scenario import MAX_REPEATS, Link, ReplayScenario
from pqchain.render.table import Column, Table
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

WAYS: Mapping[str, Mapping[str, str]] = {
    "tcp": {"transport": "tcp-tls"},
    "quic": {},
    "quic-one-stream": {"streams": "single"},
    "quic-cubic": {"congestion": "cubic"},
    "quic-bbr": {"congestion": "bbr"},
    "quic-fresh": {"sessions": "full"},
    "quic-0-rtt": {"sessions": "0-rtt"},
}
"""Configurations by name, each with the scenario fields that it changes.

The QUIC configurations use the scenario's transport. "quic" has one stream per chunk on existing
sessions, with NewReno. "quic-fresh" and "quic-0-rtt" open new sessions for the chunks, with a full
or a 0-RTT handshake.
"""

SMALL = ReplayScenario(
    nodes=5, before=(3, 2), after=(2, 2), failed_node=4, block_bytes=300_000, blocks=4,
    sources="all", limit_seconds=900.0, timeout_seconds=5.0, stall_seconds=300.0,
    give_up_seconds=300.0,
)  # fmt: skip
"""Scenario of five nodes and four blocks, so that many conditions can be run.

Its timeouts are long, because a node on a slow link with loss is not dead.
"""


def sweep(
    base: ReplayScenario = SMALL,
    *,
    bits_per_second: Sequence[float] = (10e6, 1e9),
    delay_seconds: Sequence[float] = (1e-4, 20e-3),
    loss: Sequence[float] = (0.0, 0.02),
    ways: Sequence[str] = ("quic", "quic-one-stream", "quic-fresh", "quic-0-rtt"),
    repeats: int = 3,
    progress: bool = False,
) -> pd.DataFrame:
    """Replay every condition with every configuration; return a row for each pair.

    Rows are in the order of the arguments. Columns: way, mode, transport, streams, sessions,
    congestion, bits_per_second, delay_seconds (one way), loss (a probability), blocks, block_bytes,
    datagram_bytes, repeats, first_chunk_seconds and mean_chunk_seconds (from a node's start until a
    chunk is complete, means over nodes and repeats), transfer_seconds (mean), low_seconds and
    high_seconds (minimum and maximum transfer), wire_limit_seconds, over_best (transfer relative to
    the best of the same condition), status, note. An unsupported or failed configuration has a row
    with the reason in its note. TCP needs sockets and thus `mode="netns"`, in which links are
    shaped and all times are measured. Raises UnknownName and UsageError.
    """
    from tqdm import tqdm

    for way in ways:
        if way not in WAYS:
            raise UnknownName("way", way, WAYS)
    if not registry.get(base.transport).datagrams:
        raise UsageError(
            f"the transport must be {' or '.join(registry.names(datagrams=True))}; got "
            f"{base.transport}. For TCP add 'tcp' to the ways."
        )
    integer("repeats", repeats, least=1, most=MAX_REPEATS)
    conditions = [
        Link(bits_per_second=rate, delay_seconds=delay, loss=lost)
        for rate, delay, lost in itertools.product(bits_per_second, delay_seconds, loss)
    ]
    rows: list[dict[str, Any]] = []
    total = len(conditions) * len(ways)
    with tqdm(total=total, disable=not progress, desc="links", leave=False) as bar:
        for link in conditions:
            configurations = []
            for way in ways:
                configurations.append(_row(replace(base, link=link), way, repeats))
                bar.update()
            # Infinite, so never the best, where a configuration did not run; NaN in the frame.
            best = min(row["transfer_seconds"] for row in configurations)
            rows += [row | {"over_best": row["transfer_seconds"] / best} for row in configurations]
    frame = SWEEP.frame(rows).replace(math.inf, math.nan)
    frame.attrs["provenance"] = {"scenario_id": base.id, "repeats": repeats}
    return frame


def _row(base: ReplayScenario, way: str, repeats: int) -> dict[str, Any]:
    """Return a row of `SWEEP` without `over_best`; times are infinite if the run fails."""
    names = "mode transport streams sessions congestion blocks block_bytes datagram_bytes"
    row: dict[str, Any] = dict.fromkeys(SWEEP.columns, math.inf)
    row |= {name: getattr(base, name) for name in names.split()}
    row |= {"way": way, **WAYS[way], "repeats": 0}
    row |= {name: getattr(base.link, name) for name in ("bits_per_second", "delay_seconds", "loss")}
    try:
        scenario = replace(base, **dict[str, Any](WAYS[way]))
        if reason := replays.unavailable_reason(scenario):
            return row | {"status": "unsupported", "note": reason}
        frame = replays.replay(scenario, repeats=repeats).frame
    # One configuration that fails must not end the sweep.
    except PqchainError as error:
        status = "unsupported" if isinstance(error, UsageError) else "failed"
        return row | {"status": status, "note": str(error)}
    means = ("first_chunk_seconds", "mean_chunk_seconds", "transfer_seconds", "wire_limit_seconds")
    row |= {name: frame[name].mean() for name in means}
    times = frame["transfer_seconds"]
    row |= {"low_seconds": times.min(), "high_seconds": times.max(), "repeats": repeats}
    return row | {"status": "ok", "note": str(frame["verdict"].iloc[0])}


def links_table(frame: pd.DataFrame) -> Table:
    """Return a table of a `sweeps.SWEEP` frame; the best of each condition has ratio 1."""
    columns: list[Column | str] = [
        Column("rate", numeric=True, key="rate"),
        Column("one way", numeric=True, key="delay_seconds"),
        Column("loss", numeric=True, key="lost"),
        "way",
        "first_chunk_seconds",
        "mean_chunk_seconds",
        "transfer_seconds",
        Column("link alone", numeric=True, key="wire_limit_seconds"),
        Column("relative to the best", numeric=True, unit=RATIO, key="over_best"),
    ]
    table = frame.assign(
        rate=(frame["bits_per_second"] / 1e6).map("{:g} Mbit/s".format),
        lost=(100 * frame["loss"]).map("{:g} %".format),
        note=frame["note"].where(frame["status"] != "ok", ""),
    )
    return Table.of(table, columns, remark="note")
