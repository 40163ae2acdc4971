"""Execution modes of a scenario, and rejected options."""

import math
import threading

import pytest

from pqchain import algorithms, consensus, delegates
from pqchain.chain.wallet import Wallet
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import named
from pqchain.delegates import keys, messages, modes
from pqchain.delegates.messages import MessageKind, statement
from pqchain.delegates.observer import ObserverNode
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import MemoryStore
from pqchain.errors import DataError, UsageError
from pqchain.wire.drivers import namespaces
from pqchain.wire.drivers.job import NodeResult, Result
from pqchain.wire.transports import registry
from tests.consensus.scenarios import SIZES, scenario, table

pytestmark = pytest.mark.native

STAR = {"nodes": 4, "network": named("star"), "vote_phases": 2, "blocks": 2, "block_bytes": 8000}


def star(**changes):
    return scenario(**(STAR | changes))


def test_modelled_replayed_and_measured_runs_align():
    case = star()
    modelled, plain = consensus.run(case), delegates.run(case, mode="virtual")
    quic = delegates.run(case, mode="virtual", transport=registry.default())
    frame = consensus.frame([modelled, plain, quic])
    assert frame["kind"].tolist() == ["modelled", "replayed", "replayed"]
    assert frame["transport"].tolist() == ["", "plain", registry.default()]
    assert frame["scenario"].nunique() == 1
    assert frame["is_live"].all() and frame["is_safe"].all()
    assert (frame["final_blocks"] == 2).all()
    # One length of signatures, so plain equals the model; QUIC's headers and handshakes cost time.
    latency = frame["latency_seconds"]
    assert latency[0] == latency[1] < latency[2] < 2 * latency[0]


def test_wallets_made_during_a_modelled_run_have_random_keys():
    """The keys of a modelled run are derived from public values; no other key may be."""
    case = star(nodes=7, blocks=4)
    thread = threading.Thread(target=delegates.run, args=(case,), kwargs={"mode": "virtual"})
    thread.start()
    made = []
    while thread.is_alive() or len(made) < 20:
        made.append(Wallet(case.algorithm).keys[0][1])
    modelled_keys = {
        keys.keypair(algorithms.get(case.algorithm), owner, number)[0]
        for owner in ("delegate", "wallet")
        for number in range(7)
    }
    assert len(set(made) | modelled_keys) == len(made) + 14


@pytest.mark.parametrize("faults", [{"crashed": (1,)}, {"invalid": (0,)}, {"equivocating": (0,)}])
def test_faults_cost_one_view_over_quic_as_in_the_model(faults):
    case = star(faults=Faults(**faults), view_timeout_seconds=3.0)
    result = delegates.run(case, mode="virtual", transport=registry.default())
    assert result.is_live and result.is_safe
    assert result.latency_seconds == pytest.approx(consensus.run(case).latency_seconds, rel=0.1)


_FAULTS = [
    {"loss_probability": 0.1},
    {"partition_fraction": 0.5, "heal_seconds": 1.5},
    {"slow": (1,), "slow_factor": 3},
]
"""Faults of the network and of machines, in every mode."""


@pytest.mark.long
@pytest.mark.parametrize("faults", _FAULTS)
def test_delegates_tolerate_network_faults_on_loopback(faults):
    case = star(faults=Faults(**faults), view_timeout_seconds=2.0)
    result = delegates.run(case, mode="loopback")
    assert result.is_live and result.is_safe


@pytest.mark.skipif(
    bool(namespaces.unavailable_reason()), reason=f"netns: {namespaces.unavailable_reason()}"
)
@pytest.mark.long
def test_delegates_vote_between_namespaces():
    # Without a delay, which not every kernel supports.
    case = star(network=named("star", latency_seconds=0.0), block_bytes=50_000)
    result = delegates.run(case, mode="netns")
    assert result.is_live and result.kind == "measured"
    # Each block crosses the sender's link once per receiver, except for the burst of a link; one
    # more transaction would not fit.
    block_bytes = case.block_bytes * (1 - 1 / (result.transactions / len(result.final)))
    burst_bytes = 32_000
    bits = 8 * (3 * block_bytes - burst_bytes)
    assert result.latency_seconds > bits / case.network.rate_bits_per_second


def test_loopback_measures_time_and_messages():
    # On loopback only the law "host" has an effect: the number of processors.
    network = named("host", processors=1)
    case = scenario(nodes=3, blocks=2, block_bytes=8000, network=network)
    result = delegates.run(case, mode="loopback")
    assert result.is_live and result.is_safe
    assert result.kind == "measured"
    # Each block: proposed to two delegates, and a copy from each of three to two.
    assert result.sent_messages == 2 * (2 + 6)
    assert result.sent_bytes > 16 * 7500
    assert result.latency_seconds > 0 and result.cpu_seconds > 0
    assert [height.sent_messages for height in result.final] == [2 + 6] * 2
    assert sum(height.sent_bytes for height in result.final) == result.sent_bytes
    assert 0 < sum(height.cpu_seconds for height in result.final) <= result.cpu_seconds
    assert all(map(math.isnan, result.latency_interval))  # of two heights


