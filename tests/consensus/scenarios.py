"""Random scenarios for tests: any costs, every network, every fault."""

import dataclasses
from typing import Any

from hypothesis import strategies as st

from pqchain.consensus.faults import Faults
from pqchain.consensus.network import NAMES, Law, Network, SerialLaw, ServiceTimes
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import Costs, CostTable

_FREE = ServiceTimes(
    message_seconds=0.0, byte_seconds=0.0, transaction_seconds=0.0, height_seconds=0.0
)

SIZES = Layout(overhead_bytes=0, header_bytes=0)
"""Only signatures and keys count."""


def table(
    *,
    sign: float = 163e-6,
    verify: float = 47e-6,
    decode_key: float = 0.0,
    signature: int = 2420,
    key: int = 1312,
    algorithm: str = "Dilithium2",
) -> CostTable:
    """Costs of Dilithium2 with changes."""
    row = Costs(
        algorithm=algorithm,
        public_key_bytes=key,
        signature_bytes=signature,
        generate_keypair_seconds=45e-6,
        sign_seconds=sign,
        verify_seconds=verify,
        source="test",
        decode_key_seconds=decode_key,
    )
    return CostTable(rows=(row,), source="test")


def scenario(**changes: Any) -> Scenario:
    """A small scenario with changes."""
    return Scenario(**({"algorithm": "Dilithium2", "costs": table(), "nodes": 8} | changes))


_SECONDS = st.one_of(
    st.just(0.0),
    st.sampled_from([1e-9, 47e-6, 1e-3, 0.02]),
    st.floats(0, 0.05, allow_nan=False),
)


@st.composite
def networks(draw: st.DrawFn, laws: tuple[Law, ...] = NAMES) -> Network:
    """Any network, downlink_ns to one bit per nanosecond and no latency at all."""
    return Network(
        law=draw(st.sampled_from(laws)),
        rate_bits_per_second=draw(st.sampled_from([1e5, 5e6, 1e8, 1e9, 1e18])),
        latency_seconds=draw(st.sampled_from([0.0, 1e-9, 1e-6, 2e-3, 0.1])),
        jitter_fraction=draw(st.sampled_from([0.0, 0.1, 2.0])),
        gap_seconds=draw(st.sampled_from([0.0, 1e-5])),
        contention_seconds=draw(st.sampled_from([0.0, 5e-4])),
        peers=draw(st.integers(1, 8)),
        world=draw(st.booleans()),
        processors=draw(st.integers(1, 5)),
        service_times=draw(
            st.sampled_from([_FREE, ServiceTimes(), ServiceTimes(byte_seconds=1e-7)])
        ),
        serial=SerialLaw(pair_seconds=draw(_SECONDS), signs=draw(st.sampled_from([0.0, 2.5]))),
    )


def _pairs(ones: list[float], others: list[float]) -> st.SearchStrategy[tuple[float, float]]:
    """One element of each list, or 0 for both."""
    some = st.tuples(st.sampled_from(ones), st.sampled_from(others))
    return st.one_of(st.just((0.0, 0.0)), some, some)


@st.composite
def faults(draw: st.DrawFn, delegates: int) -> Faults:
    """Any faults, none more often than not."""
    if draw(st.integers(0, 2)) == 0:
        return Faults()
    ranks = st.lists(st.integers(0, delegates - 1), max_size=3, unique=True).map(tuple)
    # Fields that have an effect only together are drawn in pairs.
    slow = draw(ranks)
    partitioned = draw(_pairs([0.3, 0.5, 1.0], [0.01, 0.3, 1e3]))
    return Faults(
        crashed=draw(ranks),
        slow=slow,
        slow_factor=draw(st.sampled_from([2, 3, 1000])) if slow else 10,
        loss_probability=draw(st.sampled_from([0.0, 0.0, 0.05, 0.5, 1.0])),
        partition_fraction=partitioned[0],
        heal_seconds=partitioned[1],
        invalid=draw(ranks),
        equivocating=draw(ranks),
    )


SCHEMES = {
    "Dilithium2": (2420, 1312),
    "Falcon-512": (666, 897),
    "ECDSA-secp256k1": (64, 33),
}
"""What the scenarios that are run sign with: one length, many lengths, a library of its own."""


