"""Re-encoding over QUIC: Table 1 and Figure 1, printed and replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pqchain.figures import BYTES, Kind
from pqchain.reencode.scenario import ReplayScenario
from pqchain.reencode.storage import chunk_bytes
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import judging, replays
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.verdicts import Verdict
from pqchain.works.work import Bench, Frames, Work


class QuicReencoding(Work):
    """Replays of a node failure and its repair, and of the exchange of chunks over streams."""

    key = built.KEY

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
        yield from_values(Kind.TAKEN, built.settings(frames))
        if not frames:
            return
        table = frames["table1"][frames["table1"]["run"] == built.LINK_ONLY]
        values: dict[tuple[str, str], float] = {}
        for row in table.to_dict("records"):
            values[built.PHASES[row["phase"]], "duration_seconds"] = row["seconds"]
            values[built.PHASES[row["phase"]], "share_percent"] = row["share_percent"]
        values[built.TOTAL, "duration_seconds"] = float(table["seconds"].sum())
        values[built.TOTAL, "share_percent"] = 100.0
        contrast = frames["contrast"]
        for row in contrast[contrast["run"] == built.LINK_ONLY].to_dict("records"):
            values[built.SAVING, "transfer_time_saving_percent"] = row["saving_percent"]
        yield from_values(Kind.REPLAYED, values)
        chunk = chunk_bytes(int(table["block_bytes"].iloc[0]), ReplayScenario().before[0])
        yield from_values(Kind.RUN, {("Chunk", "chunk_megabytes"): chunk / 1e6})

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts that can be computed from the frames; none without frames."""
        if not frames:
            return {}
        facts: dict[str, Any] = {
            "claimed": built.claimed_percent(),
            "datagram_microseconds": 1e6 * built.DATAGRAM_SECONDS,
        }
        table = frames["table1"].query("status == 'ok'")
        rates: dict[Any, float] = {}
        for run, rows in table.groupby("run", sort=False):
            phases = rows.set_index("phase")
            share, seconds = phases["share_percent"], phases["seconds"]
            payload = int(rows["payload_bytes"].iloc[0])
            rates |= {(run, phase): value / payload for phase, value in seconds.items()}
            if run in _TABLE_RUNS:
                prefix, name = _TABLE_RUNS[str(run)]
                facts |= {f"{prefix}{phase}": share[phase] for phase in ("transfer", "io", "other")}
                facts[f"{prefix}coding"] = share["decode"] + share["encode"]
                facts[f"{name}_seconds"] = seconds["transfer"]
                facts[f"{name}_bytes"] = BYTES.text(payload, exact=True)
        # What the fitted phases come out at, in percent of the print.
        fitted = {"files": (built.LINK_ONLY, "io"), "transfer": (built.CALIBRATED, "transfer")}
        for name, (run, phase) in fitted.items():
            if (run, phase) in rates:
                ratio = rates[run, phase] / rates["printed", phase]
                facts[f"{name}_of_print"] = 100 * ratio
        for row in frames["contrast"].to_dict("records"):
            name = _PAIR_RUNS[row["run"]]
            facts |= {
                f"{name}_saved": row["saving_percent"],
                f"{name}_low": row["low_percent"],
                f"{name}_high": row["high_percent"],
                f"{name}_pairs": row["repeats"],
                f"{name}_size": BYTES.text(row["block_bytes"], exact=True),
            }
        return facts

    def failures(self, frames: Frames) -> Iterable[str]:
        """Yield a message per failed run; other frames only summarize `runs` and `impaired`."""
        for name in ("runs", "impaired") if frames else ():
            for row in frames[name].query("status == 'failed'").to_dict("records"):
                size = BYTES.text(row["block_bytes"], exact=True)
                run = f"{row['blocks']} x {size}, {row['streams']}, {row['transport']}"
                yield f"{self.key}, {name}: {run} failed: {row['verdict']}"


# By run of Table 1, the prefixes of its shares and of its other numbers in the names of facts.
_TABLE_RUNS = {
    "printed": ("", "printed"),
    built.LINK_ONLY: ("link_", "link"),
    built.LOOPBACK: ("live_", "live"),
}

_PAIR_RUNS = {built.LINK_ONLY: "link", built.CALIBRATED: "calibrated", built.LOOPBACK: "loopback"}
