"""The replays behind the re-encoding paper's Table 1 and Figure 1: what each preset runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import machine, results
from pqchain.errors import PqchainError, UnknownName
from pqchain.reencode import replay, scenario
from pqchain.reencode.replay import RUN
from pqchain.reencode.scenario import Scenario
from pqchain.wire.transports import registry
from pqchain.works.quic_reencoding.frames import (
    CALIBRATED,
    KEY,
    LINK_ONLY,
    LOOPBACK,
    contrast,
    figure1,
    table1,
    transports,
)

DATAGRAM_SECONDS = 4.7e-6
"""Modelled processor time of one datagram sent or received, calibrated on Table 1.

4.9978 s for ten blocks, of each of which a node takes in and gives away eight chunks of 9.14 MB in
datagrams of 1452 bytes, are 9.9 us for one in and one out; acknowledgements take the rest.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of the paper a preset replays."""

    block_bytes: int
    """Of the virtual run of Table 1; the paper's block has 64 MB."""
    series: tuple[tuple[int, int], ...]
    """Figure 1: (blocks, repeats)."""
    series_block_bytes: int
    live_pairs: int
    """Repeats of single and multiplexed streams on real sockets."""
    transport_repeats: int


PRESETS = {
    "quick": Amount(
        block_bytes=2_000_000,
        series=((1, 1), (4, 2), (10, 10)),
        series_block_bytes=70_000,
        live_pairs=0,
        transport_repeats=0,
    ),
    "paper": Amount(
        block_bytes=64_000_000,
        series=((1, 10), (2, 10), (5, 10), (10, 10)),
        series_block_bytes=640_000,
        live_pairs=10,
        transport_repeats=5,
    ),
}
"""`quick` takes less than a minute on four processors, `paper` about a quarter of an hour."""

SHAPED_BITS_PER_SECOND = 10e6
"""Rate of the links in the comparison of transports: slow, so that no processor binds."""

_LIVE_DATAGRAM_BYTES = 8952
"""On loopback; a version of aioquic that sends no such datagrams sends its longest."""

_LIVE_BLOCKS, _LIVE_BLOCK_BYTES = 10, 200_000
_SHAPED_BLOCK_BYTES = 640_000


