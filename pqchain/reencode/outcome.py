"""What a replay came to: per node and overall, as frames, with a verdict on what bound it.

Figures and what follows from them: knows neither how a replay is run nor what was published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pqchain.reencode.protocol.work import PHASES, Record
from pqchain.reencode.scenario import Scenario
from pqchain.wire.drivers.job import NodeResult, Result

BUSY = 0.8
"""Processor seconds over wall seconds of a process from which on it counts as processor-bound."""

NEAR_WIRE = 0.5
"""Share of the transfer that the wire limit must explain to call a run link-bound."""

_TIMES = ("total", "span", "first_chunk", "mean_chunk", "wire_limit", "cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutcome(NodeResult):
    """One node of a replay."""

    noticed_seconds: float
    """From the failure until this node took the other for dead; NaN if another told it sooner."""
    begun_seconds: float
    """After the first node, or on the virtual clock after all were connected."""
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One replay."""

    scenario: Scenario
    result: Result
    """What the driver says: lost datagrams, how busy the machine was, the signature that was used.
    """
    nodes: tuple[NodeOutcome, ...]
    span_seconds: float
    """From the first node's beginning to the last one's end."""
    engine: str
    processors: int = 0

    @property
    def working(self) -> list[NodeOutcome]:
        """The nodes that did their part to the end."""
        return [node for node in self.nodes if node.state == "done" and node.record.wall_seconds]

    @property
    def phases(self) -> dict[str, float]:
        """Mean seconds of each phase over the working nodes."""
        records = [node.record for node in self.working]
        count = max(len(records), 1)
        return {phase: sum(each.seconds[phase] for each in records) / count for phase in PHASES}

    @property
    def total_seconds(self) -> float:
        """Mean time of a working node."""
        return sum(self.phases.values())

    @property
    def first_chunk_seconds(self) -> float:
        """Mean time until a node's first chunk of another was complete."""
        return _mean([min(node.record.arrivals) for node in self.working if node.record.arrivals])

    @property
    def mean_chunk_seconds(self) -> float:
        """Mean time until a chunk was complete, over all chunks of all nodes."""
        return _mean([at for node in self.working for at in node.record.arrivals])

    @property
    def wire_limit_seconds(self) -> float:
        """The least time in which what was received fits through a port of the modelled rate."""
        received = [node.record.received_bytes for node in self.working]
        return max(received, default=0) * 8 / self.scenario.link.bits_per_second

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of the working nodes."""
        return sum(node.cpu_seconds for node in self.working)

    @property
    def cpu_share(self) -> float:
        """Processor seconds of the working nodes over those that the machine had, or NaN."""
        have = min(self.processors, len(self.working)) * self.span_seconds
        return self.cpu_seconds / have if have else math.nan

    @property
    def verdict(self) -> str:
        """Say what bound the run."""
        phases, transfer = self.phases, self.phases["transfer"]
        if not self.total_seconds:
            return "nothing was transferred"
        wire = self.wire_limit_seconds / transfer if transfer else 0.0
        if self.scenario.mode == "virtual":
            if self.scenario.compute.datagram_seconds:
                return "modelled: link and a processor time for each datagram"
            longest = max(phases, key=lambda phase: phases[phase])
            if longest != "transfer":
                what = {"other": "hashing, checks and waiting for confirmations", "io": "files"}
                return f"bound by {what.get(longest, longest + ' work')}, not by the transfer"
            if wire >= NEAR_WIRE:
                return "bound by the link"
            why = "bound by the protocol's own waiting (congestion control, round trips)"
            return f"{why}: the link alone needs {wire:.0%} of the transfer"
        share, busy = self.cpu_share, self.result.machine_busy
        if share > BUSY or busy > BUSY:
            return f"bound by the processor, {busy:.0%} busy, {share:.0%} of it by these nodes"
        if self.scenario.mode == "netns" and wire >= NEAR_WIRE:
            return "bound by the link"
        return "bound by neither the processor nor the link alone"

    def run_row(self) -> dict[str, Any]:
        """Return a row of `replay.RUN` but for repeat and block."""
        return {
            **scenario_row(self.scenario),
            **{f"{phase}_seconds": seconds for phase, seconds in self.phases.items()},
            **_taken(self, "cpu_share engine verdict"),
            **{f"{time}_seconds": getattr(self, f"{time}_seconds") for time in _TIMES},
            **_taken(self.result, "machine_busy dropped_datagrams lost_datagrams identity"),
            "nodes": len(self.working),
            "received_bytes": sum(node.record.received_bytes for node in self.nodes),
            "wasted_bytes": sum(node.record.wasted_bytes for node in self.nodes),
            "status": "ok",
        }

    def node_rows(self) -> list[dict[str, Any]]:
        """Return rows of `replay.NODE` but for repeat and block."""
        return [{"scenario_id": self.scenario.id, **_node_row(node)} for node in self.nodes]


def scenario_row(scenario: Scenario) -> dict[str, Any]:
    """Return the columns of `replay.RUN` that are the scenario's own."""
    own = _taken(scenario, "experiment mode transport streams seed blocks block_bytes")
    return {"scenario_id": scenario.id, **own}


def _node_row(node: NodeOutcome) -> dict[str, Any]:
    record = node.record
    return {
        **_taken(node, "node state noticed_seconds begun_seconds cpu_seconds"),
        **_taken(record, "received_bytes wasted_bytes verified_blocks"),
        **{f"{phase}_seconds": seconds for phase, seconds in record.seconds.items()},
        **{f"{kind}_work_seconds": record.work[kind] for kind in ("decode", "encode")},
        "total_seconds": record.wall_seconds,
        "reason": str(node.error or "").replace("\r", " "),
    }


def _taken(source: Any, names: str) -> dict[str, Any]:
    """Return the columns that a source knows by that name."""
    return {name: getattr(source, name) for name in names.split()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
