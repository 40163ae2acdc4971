"""PQ-DPoL and its relatives over any network: scenarios in, frames out.

    costs = pqchain.papers.costs("pqdpol")
    one = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=32)
    pqchain.consensus.run(one).latency_seconds

Networks are made by `named("mesh", rate_bits_per_second=1e8)`; many scenarios by `grid` and run by
`sweep`; `landscape` compares networks and schemes up to 2^20 nodes.
"""

from __future__ import annotations

from pqchain.consensus import metrics
from pqchain.consensus.metrics import over_seeds
from pqchain.consensus.model import Run, run
from pqchain.consensus.network import Network, SerialLaw, named
from pqchain.consensus.scenario import Faults, Layout, Scenario, preset
from pqchain.consensus.sweep import grid, sweep

__all__ = [
    "Faults",
    "Layout",
    "Network",
    "Run",
    "Scenario",
    "SerialLaw",
    "grid",
    "metrics",
    "named",
    "over_seeds",
    "preset",
    "run",
    "sweep",
]
