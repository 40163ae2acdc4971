"""Replays of Table 1 and Figure 1 of the re-encoding paper, with sizes by preset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import pandas as pd
from tqdm import tqdm

from pqchain import results
from pqchain.errors import PqchainError, UnknownName
from pqchain.reencode import scenario
from pqchain.reencode.replays import replay, unavailable_reason, unsupported
from pqchain.reencode.scenario import Compute, Link, ReplayScenario
from pqchain.results import machine
from pqchain.wire.transports import registry
from pqchain.works.quic_reencoding import frames as built

WHOLE_BLOCK_BYTES = 64_000_000
"""The size of a block in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Sizes and numbers of the replays of a preset; the defaults are those of `quick`."""

    block_bytes: int = WHOLE_BLOCK_BYTES
    blocks: int = 10
    """Blocks of Table 1 with the link alone; one block with processor time for datagrams."""
    series: tuple[tuple[int, int], ...] = ((1, 1), (10, 3))
    """Figure 1: (blocks, repeats)."""
    series_block_bytes: int = WHOLE_BLOCK_BYTES
    series_datagram_bytes: int = 8952
    reference_block_bytes: int = 2_000_000
    """The size of the block for aioquic, which takes fifty times as long per datagram."""
    reference_series: tuple[int, int, int] = (10, 70_000, 1)
    """The exchange over aioquic: blocks, bytes of each, repeats."""
    impaired_repeats: int = 6
    """Pairs of runs under latency and loss."""
    calibrated_block_bytes: int = 5_000_000
    """Size of the PAIRS of single and multiplexed streams with processor time for datagrams."""
    live_block_bytes: int = 2_000_000
    """Size of the PAIRS on real sockets."""
    transport_repeats: int = 0


PRESETS = {
    "quick": Amount(),
    "paper": Amount(
        series=((1, 10), (2, 10), (5, 10), (10, 10)),
        series_datagram_bytes=1452,
        reference_block_bytes=WHOLE_BLOCK_BYTES,
        reference_series=(10, 640_000, 10),
        impaired_repeats=10,
        calibrated_block_bytes=WHOLE_BLOCK_BYTES,
        live_block_bytes=6_400_000,
        transport_repeats=5,
    ),
}
"""Both replay the paper's size. `quick` takes three to four minutes on two processors, and its
pairs with processor time have smaller blocks; `paper`, with ten repeats and all virtual replays at
the paper's size, takes half an hour. On sockets, blocks are smaller in both."""

PAIRS = 10
"""Pairs of single and multiplexed streams with processor time: fewer have too wide an interval."""

IMPAIRMENT = {"blocks": 10, "block_bytes": 700_000, "delay_seconds": 0.02, "loss": 0.01}
"""Exchanges of many streams across a continent; the second of a pair has the loss."""

SHAPED_BITS_PER_SECOND = 10e6
"""Rate of the links in the comparison of transports: so slow that no processor limits it."""

_LIVE_DATAGRAM_BYTES = 8952

_PAIRED_BLOCKS = 10
_SHAPED_BLOCK_BYTES = 640_000

# Names of the live runs of Table 1 by transport.
_LIVE = {
    "native": built.LOOPBACK,
    "tcp-tls": f"{built.LOOPBACK}, TCP with TLS",
}

Order = tuple[str, ReplayScenario, dict[str, Any]]
"""A virtual replay in a process of its own: name, scenario of the first repeat, and options."""


