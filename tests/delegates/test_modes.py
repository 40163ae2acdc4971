"""One scenario in every mode, and what has no meaning in one."""

from __future__ import annotations

import dataclasses
import threading

import pytest

import pqchain
from pqchain import consensus, delegates
from pqchain.chain.block import Block
from pqchain.chain.wallet import Wallet
from pqchain.consensus.network import named
from pqchain.consensus.scenario import Faults
from pqchain.delegates import certificates, keys, modes
from pqchain.delegates.messages import Kind, Message, encode, statement
from pqchain.delegates.observer import ObserverNode
from pqchain.delegates.safety_store import MemoryStore
from pqchain.delegates.setting import Setting
from pqchain.errors import UnknownName, UsageError
from pqchain.wire.drivers import namespaces
from pqchain.wire.transports import registry
from tests.consensus.scenarios import SIZES, scenario, table

pytestmark = pytest.mark.native

STAR = {"nodes": 4, "network": named("star"), "vote_phases": 2, "blocks": 2, "block_bytes": 8000}


STAR_OF_FIVE = {key: value for key, value in STAR.items() if key != "nodes"}


def digest(block):
    return Block.decode(block).hash()


def star(**changes):
    return scenario(**(STAR | changes))


def test_modelled_replayed_and_measured_runs_align():
    one = star()
    modelled, plain = consensus.run(one), delegates.run(one, mode="virtual")
    quic = delegates.run(one, mode="virtual", transport=registry.default())
    frame = modes.frame([modelled, plain, quic])
    assert frame["kind"].tolist() == ["modelled", "replayed", "replayed"]
    assert frame["transport"].tolist() == ["", "plain", registry.default()]
    assert frame["scenario"].nunique() == 1
    assert frame["is_live"].all() and frame["is_safe"].all()
    assert (frame["final_blocks"] == 2).all()
    # One length of signatures, so the plain network is the model; QUIC's headers and hands cost.
    latency = frame["latency_seconds"]
    assert latency[0] == latency[1] < latency[2] < 2 * latency[0]
    assert frame["plain_latency_seconds"].fillna(0).tolist() == [0, 0, latency[0]]
    assert frame["over_plain_percent"][2] == pytest.approx(100 * (latency[2] / latency[0] - 1))


@pytest.mark.parametrize("runs", [4, pytest.param(25, marks=pytest.mark.long)])
def test_a_seed_gives_the_same_datagrams(runs: int):
    """Signing tasks run in threads; each must draw from its own seed."""
    one = star(algorithm="Falcon-512", costs=table(algorithm="Falcon-512", signature=655, key=897))
    one = dataclasses.replace(one, nodes=7, blocks=1)
    done = [delegates.run(one, mode="virtual", transport="native") for _ in range(runs)]
    frame = modes.frame(done)
    (digest,) = set(frame["datagram_sha256"])
    assert len(digest) == 64
    assert all(row.equals(frame.loc[0]) for _, row in frame.iterrows())
    other = delegates.run(dataclasses.replace(one, seed=1), mode="virtual", transport="native")
    assert other.datagram_sha256 != digest


def test_wallets_made_beside_a_model_are_not_of_the_model():
    """The keys of a model follow from public words; no other key may."""
    one = star(nodes=7, blocks=4)
    model = threading.Thread(target=delegates.run, args=(one,), kwargs={"mode": "virtual"})
    model.start()
    made = []
    while model.is_alive() or len(made) < 20:
        made.append(Wallet(one.algorithm).keys[0][1])
    of_the_model = {
        keys.keypair(one.algorithm, owner, number)[0]
        for owner in ("delegate", "wallet")
        for number in range(7)
    }
    assert len(set(made) | of_the_model) == len(made) + 14


@pytest.mark.parametrize("faults", [{"crashed": (1,)}, {"invalid": (0,)}, {"equivocating": (0,)}])
def test_faults_cost_a_view_over_quic_as_in_the_model(faults):
    one = star(faults=Faults(**faults), view_timeout_seconds=3.0)
    done = delegates.run(one, mode="virtual", transport=registry.default())
    assert done.is_live and done.is_safe
    assert done.latency_seconds == pytest.approx(consensus.run(one).latency_seconds, rel=0.1)


_ILLS = [
    {"loss_probability": 0.1},
    {"delay_probability": 0.3, "delay_seconds": 0.2},
    {"partition_fraction": 0.5, "heal_seconds": 1.5},
    {"slow": (1,), "slow_factor": 3},
]
"""What a network or a machine may suffer from, in every mode."""


@pytest.mark.parametrize("faults", _ILLS)
def test_what_the_network_does_is_lived_through_over_quic(faults):
    one = star(faults=Faults(**faults), view_timeout_seconds=1.0)
    done = delegates.run(one, mode="virtual", transport=registry.default())
    assert done.is_live and done.is_safe
    assert done.views >= 2


@pytest.mark.long
@pytest.mark.parametrize("faults", _ILLS)
def test_what_the_network_does_is_lived_through_on_loopback(faults):
    one = star(faults=Faults(**faults), view_timeout_seconds=2.0)
    done = delegates.run(one, mode="loopback")
    assert done.is_live and done.is_safe


