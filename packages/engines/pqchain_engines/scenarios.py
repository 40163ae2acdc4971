"""Scenarios of the consensus model with the setup of an engine's run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pqchain import algorithms
from pqchain.consensus import Network, Scenario
from pqchain.consensus.scenario import Layout
from pqchain.costs import Costs, CostTable

UNLIMITED_BITS_PER_SECOND = 1e15


def scenario(
    run: Mapping[Any, Any], network: Network, *, data_bytes: int, **options: Any
) -> Scenario:
    """Return the scenario of a run: two phases of broadcast votes, and signed proposals.

    `run` is a row of RUNS, `data_bytes` the bytes of its transactions. Validators decode keys once,
    so prices are those of a decoded key.
    """
    scheme = algorithms.get(run["algorithm"])
    sizes = scheme.public_key_bytes + scheme.signature_bytes
    costs = Costs.given(
        f"engine {scheme.name}",
        public_key_bytes=scheme.public_key_bytes,
        signature_bytes=scheme.signature_bytes,
        sign_seconds=run["sign_seconds"],
        verify_seconds=run["verify_seconds"],
        source=f"prices of {run['engine']} {run['version']}",
    )
    count = max(1, int(run["transactions"]))
    size = max(data_bytes // count, sizes)
    return Scenario(
        algorithm=costs.algorithm,
        costs=CostTable(rows=(costs,), source=costs.source),
        nodes=int(run["nodes"]),
        network=network,
        vote_phases=2,
        exchange="broadcast",
        signed_blocks=True,
        layout=Layout(key_mode="inline", overhead_bytes=size - sizes, header_bytes=0),
        block_bytes=count * size,
        **options,
    )