def reproduce(preset: str = "quick", *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Run every replay of a preset and return the frames.

    They are runs, table1, figure1, contrast, libraries (aioquic and the native transport),
    impaired (latency and loss) and transports. A run that is impossible here is a row with the
    reason. Without the native transport aioquic replays all experiments at its smaller size. Raises
    UnknownName for an unknown preset.
    """
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    amount = PRESETS[preset]
    if registry.default() != "native":
        amount = _without_native(amount)
    # Virtual runs occupy one processor each and run in parallel. Live runs follow one by one: in
    # parallel they would share processors.
    orders, live_orders = [*_virtual(amount)], [*_live(amount)]
    live: dict[str, list[pd.DataFrame]] = {}
    count = len(orders) + len(live_orders)
    with tqdm(total=count, unit="replay", disable=not progress, desc=built.KEY, leave=False) as bar:
        virtual = _run_processes(orders, bar.update)
        for name, repeat, wanted, options in live_orders:
            live.setdefault(name, []).append(_attempt(wanted, **options).assign(repeat=repeat))
            bar.update()
    shaped = live.pop(built.SHAPED, [])
    phases = {name: virtual[name] for name in (built.LINK_ONLY, built.CALIBRATED)}
    phases |= {name: live[name][0] for name in _LIVE.values()}
    # The sequential blocks were replayed as repeats, so that processes could run in parallel.
    phases[built.LINK_ONLY] = as_sequence(phases[built.LINK_ONLY])
    series = {
        built.LINK_ONLY: virtual["series"],
        built.CALIBRATED: virtual["calibrated series"],
        built.LOOPBACK: pd.concat(live["live series"]),
    }
    reference = pd.concat([virtual["reference"], virtual["reference series"]], ignore_index=True)
    impaired = [(columns, virtual[name]) for name, _, columns in _comparisons()]
    parts = [*phases.items(), *series.items(), (built.OTHER_LIBRARIES, reference)]
    parts += [(built.SHAPED, frame) for frame in shaped]
    frames = {
        "runs": results.joined((frame.assign(run=run) for run, frame in parts), built.RUNS),
        "table1": built.table1(phases),
        "figure1": built.figure1(series[built.LINK_ONLY]),
        "contrast": built.contrast(series),
        "libraries": built.libraries(reference),
        "impaired": built.impaired_links(impaired),
        "transports": built.transports(shaped, SHAPED_BITS_PER_SECOND),
    }
    provenance = {**machine.provenance(), "preset": preset}
    for frame in frames.values():
        frame.attrs["provenance"] = provenance
    return frames


def _without_native(amount: Amount) -> Amount:
    blocks, size, repeats = amount.reference_series
    return replace(
        amount,
        block_bytes=amount.reference_block_bytes,
        blocks=1,
        series=((1, 1), (blocks, repeats)),
        series_block_bytes=size,
        series_datagram_bytes=1452,
        calibrated_block_bytes=size,
        live_block_bytes=size,
    )


def _virtual(amount: Amount) -> Iterator[Order]:
    """Yield the virtual replays, the longest first so that none is left alone at the end."""
    whole: dict[str, Any] = {"block_bytes": amount.block_bytes, "sources": "all"}
    for blocks, repeats in reversed(amount.series):
        exchange = _exchange(blocks, amount.series_block_bytes, amount.series_datagram_bytes)
        yield from _orders("series", repeats, **exchange)
    # The time of a datagram was calibrated for this length.
    pairs = _exchange(_PAIRED_BLOCKS, amount.calibrated_block_bytes)
    calibrated = {"compute": Compute(datagram_seconds=built.DATAGRAM_SECONDS)}
    yield from _orders("calibrated series", PAIRS, **pairs, **calibrated)
    yield from _orders(built.LINK_ONLY, amount.blocks, **whole)
    yield from _orders(built.CALIBRATED, 1, **whole, **calibrated)
    blocks, size, repeats = amount.reference_series
    # A single transport if aioquic is the default.
    for transport in dict.fromkeys(["aioquic", registry.default()]):
        block = whole | {"block_bytes": amount.reference_block_bytes, "transport": transport}
        yield from _orders("reference", 1, **block)
        exchange = _exchange(blocks, size) | {"transport": transport}
        yield from _orders("reference series", repeats, **exchange)
    for name, changes, _ in _comparisons():
        yield from _orders(name, amount.impaired_repeats, **changes)


def _comparisons() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the name, the changes of a scenario and the columns of IMPAIRED of each comparison."""
    delay: dict[str, Any] = {"delay_seconds": IMPAIRMENT["delay_seconds"]}
    for sessions in ("full", "0-rtt"):
        # The failure is detected after session tickets have arrived, which 0-RTT needs.
        changes = {"block_bytes": _SHAPED_BLOCK_BYTES, "sources": "all", "sessions": sessions}
        columns = {"comparison": built.EARLY, "sessions": sessions, "loss": 0.0, **delay}
        yield f"{built.EARLY} {sessions}", changes | {"link": Link(**delay)}, columns
    for loss in (0.0, IMPAIRMENT["loss"]):
        changes = _exchange(int(IMPAIRMENT["blocks"]), int(IMPAIRMENT["block_bytes"]))
        columns = {"comparison": built.LOSSY, "sessions": "kept", "loss": loss, **delay}
        yield f"{built.LOSSY} {loss}", changes | {"link": Link(loss=loss, **delay)}, columns


def _exchange(blocks: int, size: int, datagram_bytes: int = 1452) -> dict[str, Any]:
    sizes = {"block_bytes": size, "blocks": blocks, "datagram_bytes": datagram_bytes}
    return {"experiment": "exchange", **sizes}


def _orders(name: str, repeats: int, **changes: Any) -> Iterator[Order]:
    wanted = ReplayScenario(**changes)
    # An exchange compares both kinds of streams.
    streams = scenario.STREAMS if wanted.experiment == "exchange" else ()
    # Starting a process takes longer than a small replay.
    per_process = 1 if wanted.block_bytes * wanted.blocks > WHOLE_BLOCK_BYTES else 5
    for first in range(0, repeats, per_process):
        options = {"streams": streams, "repeats": min(per_process, repeats - first)}
        yield name, replace(wanted, seed=first), options


def _live(amount: Amount) -> Iterator[tuple[str, int, ReplayScenario, dict[str, Any]]]:
    """Yield the live replays: name, number of the repeat, scenario, and options."""
    block: dict[str, Any] = {"block_bytes": amount.block_bytes, "sources": "all"}
    for transport, name in _LIVE.items():
        yield name, 0, live_scenario(transport=transport, **block), {}
    pair: dict[str, Any] = {"blocks": _PAIRED_BLOCKS, "block_bytes": amount.live_block_bytes}
    for repeat in range(PAIRS):
        # Alternating the order cancels a drift of the machine.
        streams = scenario.STREAMS if repeat % 2 == 0 else scenario.STREAMS[::-1]
        yield (
            "live series",
            repeat,
            live_scenario(experiment="exchange", seed=repeat, **pair),
            {"streams": streams},
        )
    for repeat in range(amount.transport_repeats):
        # Interleaved, so that a drift of the machine affects all transports.
        for transport in registry.TRANSPORTS:
            yield built.SHAPED, repeat, shaped_scenario(transport), {}


def live_scenario(**changes: Any) -> ReplayScenario:
    """Return a scenario on loopback with relaxed timeouts and the longest datagrams."""
    # Ten processes share the processors of one machine. Versions of aioquic with a lower limit send
    # their longest datagrams.
    length = min(_LIVE_DATAGRAM_BYTES, registry.get("aioquic").load().MAX_DATAGRAM_BYTES)
    return ReplayScenario(
        mode="loopback", datagram_bytes=length, timeout_seconds=5.0, stall_seconds=60.0,
        give_up_seconds=60.0, **changes,
    )  # fmt: skip


def _run_processes(orders: Sequence[Order], step: Callable[[], object]) -> dict[str, pd.DataFrame]:
    def run(order: Order) -> tuple[str, pd.DataFrame]:
        name, wanted, options = order
        # A process of its own, so that one that dies ends no other replay. Spawn, not fork: a fork
        # does not copy the threads of compiled code.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            try:
                frame = process.submit(_attempt, wanted, **options).result()
            except BrokenProcessPool as error:
                frame = unsupported(wanted, str(error)).frame.assign(status="failed")
        # Each process counts its repeats from 0.
        frame["repeat"] += wanted.seed
        frame.attrs = {}
        step()
        return name, frame

    results_by_name: dict[str, list[pd.DataFrame]] = {}
    # Threads suffice, because they only wait for their processes. `map` keeps the order of the
    # replays, so that the frames do not depend on which process ends first.
    with ThreadPoolExecutor(machine.provenance()["cpu_count"]) as pool:
        for name, frame in pool.map(run, orders):
            results_by_name.setdefault(name, []).append(frame)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in results_by_name.items()}


def as_sequence(repeats: pd.DataFrame) -> pd.DataFrame:
    """Return repeats of one block as sequential blocks of one run."""
    return repeats.assign(block=repeats["repeat"], repeat=0)


def _attempt(wanted: ReplayScenario, **options: Any) -> pd.DataFrame:
    reason = unavailable_reason(wanted)
    if reason:
        return unsupported(wanted, reason).frame
    try:
        frame = replay(wanted, **options).frame
    except PqchainError as error:
        # One failed replay must not discard the hour of the others.
        return unsupported(wanted, str(error)).frame.assign(status="failed")
    frame.attrs = {}
    return frame


def shaped_scenario(transport: str) -> ReplayScenario:
    """Return the scenario of a transport in network namespaces; its links are always the same."""
    return ReplayScenario(
        mode="netns",
        transport=transport,
        block_bytes=_SHAPED_BLOCK_BYTES,
        limit_seconds=60.0,
        link=Link(bits_per_second=SHAPED_BITS_PER_SECOND),
    )
