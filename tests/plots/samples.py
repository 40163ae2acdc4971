"""A frame for each kind of plot, with the long names that real ones have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pqchain import plots
from pqchain.bench import compare_runs
from pqchain.reencode import sweeps
from tests import frames

LONG = "SPHINCS+-SHA2-128f-simple"
SCHEMES = ["Falcon-512", "ML-DSA-44", LONG, "Dilithium2"]


@cache
def cells() -> pd.DataFrame:
    rows = [
        {
            "algorithm": name, "nodes": nodes, "latency_seconds": nodes**2 / 50 * (1 + at / 5),
            "published_latency_seconds": nodes**2 / 49, "throughput_per_second": 900 / nodes**2,
            "published_throughput_per_second": 905 / nodes**2,
        }
        for at, name in enumerate(SCHEMES)
        for nodes in (2, 4, 8, 16, 32)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def computers() -> pd.DataFrame:
    rows = [
        {"setting": setting, "nodes": n, "latency_seconds": n**2 / 1e3 * (at + 1),
         "latency_seconds_half_width": n / 1e4, "predicted_latency_seconds": n**2 / 1e3}
        for at, setting in enumerate(("one processor", "two processors", "one each, virtual"))
        for n in (4, 8, 16, 32)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def networks() -> pd.DataFrame:
    rows = [
        {"setting": setting, "nodes": 2**n, "delegates": 2**n if at < 3 else 21, "status": "ok",
         "latency_seconds": (1 + at) * 2**n / 100}
        for at, setting in enumerate(("paper-serial", "regions", "mesh", "gossip, 21 delegates"))
        for n in (2, 8, 14, 20)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def winners() -> pd.DataFrame:
    rows = [
        {"question": question, "nodes": 2**n, "rate_bits_per_second": rate,
         "winner": SCHEMES[(n + at) % 3], "runner_up": LONG, "lead": 1.0 + (n % 3) / 2,
         "ranked_by": "latency_seconds" if at else "throughput_per_second", "amount": 50_000}
        for at, question in enumerate(("50000 B", "300 transactions"))
        for n in (4, 8, 12, 16, 20)
        for rate in (1e6, 1e8, 1e10)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def links() -> pd.DataFrame:
    row = {"mode": "netns", "transport": "native", "streams": "single", "sessions": "kept",
           "congestion": "reno", "bits_per_second": 1e7, "delay_seconds": 0.02, "loss": 0.02,
           "blocks": 4, "block_bytes": 300_000, "datagram_bytes": 1452, "repeats": 3,
           "first_chunk_seconds": 0.1, "mean_chunk_seconds": 0.2, "low_seconds": 0.9,
           "high_seconds": 1.1, "wire_limit_seconds": 0.5, "over_best": 1.0, "status": "ok",
           "note": ""}  # fmt: skip
    ways = ("tcp", "quic", "quic-one-stream", "quic-cubic", "quic-bbr", "quic-fresh", "quic-0-rtt")
    return sweeps.SWEEP.frame(
        row | {"way": way, "transfer_seconds": 1 + at / 3, "delay_seconds": delay}
        for at, way in enumerate(ways)
        for delay in (0.0, 0.02, 0.2)
    )


def study(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"algorithm": SCHEMES, **columns})


def load() -> pd.DataFrame:
    rows = [
        {"algorithm": name, "arrivals_per_second": 10.0**n, "latency_seconds": 7.0 * 2**n + at}
        for at, name in enumerate(SCHEMES)
        for n in range(4)
    ]
    return pd.DataFrame(rows)


def tornado() -> pd.DataFrame:
    inputs = ("verify_seconds", "block_bytes", "rate_bits_per_second", "verification_threads")
    rows = [
        {"algorithm": LONG, "output": "capacity_per_second", "unit": "1/s", "input": name,
         "base": 1000.0, "low": 1000 - 100 * at, "high": 1000 + 200 * at}
        for at, name in enumerate(inputs, start=1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def plane() -> pd.DataFrame:
    factors = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
    rows = [
        {"across": "rate_bits_per_second", "upwards": "verify_seconds", "across_factor": x,
         "upwards_factor": y, "winner": SCHEMES[(i + j) % 4], "capacity_per_second": 9.0}
        for i, x in enumerate(factors)
        for j, y in enumerate(factors)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def migration() -> pd.DataFrame:
    return pd.DataFrame(
        {"day": [1.0, 200.0, 700.0], "moved_share": [0.1, 0.5, 1.0],
         "waiting_share": [0.0, 0.2, 0.0], "growth_bytes_per_day": [1e8, 2e8, 3e8]}
    )  # fmt: skip


def operation() -> pd.DataFrame:
    rows = [
        {"algorithm": name, "variant": variant, "quantity": "sign_seconds", "printed": 1e-3,
         "ours": 9e-4, "verdict": "ok"}
        for name in SCHEMES
        for variant in ("ref", "avx2")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def accelerator() -> pd.DataFrame:
    kinds = ("published", "cited", "estimated", "modelled")
    rows = [
        {"algorithm": "Falcon-512", "implementation": f"M4 + engine, pipelined, row {at}",
         "kind": kind, "ours": 0.02 + at / 100}
        for at, kind in enumerate(kinds)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def history() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    dates = ("2026-11-20T10:00:00+00:00", "2026-11-21T10:00:00+00:00", "2026-11-22T10:00:00+00:00")
    return pd.concat([frame.assign(run=date) for date in dates], ignore_index=True)


def compared() -> pd.DataFrame:
    return compare_runs(
        {name: frames.measurements(["Falcon-512", LONG]) for name in ("laptop", "server", "board")}
    )


KINDS: dict[str, Callable[[], Axes | Figure]] = {
    "speed": lambda: plots.plot_speed(frames.measurements([*SCHEMES[:3], "Kyber512"])),
    "ratio": lambda: plots.plot_ratio(frames.times().head(9)),
    "speedup": lambda: plots.plot_speedup(frames.measurements(SCHEMES[:3])),
    "compared": lambda: plots.plot_compared(compared()),
    "history": lambda: plots.plot_history(history()),
    "sizes": lambda: plots.plot_sizes(SCHEMES, secret_keys=True),
    "tradeoff": lambda: plots.plot_tradeoff(frames.measurements()),
    "blocks": lambda: plots.plot_blocks(frames.blocks(), "rate"),
    "operation": lambda: plots.plot_operation(operation(), "sign"),
    "accelerator": lambda: plots.plot_accelerator(accelerator()),
    "cells": lambda: plots.plot_cells(cells(), per_pair=True),
    "computers": lambda: plots.plot_computers(computers()),
    "networks": lambda: plots.plot_networks(networks()),
    "winners": lambda: plots.plot_winners(winners()),
    "phases": lambda: plots.plot_phases(frames.replays()["table1"]),
    "streams": lambda: plots.plot_streams(frames.replays()["figure1"]),
    "transports": lambda: plots.plot_transports(frames.replays()["transports"]),
    "links": lambda: plots.plot_links(links()),
    "capacity": lambda: plots.plot_capacity(
        study(value=[50.0, 20, 9, 8], low=[45.0, 18, 8, 7], high=[60.0, 22, 10, 9]),
        dict.fromkeys(SCHEMES, "bandwidth of a node"),
    ),
    "load": lambda: plots.plot_load(load()),
    "migration": lambda: plots.plot_migration(migration()),
    "tornado": lambda: plots.plot_tornado(tornado()),
    "plane": lambda: plots.plot_plane(plane()),
}
"""Every kind of plot; a test compares with what `pqchain.plots` offers."""