@pytest.mark.parametrize("phases", [0, 2])
def test_observers_receive_and_verify_every_block(phases):
    case = star(nodes=7, delegates=3, vote_phases=phases)
    few, all_vote = (
        delegates.run(scenario, mode="virtual", transport=registry.default())
        for scenario in (case, star(nodes=3, vote_phases=phases))
    )
    assert few.is_live and few.is_safe
    # Each observer receives each block once, from one delegate.
    assert few.sent_messages == all_vote.sent_messages + 2 * 4
    for height in few.final:
        assert height.spread_seconds > height.latency_seconds


def test_observer_rejects_blocks_without_a_valid_quorum():
    setting = Setting(star(nodes=5, delegates=4))
    proposed = setting.propose(setting.pool.genesis, 0, 0, 0)
    block, digest = proposed.encode(), proposed.hash()
    votes = {
        rank: setting.keys.sign(rank, statement(MessageKind.COMMIT, rank, 0, 0, digest))
        for rank in range(setting.quorum)
    }
    for decided, stored in (
        ((block, votes), 1),
        ((block, dict(list(votes.items())[1:])), 0),
        ((block, votes | {0: votes[1]}), 0),
        ((block[:-1], votes), 0),
    ):
        observer = ObserverNode(4, None, setting, MemoryStore(setting.pool.genesis))
        observer.begin(0.0)
        proof = bytes(2) + messages.encode_votes(decided[1])
        observer._waiting.append(messages.encode_decided(0, 0, decided[0], proof))
        observer.finished(observer.poll(1.0).outcome(), 1.0)
        assert observer.progress == stored
        assert sum(observer.rejected.values()) == 1 - stored


_VIRTUAL, _LOOPBACK = {"mode": "virtual"}, {"mode": "loopback"}
_TIMEOUT = {"view_timeout_seconds": 9.0}


@pytest.mark.parametrize(
    ("changes", "options", "why"),
    [
        ({"layout": SIZES}, _VIRTUAL, "layout must not have overhead_bytes"),
        ({"costs": table(key=1313)}, _VIRTUAL, "must have real sizes, .*; got 1313 and 2420"),
        ({"costs": table(signature=2419)}, _VIRTUAL, "must have real sizes, .*; got 1312 and 2419"),
        ({"network": named("mesh")}, _VIRTUAL | {"transport": "native"}, "be 'star' .*; got mesh"),
        ({}, _LOOPBACK | {"transport": "plain"}, "must be used in mode 'virtual'; got mode 'loop"),
        ({"nodes": 300}, _LOOPBACK, "got 300, which need about"),
        (
            _TIMEOUT | {"network": named("gossip"), "faults": Faults(equivocating=(0,))},
            _VIRTUAL,
            "faults.equivocating must be empty on gossip",
        ),
        (
            _TIMEOUT | {"vote_phases": 0, "faults": Faults(invalid=(0,))},
            _LOOPBACK,
            "votes must be signed and vote_phases at least 1",
        ),
    ],
)
def test_unsupported_options_are_rejected_with_the_reason(changes, options, why):
    with pytest.raises(UsageError, match=why):
        delegates.run(star(**changes), **options)


def report(final=4, tip="aa"):
    """Return the report of a delegate that has `final` of 4 blocks."""
    return {
        "height": final,
        "tip": tip,
        "entered_ns": [10 * height for height in range(min(final + 1, 4))],
        "final_ns": [10 * height + 9 for height in range(final)],
        "views": [1] * 4,
        "sent": [[3, 300]] * 4,
        "rejected": {},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"final_ns": [9] * 5},
        {"entered_ns": ["0"]},
        {"views": []},
        {"sent": [[3, 300]] * 3},
        {"sent": [[3]] * 4},
        {"tip": "no hash"},
        {"height": 2.5},
        {"more": 1},
        {"views": [2**63] * 4},
    ],
)
def test_wrong_report_of_a_node_is_rejected(change):
    modes._synchronised(NodeResult(node=0, state="done", report=report()), 4)
    with pytest.raises(DataError, match="the report of node 0 "):
        modes._synchronised(NodeResult(node=0, state="done", report=report() | change), 4)


def test_fork_is_reported_although_a_delegate_is_behind():
    """Different last blocks are a fork also when another delegate lacks two heights."""
    case = star(blocks=4)
    ended = [(4, "aa"), (4, "bb"), (4, "aa"), (2, "cc")]
    nodes = tuple(
        NodeResult(node=rank, state="done", report=report(*end)) for rank, end in enumerate(ended)
    )
    result = Result(nodes=nodes, connected=0.0, failure_times={}, identity="Ed25519")
    shared = Setting(case, modelled_clock=True)
    run = modes._of_result(result, shared, case, "virtual", "native")
    assert len(run.final) == 2
    assert not run.is_live and not run.is_safe
