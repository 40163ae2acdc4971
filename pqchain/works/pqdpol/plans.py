"""The runs of the settings of Tables 5 and 6 on this computer.

The paper does not state which messages its delegates exchange, so each setting runs with two
exchanges of ours:

- all-to-all, that of the law fitted to Table 6: every delegate sends its copy of the block to every
  other and verifies all copies, N^2 verifications of a block and N^2 - 1 messages by construction
- broadcast: the proposer sends the block, and the delegates exchange one round of votes

Further runs: on one processor, on two, and with a computer per delegate (in virtual time), and
with few delegates and the other nodes as observers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pqchain.consensus.network import Network, named
from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import CostTable
from pqchain.delegates import modes
from pqchain.delegates.plain_network import PLAIN
from pqchain.works import papers

ALL_TO_ALL, BROADCAST = EXCHANGES = ("all-to-all", "broadcast")

TABLES, ONE, TWO, EACH = "all processors", "one processor", "two processors", "one each"
"""Settings: that of the tables, and those of further runs with one scheme."""

ALL_VOTE, FEW_VOTE = "all vote", "few vote"

VIRTUAL = ", virtual time"

SINGLE = "Falcon-512"
"""The scheme of the runs with one scheme."""

WARM_UP = 8
"""Heights over QUIC in virtual time that are not counted: its congestion windows still grow, and
the first heights take up to three times as long as later ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Numbers of nodes and blocks, and schemes, of the runs of a preset."""

    exponents: tuple[int, ...]
    """Exponents n of the runs with all six schemes."""
    heights: int
    computers: tuple[int, ...]
    """Numbers of nodes of the runs on one processor, on two, and on a computer per delegate."""
    delegation: tuple[int, ...]
    """Numbers of nodes of which all vote, and of which `voters` do."""
    voters: int
    mixed: tuple[tuple[str, int], ...]
    """Schemes and nodes of the runs that make the service times separable."""


PLANS = {
    "quick": RunPlan(
        exponents=(1, 2, 3),
        heights=10,
        computers=(2, 3, 4, 6, 8),
        delegation=(4, 8),
        voters=4,
        mixed=(("Dilithium2", 2), (SINGLE, 2)),
    ),
    "paper": RunPlan(
        exponents=(1, 2, 3, 4, 5),
        heights=10,
        computers=(2, 3, 4, 6, 8, 12, 16),
        delegation=(8, 16, 32),
        voters=8,
        mixed=(("Dilithium2", 2), (SINGLE, 4), ("SPHINCS+-SHA2-128f-simple", 2), (SINGLE, 8)),
    ),
}

MIXES: tuple[Mapping[str, Any], ...] = (
    {"block_bytes": 20_000, "exchange": BROADCAST, "vote_phases": 2},
    {"block_bytes": 20_000},
    {"block_bytes": 150_000},
    {"block_bytes": 150_000, "layout": Layout(data_bytes=30_000)},
)
"""Changes of a scenario that decouple messages, bytes, transactions and signatures.

In the tables they all grow with the number of nodes, so their costs could not be separated.
"""


Order = tuple[str, Scenario, dict[str, Any]]
"""A setting, a scenario, and the options of its run."""


def orders(costs: CostTable, plan: RunPlan) -> Iterator[Order]:
    """Yield setting, scenario and options of every run; runs of MIXES have the setting ""."""
    printed = dict.fromkeys(papers.table("pqdpol", "table6")["algorithm"])
    names = [name for name in printed if name in costs]

    def scenario(algorithm: str, nodes: int, network: Network, **changes: Any) -> Scenario:
        fields: dict[str, Any] = {"exchange": ALL_TO_ALL, "blocks": plan.heights} | changes
        return Scenario(algorithm=algorithm, costs=costs, nodes=nodes, network=network, **fields)

    # All processors of the machine are the setting of the tables; one and two show the effect of
    # sharing them.
    here = modes.processors()
    live: dict[str, Any] = {"mode": "loopback"}
    virtual: dict[str, Any] = {"mode": "virtual", "transport": "native"}
    everywhere = named("host", processors=here)
    # The network between computers in virtual time.
    separate = named("star", rate_bits_per_second=1e9, latency_seconds=50e-6)
    single = SINGLE if SINGLE in names else names[0]
    for exchange in EXCHANGES:
        messages: dict[str, Any] = {"exchange": exchange}
        for n in plan.exponents:
            for name in names:
                yield TABLES, scenario(name, 2**n, everywhere, **messages), live
        for nodes in plan.computers:
            yield ONE, scenario(single, nodes, named("host"), **messages), live
            if here > 1:
                yield TWO, scenario(single, nodes, named("host", processors=2), **messages), live
            yield EACH, scenario(single, nodes, separate, **messages), {"mode": "virtual"}
        for nodes in plan.delegation:
            for setting, delegates in ((ALL_VOTE, nodes), (FEW_VOTE, min(plan.voters, nodes))):
                voting = messages | {"delegates": delegates}
                yield setting, scenario(single, nodes, everywhere, **voting), live
                # Both over QUIC, because over plain there are no observers.
                voting["blocks"] = plan.heights + WARM_UP
                yield setting + VIRTUAL, scenario(single, nodes, separate, **voting), virtual
    for name, nodes in plan.mixed:
        if name in names:
            for mix in MIXES:
                yield "", scenario(name, nodes, everywhere, **mix), live


def settled(run: Run) -> list[Height]:
    """Return a run's heights (finalized blocks) without the warm-up."""
    # Live runs exclude a warm-up height themselves, and over plain each view starts anew.
    is_warming = run.mode == "virtual" and run.transport != PLAIN
    return run.final[WARM_UP:] if is_warming else run.final
