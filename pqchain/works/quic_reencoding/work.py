"""Re-encoding over QUIC: Table 1 and Figure 1, printed and replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain.figures import BYTES, Kind
from pqchain.reencode.scenario import STREAMS, ReplayScenario
from pqchain.reencode.storage.layout import chunk_bytes
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works.quic_reencoding import judging, replays
from pqchain.works.quic_reencoding.frames import (
    CALIBRATED,
    DATAGRAM_SECONDS,
    KEY,
    LINK_ONLY,
    LOOPBACK,
    PHASES,
    SAVING,
    TOTAL,
    claimed_percent,
    settings,
)
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.verdicts import Verdict
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays of a node failure and its repair, and of the exchange of chunks over streams."""

    key = KEY

    def compute(self, bench: Bench) -> Frames:
        """Return the frames of `replays.reproduce`; none without measurements."""
        if bench.measurements is None:
            return {}
        return replays.reproduce(bench.preset, progress=bench.progress)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement by the replays."""
        return judging.judge(claim, frames) if frames else ()

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of settings, the replayed Table 1 and saving, and the length of chunks."""
        yield from_values(Kind.TAKEN, settings(frames))
        if not frames:
            return
        table = frames["table1"][frames["table1"]["run"] == LINK_ONLY]
        values: dict[tuple[str, str], float] = {}
        for row in table.to_dict("records"):
            values[PHASES[row["phase"]], "duration_seconds"] = row["seconds"]
            values[PHASES[row["phase"]], "share_percent"] = row["share_percent"]
        values[TOTAL, "duration_seconds"] = float(table["seconds"].sum())
        values[TOTAL, "share_percent"] = 100.0
        contrast = frames["contrast"]
        for row in contrast[contrast["run"] == LINK_ONLY].to_dict("records"):
            values[SAVING, "transfer_time_saving_percent"] = row["saving_percent"]
        yield from_values(Kind.REPLAYED, values)
        chunk = chunk_bytes(int(table["block_bytes"].iloc[0]), ReplayScenario().before[0])
        yield from_values(Kind.RUN, {("Chunk", "chunk_megabytes"): chunk / 1e6})

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts that can be computed from the frames; none without frames."""
        if not frames:
            return {}
        printed = frames["table1"].query("kind == 'published'").set_index("phase")["share_percent"]
        facts: dict[str, Any] = {
            "transfer": printed["transfer"],
            "coding": printed["decode"] + printed["encode"],
            "io": printed["io"],
            "other": printed["other"],
            "claimed": claimed_percent(),
            "datagram_microseconds": 1e6 * DATAGRAM_SECONDS,
        }
        facts["left_out"] = _left_out(frames)
        facts |= _link_facts(frames["table1"]) | _ratios(frames["table1"])
        live = _run(frames["table1"], LOOPBACK)
        if len(live):
            share, first = live.set_index("phase")["share_percent"], live.iloc[0]
            facts |= {
                "live_bytes": BYTES.text(first["payload_bytes"], exact=True),
                "live_transfer": share["transfer"],
                "live_coding": share["decode"] + share["encode"],
                "live_io": share["io"],
                "live_other": share["other"],
            }
        for row in frames["contrast"].to_dict("records"):
            name = _RUN_NAMES[row["run"]]
            facts |= {f"{name}_{end}": row[f"{end}_percent"] for end in ("low", "high")}
            facts |= {
                f"{name}_saved": row["saving_percent"],
                f"{name}_pairs": row["repeats"],
                f"{name}_size": BYTES.text(row["block_bytes"], exact=True),
            }
            # On sockets, dropped datagrams are not counted.
            if row["mode"] == "virtual":
                facts |= {f"{name}_{kind}_dropped": row[f"{kind}_dropped_datagrams"]
                          for kind in STREAMS}  # fmt: skip
        return facts

    def failures(self, frames: Frames) -> Iterable[str]:
        """Yield a message per failed run; other frames only summarize `runs` and `impaired`."""
        for name in ("runs", "impaired") if frames else ():
            for row in frames[name].query("status == 'failed'").to_dict("records"):
                size = BYTES.text(row["block_bytes"], exact=True)
                run = f"{row['blocks']} x {size}, {row['streams']}, {row['transport']}"
                yield f"{self.key}, {name}: {run} failed: {row['verdict']}"


# Runs in the names of facts.
_RUN_NAMES = {LINK_ONLY: "link", CALIBRATED: "calibrated", LOOPBACK: "loopback"}


def _run(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table[(table["run"] == name) & (table["status"] == "ok")]


def _link_facts(table: pd.DataFrame) -> dict[str, Any]:
    rows = _run(table, LINK_ONLY).set_index("phase")
    if rows.empty:
        return {}
    size = BYTES.text(rows["payload_bytes"].iloc[0], exact=True)
    printed = table.query("kind == 'published'").set_index("phase")["seconds"]
    ours = rows["seconds"]["transfer"]
    return {"link_bytes": size, "link_seconds": ours, "printed_seconds": printed["transfer"]}


def _ratios(table: pd.DataFrame) -> dict[str, float]:
    """Return what the fitted phases come out at, in percent of the print."""
    rates = {
        (row["run"], row["phase"]): float(row["seconds"]) / int(row["payload_bytes"])
        for row in table[table["status"] == "ok"].to_dict("records")
    }
    fitted = {"files_of_print": (LINK_ONLY, "io"), "transfer_of_print": (CALIBRATED, "transfer")}
    return {
        name: 100 * rates[run, phase] / rates["printed", phase]
        for name, (run, phase) in fitted.items()
        if (run, phase) in rates
    }


def _left_out(frames: Frames) -> str:
    """Return the experiments that the preset of the frames leaves out."""
    missing = []
    pairs = frames["contrast"].set_index("run")["block_bytes"]
    if LOOPBACK not in pairs:
        missing.append("single compared with multiplexed on real sockets")
    if not len(frames["transports"]):
        missing.append(f"the comparison of {', '.join(TRANSPORTS)} at equal links")
    largest = frames["table1"].query("kind == 'replayed'")["block_bytes"].max()
    full = replays.WHOLE_BLOCK_BYTES
    if pairs.get(CALIBRATED, full) < full <= largest:
        missing.append(f"pairs of blocks of {full / 1e6:g} MB with processor time for datagrams")
    if largest < full:
        ours = BYTES.text(largest, exact=True)
        missing.append(
            f"blocks of {full / 1e6:g} MB (those above have {ours}: the native transport, which "
            "is fast enough, was not built; see pqchain doctor)"
        )
    reference = frames["libraries"].query("transport == 'aioquic'")["block_bytes"].max()
    if reference < full:
        missing.append(f"a block of {full / 1e6:g} MB over aioquic")
    return "; ".join(missing) or "nothing"