@pytest.mark.skipif(bool(namespaces.reason()), reason=f"netns: {namespaces.reason()}")
@pytest.mark.long
def test_delegates_vote_between_namespaces():
    # Without a delay: not every kernel has one.
    one = star(network=named("star", latency_seconds=0.0), block_bytes=50_000)
    done = delegates.run(one, mode="netns")
    assert done.is_live and done.kind == "measured"
    # Each block crosses the sender's link once for every receiver, but for what a link lets pass at
    # once; no transaction more would have fitted in.
    block_bytes = one.block_bytes * (1 - 1 / done.transactions_per_block)
    at_once = 32_000
    bits = 8 * (3 * block_bytes - at_once)
    assert done.latency_seconds > bits / one.network.rate_bits_per_second


def test_on_loopback_all_is_measured():
    # The law "host" alone says something on loopback: on how many processors.
    network = named("host", processors=1)
    one = scenario(nodes=3, blocks=2, block_bytes=8000, network=network)
    done = delegates.run(one, mode="loopback")
    assert done.is_live and done.is_safe
    assert done.kind == "measured"
    # Each block: proposed to the two others, and a copy of everybody's to everybody.
    assert done.sent_messages == 2 * (2 + 6)
    assert done.sent_bytes > 16 * 7500
    assert done.latency_seconds > 0 and done.cpu_seconds > 0
    assert [lap.messages for lap in done.laps] == [2 + 6] * 2
    assert sum(lap.bytes for lap in done.laps) == done.sent_bytes
    assert 0 < sum(lap.cpu_seconds for lap in done.laps) <= done.cpu_seconds
    assert done.half_width_seconds > 0


@pytest.mark.parametrize("phases", [0, 2])
def test_observers_get_and_verify_every_block(phases):
    one = star(nodes=7, delegates=3, vote_phases=phases)
    few, all_vote = (
        delegates.run(case, mode="virtual", transport=registry.default())
        for case in (one, star(nodes=3, vote_phases=phases))
    )
    assert few.is_live and few.is_safe
    # Each observer is sent each block once, by one delegate.
    assert few.sent_messages == all_vote.sent_messages + 2 * 4
    for lap in few.laps:
        assert lap.spread_seconds > lap.latency_seconds


def test_nobody_is_left_without_blocks_because_a_delegate_crashed():
    faults = {"faults": Faults(crashed=(0,)), "view_timeout_seconds": 3.0}
    done = delegates.run(
        star(nodes=7, delegates=4, **faults), mode="virtual", transport=registry.default()
    )
    assert done.is_live and done.laps[0].spread_seconds > 3.0


def test_a_lying_delegate_cannot_make_an_observer_keep_a_block():
    one = scenario(nodes=5, delegates=4, **{**STAR_OF_FIVE})
    setting = Setting(one)
    block = setting.propose(setting.pool.genesis, 0, 0, 0).encode()
    votes = {
        rank: setting.keys.sign(rank, statement(Kind.COMMIT, rank, 0, 0, digest(block)))
        for rank in range(setting.quorum)
    }
    for said, kept in (
        ((block, votes), 1),
        ((block, dict(list(votes.items())[1:])), 0),
        ((block, votes | {0: votes[1]}), 0),
        ((block[:-1], votes), 0),
    ):
        observer = ObserverNode(4, None, setting, MemoryStore(setting.pool.genesis))
        observer.begin(0.0)
        proof = certificates.encode(said[1])
        body = len(proof).to_bytes(4, "big") + proof + said[0]
        observer._waiting.append(encode(Message(Kind.DECIDED, 0, 0, 0, body)))
        observer.finished(observer.poll().outcome(), 1.0)
        assert observer.progress == kept
        assert sum(observer.rejected.values()) == 1 - kept


@pytest.mark.long
@pytest.mark.parametrize("transport", ["tcp-tls", "aioquic"])
@pytest.mark.parametrize("phases", [1, 2])
def test_delegates_vote_on_loopback(transport, phases):
    one = star(vote_phases=phases, view_timeout_seconds=20.0, faults=Faults(crashed=(3,)))
    done = delegates.run(one, mode="loopback", transport=transport)
    assert done.is_live and done.is_safe


@pytest.mark.parametrize(
    ("changes", "options", "why"),
    [
        ({"layout": SIZES}, {"mode": "virtual"}, "layout must not have overhead_bytes"),
        ({"network": named("mesh")}, {"mode": "virtual", "transport": "native"}, "network is mesh"),
        ({}, {"mode": "loopback", "transport": "plain"}, "which needs no sockets"),
        ({"nodes": 300}, {"mode": "loopback"}, "got 300, which need about"),
        ({"arrivals_per_second": 5.0}, {"mode": "loopback"}, "arrivals_per_second must be 0"),
        (
            {
                "network": named("gossip"),
                "faults": Faults(equivocating=(0,)),
                "view_timeout_seconds": 9.0,
            },
            {"mode": "virtual"},
            "faults.equivocating must be empty on gossip",
        ),
        (
            {"vote_phases": 0, "faults": Faults(invalid=(0,)), "view_timeout_seconds": 9.0},
            {"mode": "loopback"},
            "votes must be signed and vote_phases at least 1",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(changes, options, why):
    with pytest.raises(UsageError, match=why):
        delegates.run(star(**changes), **options)


def test_an_unknown_mode_is_refused():
    with pytest.raises(UnknownName, match="'loopbak'; did you mean 'loopback'"):
        pqchain.delegates.run(star(), mode="loopbak")
