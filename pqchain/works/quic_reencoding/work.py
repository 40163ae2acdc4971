"""Re-encoding over QUIC: Table 1 and Figure 1 beside replays, and what the claims come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.render.table import Table
from pqchain.works.comparisons import FAILS, HOLDS, OPEN
from pqchain.works.quic_reencoding import frames as paper_frames
from pqchain.works.quic_reencoding import replays, tables
from pqchain.works.work import Bench, Frames, Verdict, Work


class QuicReencoding(Work):
    """Replays a failure and its repair, and the exchange of chunks over one stream or many."""

    key = paper_frames.KEY

    def compute(self, bench: Bench) -> Frames:
        """Return runs, table1, figure1, contrast and transports; nothing without a clock."""
        if bench.measurements is None:
            return {}
        return replays.reproduce(bench.preset, progress=bench.progress)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge by the replays what the print alone cannot decide."""
        if not frames:
            return
        if claim == "multiplexing-saves-time":
            yield from map(_saving, frames["contrast"].to_dict("records"))
        if claim == "single-stream-first-chunk":
            yield from _earlier(frames["runs"])
        if claim in ("transfer-decisive", "coding-small"):
            yield from _shares(claim, frames["table1"])

    def failures(self, frames: Frames) -> Iterable[str]:
        """Say which runs of Table 1 failed; its rows stand for those of `runs`."""
        return super().failures({"table1": frames["table1"]} if frames else {})

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show Table 1 with how to read it, streams and transports."""
        if frames:
            yield tables.table1(frames["table1"], self.words["table1"])
            yield from tables.streams(frames, self.words)


def _kind(mode: str) -> str:
    return "modelled" if mode == "virtual" else "measured"


def _saving(row: Mapping[Any, Any]) -> Verdict:
    """Judge the saving by its interval: it must hold the claim, and lie above 0."""
    low, high, claimed = row["low_percent"], row["high_percent"], row["claimed_percent"]
    inside = low <= claimed <= high
    decided = HOLDS if low > 0 else OPEN
    evidence = (
        f"{row['mode']}: {row['saving_percent']:.2f} % saved, 95 % interval {low:.2f} to "
        f"{high:.2f} % over {row['repeats']} pairs; {row['verdict']}"
    )
    return Verdict(decided if inside else FAILS, evidence, _kind(row["mode"]))


def _earlier(runs: pd.DataFrame) -> Iterator[Verdict]:
    """Judge whether chunks are complete earlier with single streams, in every pair of runs."""
    exchanges = runs.query("experiment == 'exchange' and status == 'ok'")
    most = exchanges[exchanges["blocks"] == exchanges["blocks"].max()]
    for mode, group in most.groupby("mode", sort=False):
        paired = group.pivot_table(
            index="repeat", columns="streams", values="mean_chunk_seconds"
        ).dropna()
        earlier = int((paired["single"] < paired["multiplexed"]).sum())
        verdict = {0: FAILS, len(paired): HOLDS}.get(earlier, OPEN)
        single, multiplexed = 1e3 * paired["single"].mean(), 1e3 * paired["multiplexed"].mean()
        evidence = (
            f"{mode}: a chunk is complete after {single:.3g} ms on average with a single stream, "
            f"{multiplexed:.3g} ms multiplexed; earlier in {earlier} of {len(paired)} pairs"
        )
        yield Verdict(verdict, evidence, _kind(str(mode)))


def _shares(claim: str, table: pd.DataFrame) -> Iterator[Verdict]:
    for run, group in table[table["kind"] != "published"].groupby("run", sort=False):
        kind, share = str(group["kind"].iloc[0]), group.set_index("phase")["share_percent"]
        if run == paper_frames.CALIBRATED or (group["status"] != "ok").any():
            continue  # what was fitted to the print cannot support it
        if claim == "coding-small" and kind == "modelled":
            continue  # decoding and encoding go at the printed rates there
        holds = share["transfer"] > 50
        if claim == "coding-small":
            holds = max(share["decode"], share["encode"]) < share["transfer"]
        shares = ", ".join(f"{name} {value:.1f} %" for name, value in share.items())
        yield Verdict(HOLDS if holds else FAILS, f"{run}: {shares}", kind)
