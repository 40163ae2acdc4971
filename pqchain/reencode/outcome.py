"""What a replay found: per node and overall, as frames, with a verdict on what bound it.

Figures and what follows from them: knows neither how a replay is run nor what was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqchain.errors import PqchainError
from pqchain.reencode.protocol.node import PHASES
from pqchain.reencode.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

BUSY = 0.8
"""Processor seconds over wall seconds of a process from which on it counts as processor-bound."""

NEAR_WIRE = 0.5
"""Share of the transfer that the wire limit must explain to call a run link-bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutcome:
    """One node of a replay."""

    node: int
    state: str
    """"done", "failed" or "dead"."""
    error: str
    noticed_seconds: float
    """From the failure until this node took the other for dead; NaN if a plan told it sooner."""
    begun_seconds: float
    seconds: dict[str, float]
    """Of each phase; they add up to `wall_seconds`."""
    work: dict[str, float]
    """How long tasks of each kind ran, those that the transfer hid included."""
    wall_seconds: float
    cpu_seconds: float
    """Processor time of the node's process while it worked; NaN on the virtual clock."""
    received_bytes: int
    wasted_bytes: int
    arrivals: tuple[float, ...]
    """When each chunk was complete, after the node's beginning."""
    verified_blocks: int
    early_sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One replay."""

    scenario: Scenario
    nodes: tuple[NodeOutcome, ...]
    span_seconds: float
    """From the first node's beginning to the last one's end."""
    engine: str
    identity: str
    dropped_datagrams: int = 0
    lost_datagrams: int = 0
    processors: int = 0
    machine_busy: float = float("nan")
    """Share of the machine's processors that was busy during the run, with whatever else ran."""
    failure: PqchainError | None = None

    @property
    def working(self) -> list[NodeOutcome]:
        """The nodes that did their part to the end."""
        return [node for node in self.nodes if node.state == "done" and node.wall_seconds > 0]

    @property
    def phases(self) -> dict[str, float]:
        """Mean seconds of each phase over the working nodes."""
        working = self.working
        return {
            phase: sum(node.seconds[phase] for node in working) / max(len(working), 1)
            for phase in PHASES
        }

    @property
    def total_seconds(self) -> float:
        """Mean time of a working node."""
        return sum(self.phases.values())

    @property
    def first_chunk_seconds(self) -> float:
        """Mean time until a node's first chunk of another was complete."""
        firsts = [min(node.arrivals) for node in self.working if node.arrivals]
        return sum(firsts) / len(firsts) if firsts else float("nan")

    @property
    def mean_chunk_seconds(self) -> float:
        """Mean time until a chunk was complete, over all chunks of all nodes."""
        times = [at for node in self.working for at in node.arrivals]
        return sum(times) / len(times) if times else float("nan")

    @property
    def wire_limit_seconds(self) -> float:
        """The least time in which what was received fits through a port of the modelled rate."""
        received = [node.received_bytes for node in self.working]
        return max(received, default=0) * 8 / self.scenario.link.bits_per_second

    @property
    def cpu_share(self) -> float:
        """Processor seconds of the working nodes over those that the machine had, or NaN."""
        spent = sum(node.cpu_seconds for node in self.working)
        have = min(self.processors, len(self.working)) * self.span_seconds
        return spent / have if have else float("nan")

    @property
    def verdict(self) -> str:
        """Say what bound the run."""
        transfer = self.phases["transfer"]
        if not self.total_seconds:
            return "nothing was transferred"
        wire = self.wire_limit_seconds / transfer if transfer else 0.0
        if self.scenario.mode == "virtual":
            if self.scenario.compute.datagram_seconds:
                return "modelled: link and a processor time for each datagram"
            longest = max(self.phases, key=lambda phase: self.phases[phase])
            if longest != "transfer":
                what = {"other": "hashing, checks and waiting for confirmations", "io": "files"}
                return f"bound by {what.get(longest, longest + ' work')}, not by the transfer"
            if wire >= NEAR_WIRE:
                return "bound by the link"
            return (
                f"bound by the protocol's own waiting (congestion control, round trips): "
                f"the link alone needs {wire:.0%} of the transfer"
            )
        if max(self.cpu_share, 0.0) > BUSY or max(self.machine_busy, 0.0) > BUSY:
            share = f"{self.cpu_share:.0%} of it by these nodes"
            return f"bound by the processor, {self.machine_busy:.0%} busy, {share}"
        if self.scenario.mode == "netns" and wire >= NEAR_WIRE:
            return "bound by the link"
        return "bound by neither the processor nor the link alone"

    def node_frame(self) -> pd.DataFrame:
        """Return one row per node; see `pqchain.NODE.columns`."""
        import pandas as pd  # a node's own process needs none

        return pd.DataFrame([self._node_row(node) for node in self.nodes])

    def _node_row(self, node: NodeOutcome) -> dict[str, Any]:
        return {
            "scenario_id": self.scenario.id,
            "node": node.node,
            "state": node.state,
            "noticed_seconds": node.noticed_seconds,
            "begun_seconds": node.begun_seconds,
            **{f"{phase}_seconds": node.seconds[phase] for phase in PHASES},
            "total_seconds": node.wall_seconds,
            "decode_work_seconds": node.work["decode"],
            "encode_work_seconds": node.work["encode"],
            "cpu_seconds": node.cpu_seconds,
            "received_bytes": node.received_bytes,
            "wasted_bytes": node.wasted_bytes,
            "verified_blocks": node.verified_blocks,
            "reason": node.error.replace("\r", " "),
        }
