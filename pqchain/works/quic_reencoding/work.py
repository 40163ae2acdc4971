"""Re-encoding over QUIC: Table 1 and Figure 1, printed and replayed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.reencode.scenario import STREAMS, ReplayScenario
from pqchain.reencode.storage.layout import chunk_bytes
from pqchain.render.table import Shown, Table
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import chapter
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
    kind_of,
    settings,
)
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.verdicts import Verdict
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays of a node failure and its repair, and of the exchange of chunks over streams."""

    key = KEY
    frame_names = ("table1", "figure1", "transports")

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

    def fact_names(self) -> Collection[str]:
        """Return the names of facts: printed and live shares, the transfer, and savings by run."""
        facts = ("saved", "low", "high", "size", "pairs", "single_dropped", "multiplexed_dropped")
        contrast = [f"{run}_{fact}" for run in _RUN_NAMES.values() for fact in facts]
        shares = ("transfer", "coding", "io", "other")
        live = ("live_bytes", *(f"live_{share}" for share in shares))
        link = ("link_bytes", "link_seconds", "printed_seconds")
        return [*shares, "claimed", "datagram_microseconds", *live, *link, *contrast]

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
        facts |= _link_facts(frames["table1"])
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

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Yield tables: Table 1, then comparisons of streams and of transports."""
        if frames:
            yield table_of_phases(frames["table1"], self.chapter.tables["table1"])
            yield from streams(frames, self.chapter.tables)


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


def table_of_phases(frame: pd.DataFrame, entry: Mapping[str, Any]) -> Table:
    """Return Table 1 as printed and as replayed: a row for each run, a column for each phase."""
    notes = [note.format(**_ratios(frame)) for note in entry["notes"]]
    rows: list[dict[Any, Any]] = []
    for _, group in frame.groupby("run", sort=False):
        phases = group.to_dict("records")
        cells = {row["phase"]: _phase(row) for row in phases}
        total = math.fsum(row["seconds"] for row in phases)
        rows.append(phases[0] | cells | {"total": total, "remark": _remark(phases[0], "note")})
    return chapter.table(entry, rows, source=list(dict.fromkeys(frame["kind"])), notes=notes)


def _ratios(table: pd.DataFrame) -> dict[str, str]:
    """Return what the fitted phases come out at, in percent of the print, for the notes."""
    rates = {
        (row["run"], row["phase"]): float(row["seconds"]) / int(row["payload_bytes"])
        for row in table[table["status"] == "ok"].to_dict("records")
    }

    def percent(run: str, phase: str) -> str:
        if (run, phase) not in rates:
            return figures.MISSING
        return f"{100 * rates[run, phase] / rates['printed', phase]:.0f} %"

    return {
        "datagram_microseconds": f"{1e6 * DATAGRAM_SECONDS:.1f}",
        "files": percent(LINK_ONLY, "io"),
        "transfer": percent(CALIBRATED, "transfer"),
    }


def _phase(row: Mapping[Any, Any]) -> Shown:
    seconds = row["seconds"]
    if not math.isfinite(seconds):
        return Shown(seconds, figures.MISSING)
    return Shown(seconds, f"{SECONDS.text(seconds)} ({row['share_percent']:.2f} %)")


def _remark(row: Mapping[Any, Any], column: str) -> str:
    return str(row[column]) if row["status"] == "ok" else f"{row['status']}: {row[column]}"


def streams(frames: Frames, entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield tables of Figure 1, of single and multiplexed streams, and of transports."""
    figure, transports = frames["figure1"], frames["transports"].to_dict("records")
    kinds = list(dict.fromkeys(figure["kind"]))
    yield chapter.table(entries["figure1"], _figure1(figure), source=kinds)
    entry, contrast = entries["contrast"], frames["contrast"]
    notes = [note.format(datagram_microseconds=1e6 * DATAGRAM_SECONDS) for note in entry["notes"]]
    yield chapter.table(
        entry,
        _with_intervals(contrast),
        caption=entry["caption"].format(claimed_percent=claimed_percent()),
        source=list(dict.fromkeys(map(kind_of, contrast["mode"]))) or kinds,
        notes=notes + ([] if transports else _left_out(frames)),
    )
    rows: list[dict[Any, Any]] = [
        row | {"remark": _remark(row, "note")} for row in frames["libraries"].to_dict("records")
    ]
    yield chapter.table(entries["libraries"], rows)
    yield chapter.table(entries["impaired"], _means(frames["impaired"]))
    if transports:
        entry, rate = entries["transports"], transports[0]["bits_per_second"] / 1e6
        rows = [
            row | {"transfer": _spread(row), "remark": _remark(row, "verdict")}
            for row in transports
        ]
        caption = entry["caption"].format(rate=rate)
        yield chapter.table(entry, rows, caption=caption, notes=_left_out(frames))


def _means(impaired: pd.DataFrame) -> Iterator[dict[str, Any]]:
    keys = ["comparison", "streams", "sessions", "loss", "delay_seconds", "blocks", "block_bytes"]
    fine = impaired[impaired["status"] == "ok"]
    for group, runs in fine.groupby(keys, sort=False):
        times = ("first_chunk_seconds", "mean_chunk_seconds", "transfer_seconds")
        conditions = dict(zip(keys, group, strict=True)) | {"repeats": len(runs)}
        yield conditions | {name: float(runs[name].mean()) for name in times}


def _figure1(series: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for _, group in series.groupby(["mode", "blocks", "block_bytes"]):
        blocks = int(group["blocks"].iloc[0])
        by_streams = {row["streams"]: row for row in group.to_dict("records")}
        if {"single", "multiplexed"} <= set(by_streams):
            single, multiplexed = by_streams["single"], by_streams["multiplexed"]
            saved = 100 * (1 - multiplexed["transfer_seconds"] / single["transfer_seconds"])
            times = {name: _spread(row) for name, row in by_streams.items()}
            # + 0.0 turns -0.0 into 0.0. A single block is one stream either way: the same run.
            yield single | times | {"saved": round(saved, 2) + 0.0 if blocks > 1 else math.nan}


def _with_intervals(contrast: pd.DataFrame) -> Iterator[dict[Any, Any]]:
    for row in contrast.to_dict("records"):
        interval = f"{row['low_percent']:.2f} to {row['high_percent']:.2f} %"
        yield row | {"interval": interval}


def _spread(row: Mapping[Any, Any]) -> Shown:
    mean, low, high = (row[f"{name}_seconds"] for name in ("transfer", "low", "high"))
    text = f"{SECONDS.text(mean)} ({SECONDS.text(low)} to {SECONDS.text(high)})"
    return Shown(mean, text if math.isfinite(mean) else figures.MISSING)


def _left_out(frames: Frames) -> list[str]:
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
    command = f"pqchain reproduce --only {KEY} --preset paper"
    return [f"Not done with this preset: {'; '.join(missing)}. Run: {command}"] * bool(missing)
