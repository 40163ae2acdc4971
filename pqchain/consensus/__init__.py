"""Simulation of PQ-DPoL and related consensus protocols on several kinds of network.

    costs = pqchain.papers.costs("pqdpol")
    scenario = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=32)
    pqchain.consensus.run(scenario).latency_seconds

`named("mesh", rate_bits_per_second=1e8)` returns a network. `grid` returns many scenarios, `sweep`
runs them, and `landscape` compares networks and schemes up to 2^20 nodes. Names are loaded at
first use.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
