"""Simulation of PQ-DPoL and related consensus protocols on several kinds of network.

    costs = pqchain.papers.costs("pqdpol")
    scenario = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=32)
    pqchain.consensus.run(scenario).latency_seconds

`named("mesh", rate_bits_per_second=1e8)` returns a network. `grid` returns many scenarios, `sweep`
runs them, and `landscape` compares networks and schemes up to 2^20 nodes. Names are loaded at
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.consensus.faults import Faults
    from pqchain.consensus.model import run
    from pqchain.consensus.network import Network, SerialLaw, named
    from pqchain.consensus.runs import Run, frame, over_seeds
    from pqchain.consensus.scenario import Layout, Scenario
    from pqchain.consensus.sweeps import grid, sweep

__all__ = [
    "Faults", "Layout", "Network", "Run", "Scenario", "SerialLaw", "frame", "grid", "named",
    "over_seeds", "run", "sweep",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "faults": "Faults",
        "model": "run",
        "network": "Network SerialLaw named",
        "runs": "Run frame over_seeds",
        "scenario": "Layout Scenario",
        "sweeps": "grid sweep",
    },
)
