"""PQ-DPoL delegates that execute the protocol: real blocks, signatures and message bytes.

    scenario = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=8)
    pqchain.delegates.run(scenario, mode="loopback").latency_seconds

`pqchain.consensus.frame` returns runs of any mode as one frame. Names are loaded at first use.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