@st.composite
def _contents(draw: st.DrawFn, runs: bool) -> dict[str, Any]:
    """A scheme with any costs, and blocks of any sizes, or of executable sizes."""
    sign, verify = draw(_SECONDS), draw(_SECONDS)
    decode_key = verify * draw(st.sampled_from([0.0, 0.0, 0.4, 1.0]))
    if not runs:
        costs = table(
            sign=sign, verify=verify, decode_key=decode_key, signature=draw(st.integers(1, 20_000))
        )
        return {"algorithm": "Dilithium2", "costs": costs, "layout": SIZES}
    name = draw(st.sampled_from(list(SCHEMES)))
    signature, key = SCHEMES[name]
    layout = Layout(data_bytes=draw(st.sampled_from([0, 12, 2000])))
    costs = table(
        sign=sign, verify=verify, decode_key=decode_key, signature=signature, key=key,
        algorithm=name,
    )  # fmt: skip
    least = layout.block_overhead_bytes() + layout.transaction_bytes(costs[name], signature)
    return {
        "algorithm": name,
        "costs": costs,
        "layout": layout,
        "block_bytes": least + draw(st.sampled_from([0, 1, 3000, 12_000])),
    }


@st.composite
def pipelines(draw: st.DrawFn, *, runs: bool = False) -> Scenario:
    """Any scenario in which heights overlap."""
    nodes = draw(st.integers(1, 10))
    delegates = draw(st.one_of(st.integers(1, nodes), st.just(nodes)))
    network = dataclasses.replace(draw(networks()), law="uplink")
    slow = draw(st.lists(st.integers(0, delegates - 1), max_size=2, unique=True).map(tuple))
    return Scenario(
        **draw(_contents(runs)),
        nodes=nodes,
        delegates=delegates,
        network=network,
        vote_phases=2,
        certificates=draw(st.sampled_from(["none", "broadcast"])),
        pipelined=True,
        proposal=draw(st.sampled_from(["votes", "dpos"])),
        signed_blocks=draw(st.booleans()),
        signed_votes=draw(st.booleans()),
        verification_threads=draw(st.integers(1, 4)),
        blocks=draw(st.integers(1, 4)),
        faults=Faults(slow=slow, slow_factor=draw(st.sampled_from([2, 1000])) if slow else 10),
        seed=draw(st.integers(0, 2**63)),
    )


@st.composite
def scenarios(
    draw: st.DrawFn, max_nodes: int = 64, *, runs: bool = False, laws: tuple[Law, ...] = NAMES
) -> Scenario:
    """Any scenario of up to `max_nodes` nodes, or any that executed delegates support."""
    few = st.integers(1, 8)
    network = draw(networks(laws))
    # The reference divides the links anew for every message of that law.
    most = min(max_nodes, 10) if network.law == "uplink" else max_nodes
    nodes = draw(st.one_of(few, few, st.integers(1, most)))
    some = st.integers(1, nodes)
    delegates = draw(st.one_of(some, some, st.just(nodes)))
    exchanges = {
        "paper-serial": ["all-to-all"], "gossip": ["broadcast"], "uplink": ["broadcast"]
    }  # fmt: skip
    exchange = draw(st.sampled_from(exchanges.get(network.law, ["all-to-all", "broadcast"])))
    phases = 0 if exchange == "all-to-all" else draw(st.integers(0, 2))
    certificates = ["none", "next-block"] if phases and not runs else ["none"]
    if phases and network.law == "uplink":
        # Only this law has them, so that they would be rare.
        certificates = ["broadcast", "broadcast", *certificates]
    wrong = draw(faults(delegates))
    if runs and network.law == "gossip":
        wrong = dataclasses.replace(wrong, equivocating=())  # rejected, as gossip cannot do it
    return Scenario(
        **draw(_contents(runs)),
        nodes=nodes,
        delegates=delegates,
        network=network,
        exchange=exchange,
        vote_phases=phases,
        certificates=draw(st.sampled_from(certificates)),
        proposal=draw(st.sampled_from(["votes", "luck", "dpos"])),
        round_seconds=draw(st.sampled_from([0.0, 10.0])),
        signed_blocks=draw(st.booleans()),
        signed_votes=draw(st.booleans()),
        verification_threads=draw(st.integers(1, 4)),
        blocks=draw(st.integers(1, 2)),
        view_timeout_seconds=draw(st.sampled_from([1e-6, 0.1, 2.0, 1e4])),
        max_views=draw(st.integers(1, 3)),
        faults=wrong,
        seed=draw(st.integers(0, 2**63)),
    )
