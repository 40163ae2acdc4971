"""The re-encoding paper beside our replays: Table 1, Figure 1, and what its claims come to."""

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
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.reencode import replay, scenario
from pqchain.reencode.replay import CONTRAST, RUN
from pqchain.reencode.scenario import Scenario
from pqchain.results import Contract
from pqchain.wire.transports import registry
from pqchain.works import papers
from pqchain.works.claims import CLAIMS

TABLE1 = Contract.of(
    "reencode_table1",
    ("str", "run kind phase"),
    ("float64", "seconds share_percent"),
    ("Int64", "payload_bytes"),
    ("str", "status note"),
)

FIGURE1 = Contract.of(
    "reencode_figure1",
    ("str", "kind mode streams"),
    ("Int64", "blocks block_bytes repeats"),
    ("float64", "transfer_seconds low_seconds high_seconds"),
)

TRANSPORTS = Contract.of(
    "reencode_transports",
    ("str", "mode transport"),
    ("float64", "bits_per_second"),
    ("Int64", "block_bytes repeats"),
    ("float64", "transfer_seconds low_seconds high_seconds wire_limit_seconds cpu_seconds"),
    ("str", "status verdict"),
)


PAPER = "quic-reencoding"
"""Key of the work that is replayed."""

CONTRACTS = {
    "runs": "reencode",
    "table1": "reencode_table1",
    "figure1": "reencode_figure1",
    "contrast": "reencode_contrast",
    "transports": "reencode_transports",
}
"""Frames of `reproduce` and their contracts; each becomes a file of that name."""

DATAGRAM_SECONDS = 4.7e-6
"""Modelled processor time of one datagram sent or received, calibrated on Table 1.

4.9978 s for ten blocks, of each of which a node takes in and gives away eight chunks of 9.14 MB in
datagrams of 1452 bytes, are 9.9 us for one in and one out; acknowledgements take the rest.
"""

CLAIMED_PERCENT = 3.7
"""What multiplexing saves, as printed."""

PHASES = {
    "transfer": "QUIC 전송",
    "decode": "디코딩",
    "encode": "인코딩",
    "io": "I/O",
    "other": "기타",
}
"""Our phases, and the rows of Table 1 that print them."""

LINK_ONLY, CALIBRATED, LOOPBACK = "link only", "link and processor", "loopback"
"""Our three runs of Table 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much of the paper a preset replays."""

    block_bytes: int
    """Of the virtual run of Table 1; the paper's block has 64 MB."""
    series: tuple[tuple[int, int], ...]
    """Figure 1: (blocks, repeats)."""
    series_block_bytes: int
    live_pairs: int
    """Repeats of single and multiplexed streams on real sockets."""
    transport_repeats: int


PLANS = {
    "quick": Plan(
        block_bytes=2_000_000, series=((1, 1), (4, 2), (10, 10)), series_block_bytes=70_000,
        live_pairs=0, transport_repeats=0,
    ),
    "paper": Plan(
        block_bytes=64_000_000, series=((1, 10), (2, 10), (5, 10), (10, 10)),
        series_block_bytes=640_000, live_pairs=10, transport_repeats=5,
    ),
}  # fmt: skip
"""`quick` takes less than a minute on four processors, `paper` about a quarter of an hour."""

SHAPED_BITS_PER_SECOND = 10e6
"""Rate of the links in the comparison of transports: slow, so that no processor binds."""

_LIVE_DATAGRAM_BYTES = 8952
"""On loopback; a version of aioquic that sends no such datagrams sends its longest."""

_LIVE_BLOCKS, _LIVE_BLOCK_BYTES = 10, 200_000
_SHAPED_BLOCK_BYTES = 640_000