def reproduce(preset: str = "quick", *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Run every replay of a preset: runs, table1, figure1, contrast and transports, as frames.

    Virtual runs go side by side, each in a process of its own; those on sockets one after the
    other, as they share the processor. A run that cannot be done is a row that says why. Raises
    UnknownName for an unknown preset.
    """
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    amount = PRESETS[preset]
    virtual: list[tuple[str, list[str], int]] = []
    for name, cost in ((LINK_ONLY, 0.0), (CALIBRATED, DATAGRAM_SECONDS)):
        values = {"block-bytes": amount.block_bytes, "sources": "all", "datagram-seconds": cost}
        virtual.append((name, _options(values), 0))
    for blocks, repeats in reversed(amount.series):
        # Three repeats share a process: fewer would spend more time on starting it.
        for first in range(0, repeats, 3):
            values = {
                "experiment": "exchange",
                "block-bytes": amount.series_block_bytes,
                "blocks": blocks,
                "streams": "single,multiplexed",
                "seed": first,
                "repeats": min(3, repeats - first),
            }
            virtual.append(("series", _options(values), first))
    count = (
        len(virtual) + 1 + amount.live_pairs + amount.transport_repeats * len(registry.TRANSPORTS)
    )
    with _bar(count, progress) as step:
        found = _apart(virtual, step)
        live = _attempt(
            Scenario(mode="loopback", sources="all", datagram_bytes=_live_datagram_bytes())
        )
        step()
        series = pd.concat([found.pop("series"), *_live_pairs(amount.live_pairs, step)])
        shaped = [*_shaped(amount.transport_repeats, step)]
    phases = {LINK_ONLY: found[LINK_ONLY], CALIBRATED: found[CALIBRATED], LOOPBACK: live}
    joined = pd.concat([*phases.values(), series, *shaped], ignore_index=True)
    joined.attrs = {}
    frames = {
        "runs": results.check(joined, RUN),
        "table1": table1(phases),
        "figure1": figure1(series),
        "contrast": contrast(series),
        "transports": transports(shaped, SHAPED_BITS_PER_SECOND),
    }
    provenance = {**machine.provenance(), "preset": preset}
    for frame in frames.values():
        frame.attrs["provenance"] = provenance
    return frames


def _options(values: Mapping[str, Any]) -> list[str]:
    return [text for name, value in values.items() for text in (f"--{name}", str(value))]


def _apart(
    orders: Sequence[tuple[str, list[str], int]], step: Callable[[], None]
) -> dict[str, pd.DataFrame]:
    """Run virtual replays in processes of their own, as many at once as there are processors."""

    def run(order: tuple[str, list[str], int]) -> tuple[str, pd.DataFrame]:
        name, options, first = order
        with tempfile.TemporaryDirectory(prefix="pqchain-") as folder:
            file = Path(folder) / "runs.csv"
            command = [sys.executable, "-m", "pqchain", "reencode", *options, "--output", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                why = done.stderr.strip().rpartition("\n")[2]
                frame = replay.unsupported(Scenario(), f"{' '.join(options)}: {why}")
                frame["status"] = "failed"
            else:
                frame = results.load(file)
            frame["repeat"] += first
        frame.attrs = {}
        step()
        return name, frame

    found: dict[str, list[pd.DataFrame]] = {}
    with ThreadPoolExecutor(machine.provenance()["cpu_count"]) as pool:
        for name, frame in pool.map(run, orders):
            found.setdefault(name, []).append(frame)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}


def _attempt(one: Scenario, **options: Any) -> pd.DataFrame:
    reason = replay.check_possible(one)
    if reason:
        return replay.unsupported(one, reason)
    try:
        frame = replay.replay(one, **options)
    except PqchainError as error:
        return replay.unsupported(one, str(error)).assign(status="failed")
    frame.attrs = {}
    return frame


def _live_datagram_bytes() -> int:
    return min(_LIVE_DATAGRAM_BYTES, registry.get("aioquic").longest_datagram_bytes())


def _live_pairs(count: int, step: Callable[[], None]) -> Iterator[pd.DataFrame]:
    """Yield single beside multiplexed on real sockets, alternating which goes first."""
    for repeat in range(count):
        one = Scenario(
            experiment="exchange",
            mode="loopback",
            block_bytes=_LIVE_BLOCK_BYTES,
            blocks=_LIVE_BLOCKS,
            datagram_bytes=_live_datagram_bytes(),
            seed=repeat,
        )
        kinds = scenario.STREAMS if repeat % 2 == 0 else scenario.STREAMS[::-1]
        yield _attempt(one, streams=kinds).assign(repeat=repeat)
        step()


def shaped_scenario(transport: str) -> Scenario:
    """Return a replay in network namespaces, whose links are the same for each transport."""
    return Scenario(
        mode="netns",
        transport=transport,
        block_bytes=_SHAPED_BLOCK_BYTES,
        limit_seconds=60.0,
        link=scenario.Link(bits_per_second=SHAPED_BITS_PER_SECOND),
    )


def _shaped(repeats: int, step: Callable[[], None]) -> Iterator[pd.DataFrame]:
    for repeat in range(repeats):
        for transport in registry.TRANSPORTS:
            one = shaped_scenario(transport)
            yield _attempt(one).assign(repeat=repeat)
            step()


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """Give what counts replays, shown as a bar with the time left if a person watches."""
    from tqdm import tqdm

    with tqdm(total=total, unit="replay", disable=not shown, desc=KEY, leave=False) as bar:
        yield lambda: bar.update() and None