def reproduce(preset: str = "quick", *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Run every replay of a preset and return the frames named in CONTRACTS.

    Virtual runs go side by side, each in a process of its own; those on sockets one after the
    other, as they share the processor. A run that cannot be done is a row that says why. Raises
    UnknownName for an unknown preset.
    """
    if preset not in PLANS:
        raise UnknownName("preset", preset, PLANS, "pqchain.works.quic_reencoding.work.PLANS")
    plan = PLANS[preset]
    virtual: list[tuple[str, list[str], int]] = []
    for name, cost in ((LINK_ONLY, 0.0), (CALIBRATED, DATAGRAM_SECONDS)):
        options = ["--block-bytes", str(plan.block_bytes), "--sources", "all"]
        virtual.append((name, [*options, "--datagram-seconds", str(cost)], 0))
    for blocks, repeats in reversed(plan.series):
        # Three repeats share a process: fewer would spend more time on starting it.
        for first in range(0, repeats, 3):
            options = [
                "--experiment", "exchange", "--block-bytes", str(plan.series_block_bytes),
                "--blocks", str(blocks), "--streams", "single,multiplexed",
                "--seed", str(first), "--repeats", str(min(3, repeats - first)),
            ]  # fmt: skip
            virtual.append(("series", options, first))
    count = len(virtual) + 1 + plan.live_pairs + plan.transport_repeats * len(registry.TRANSPORTS)
    with _bar(count, progress) as step:
        found = _apart(virtual, step)
        live = _attempt(
            Scenario(mode="loopback", sources="all", datagram_bytes=_live_datagram_bytes())
        )
        step()
        series = pd.concat([found.pop("series"), *_live_pairs(plan.live_pairs, step)])
        shaped = [*_shaped(plan.transport_repeats, step)]
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
    """Run a replay on sockets; one that fails is a row that says why."""
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
    """Return the size of datagrams on loopback."""
    return min(_LIVE_DATAGRAM_BYTES, registry.get("aioquic").longest_datagram_bytes())


def _live_pairs(count: int, step: Callable[[], None]) -> Iterator[pd.DataFrame]:
    """Yield single beside multiplexed on real sockets, alternating which goes first."""
    for repeat in range(count):
        one = Scenario(
            experiment="exchange", mode="loopback", block_bytes=_LIVE_BLOCK_BYTES,
            blocks=_LIVE_BLOCKS, datagram_bytes=_live_datagram_bytes(), seed=repeat,
        )  # fmt: skip
        kinds = scenario.STREAMS if repeat % 2 == 0 else scenario.STREAMS[::-1]
        yield _attempt(one, streams=kinds).assign(repeat=repeat)
        step()


def shaped_scenario(transport: str) -> Scenario:
    """Return a replay in network namespaces, whose links are the same for each transport."""
    return Scenario(
        mode="netns", transport=transport, block_bytes=_SHAPED_BLOCK_BYTES, limit_seconds=60.0,
        link=scenario.Link(bits_per_second=SHAPED_BITS_PER_SECOND),
    )  # fmt: skip


def _shaped(repeats: int, step: Callable[[], None]) -> Iterator[pd.DataFrame]:
    """Yield each transport at equal links, in turn."""
    for repeat in range(repeats):
        for transport in registry.TRANSPORTS:
            one = shaped_scenario(transport)
            yield _attempt(one).assign(repeat=repeat)
            step()


def contrast(series: pd.DataFrame) -> pd.DataFrame:
    """Compare streams at the most blocks, see `replay.contrast`; without pairs there is no row."""
    most = series[series["blocks"] == series["blocks"].max()]
    try:
        return replay.contrast(most, claimed_percent=CLAIMED_PERCENT)
    except UsageError:
        empty = pd.DataFrame(columns=list(CONTRAST.columns))
        return results.check(empty, CONTRAST)


def table1(phases: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return Table 1, printed and ours, a row for each phase.

    Takes "reencode" frames by the name of the run. Columns: run, kind ("published", "modelled" or
    "measured", never mixed in a run), phase, seconds (mean over nodes and runs), share_percent,
    payload_bytes (of all blocks), status, note. Shares compare across sizes and machines; seconds
    do not.
    """
    printed = {row["printed_name"]: row for row in papers.table(PAPER, "table1").to_dict("records")}
    rows: list[tuple[Any, ...]] = [
        (
            "printed", "published", phase, float(printed[name]["duration_seconds"]),
            float(printed[name]["share_percent"]), 640_000_000, "ok", "",
        )
        for phase, name in PHASES.items()
    ]  # fmt: skip
    for run, frame in phases.items():
        first = frame.iloc[0]
        kind = "modelled" if first["mode"] == "virtual" else "measured"
        fine = frame[frame["status"] == "ok"]
        total = float(fine["total_seconds"].mean())
        payload = int(first["blocks"]) * int(first["block_bytes"])
        status = "ok" if len(fine) else str(first["status"])
        note = str(first["verdict"])
        for phase in PHASES:
            seconds = float(fine[f"{phase}_seconds"].mean())
            rows.append((run, kind, phase, seconds, 100 * seconds / total, payload, status, note))
    columns = list(TABLE1.columns)
    return results.check(pd.DataFrame(rows, columns=columns), TABLE1)


def figure1(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the transfer time by number of blocks, single and multiplexed, as Figure 1 draws it.

    Takes "reencode" rows of exchanges. Columns: kind ("modelled" or "measured"), mode, streams,
    blocks, block_bytes, repeats, transfer_seconds (mean over runs), low_seconds and high_seconds
    (the shortest and the longest run). The print's own values are a picture and not given.
    """
    fine = runs[runs["status"] == "ok"]
    rows = []
    keys = ["mode", "streams", "blocks", "block_bytes"]
    for (mode, streams, blocks, size), group in fine.groupby(keys, sort=True):
        times = group["transfer_seconds"]
        kind = "modelled" if mode == "virtual" else "measured"
        about = (kind, mode, streams, blocks, size, len(times))
        rows.append((*about, times.mean(), times.min(), times.max()))
    columns = list(FIGURE1.columns)
    return results.check(pd.DataFrame(rows, columns=columns), FIGURE1)


def transports(frames: Sequence[pd.DataFrame], bits_per_second: float) -> pd.DataFrame:
    """Return transports beside each other, measured over links of the same rate.

    Takes "reencode" frames. Columns: mode, transport, bits_per_second, block_bytes, repeats,
    transfer_seconds (mean), low_seconds, high_seconds (shortest and longest run),
    wire_limit_seconds, cpu_seconds (mean, all nodes), status, verdict. Without namespaces the rows
    are unsupported and say so.
    """
    rows = []
    if frames:
        joined = pd.concat(frames, ignore_index=True)
        for (mode, transport), group in joined.groupby(["mode", "transport"], sort=False):
            fine = group[group["status"] == "ok"]
            first = fine.iloc[0] if len(fine) else group.iloc[0]
            times = fine["transfer_seconds"]
            rows.append(
                (
                    mode, transport, bits_per_second, first["block_bytes"], len(fine),
                    times.mean(), times.min(), times.max(), fine["wire_limit_seconds"].mean(),
                    fine["cpu_seconds"].mean(), first["status"], first["verdict"],
                )
            )  # fmt: skip
    columns = list(TRANSPORTS.columns)
    return results.check(pd.DataFrame(rows, columns=columns), TRANSPORTS)


def claims(frames: Mapping[str, pd.DataFrame], published: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's claims with ours in place of "no measurement is given".

    Takes the frames of `reproduce` and a claims frame; rows of other works stay as they are. Ours
    have the source "modelled" or "measured".
    """
    judged: dict[str, list[tuple[str, str, str]]] = {}
    for row in frames["contrast"].to_dict("records"):
        judged.setdefault("multiplexing-saves-time", []).append(_saving(row))
    series = frames["runs"]
    most = series[(series["experiment"] == "exchange") & (series["status"] == "ok")]
    most = most[most["blocks"] == most["blocks"].max()]
    for mode, group in most.groupby("mode", sort=False):
        judged.setdefault("single-stream-first-chunk", []).append(_earlier(str(mode), group))
    table = frames["table1"]
    for run, group in table[table["kind"] != "published"].groupby("run", sort=False):
        kind, share = str(group["kind"].iloc[0]), group.set_index("phase")["share_percent"]
        if run == CALIBRATED or (group["status"] != "ok").any():
            continue  # what was fitted to the print cannot support it
        told = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        holds = "holds" if share["transfer"] > 50 else "does not hold"
        judged.setdefault("transfer-decisive", []).append((kind, holds, f"{run}: {told}"))
        if kind == "measured":
            small = max(share["decode"], share["encode"]) < share["transfer"]
            verdict = "holds" if small else "does not hold"
            judged.setdefault("coding-small", []).append((kind, verdict, f"{run}: {told}"))
    rows = []
    for row in published.to_dict("records"):
        ours = judged.get(row["claim_id"], []) if row["paper"] == PAPER else []
        if ours and row["source"] == "measured":
            continue
        rows.append(row)
        if row["paper"] == PAPER and row["source"] == "published":
            for kind, verdict, evidence in ours:
                rows.append({**row, "source": kind, "verdict": verdict, "evidence": evidence})
    return results.check(pd.DataFrame(rows, columns=list(published.columns)), CLAIMS)


def _saving(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    """Judge the saving by its interval: it must hold the claim, and lie above 0."""
    kind = "modelled" if row["mode"] == "virtual" else "measured"
    low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
    inside = low <= claimed <= high
    verdict = "holds" if inside and low > 0 else "does not hold"
    if inside and low <= 0:
        verdict = "cannot be decided here"
    text = (
        f"{row['mode']}: {row['saving_percent']:.2f} % saved, 95 % interval {low:.2f} to "
        f"{high:.2f} % over {row['repeats']} pairs; {row['verdict']}"
    )
    return kind, verdict, text


def _earlier(mode: str, runs: pd.DataFrame) -> tuple[str, str, str]:
    """Judge whether chunks are complete earlier with single streams, in every pair of runs."""
    kind = "modelled" if mode == "virtual" else "measured"
    table = runs.pivot_table(index="repeat", columns="streams", values="mean_chunk_seconds")
    paired = table.dropna()
    earlier = int((paired["single"] < paired["multiplexed"]).sum())
    verdict = "cannot be decided here"
    if earlier in (0, len(paired)):
        verdict = "holds" if earlier else "does not hold"
    single, multiplexed = paired["single"].mean(), paired["multiplexed"].mean()
    return kind, verdict, (
        f"{mode}: a chunk is complete after {single * 1e3:.3g} ms on average with a single stream, "
        f"{multiplexed * 1e3:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
    )  # fmt: skip


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """Give what counts replays, shown as a bar with the time left if a person watches."""
    from tqdm import tqdm

    with tqdm(total=total, unit="replay", disable=not shown, desc=PAPER, leave=False) as bar:
        yield lambda: bar.update() and None
