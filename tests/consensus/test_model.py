"""Faults, safety and liveness; rotation of proposers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pqchain.consensus import model
from pqchain.consensus.faults import Faults
from pqchain.consensus.model import Run
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.view import NEVER
from tests.consensus.scenarios import scenario, table


def run(**changes: Any) -> Run:
    """Run ten delegates on a mesh with a timeout."""
    settings_: dict[str, Any] = {
        "nodes": 10, "network": named("mesh"), "vote_phases": 2, "view_timeout_seconds": 5.0,
    }  # fmt: skip
    return model.run(scenario(**(settings_ | changes)))


@pytest.mark.parametrize("fault", ["crashed", "invalid"])
def test_faulty_proposer_costs_a_timeout(fault: str) -> None:
    plain, faulty = run(), run(faults=Faults(**{fault: (0,)}))
    assert faulty.is_live and faulty.is_safe
    assert faulty.views == 2
    assert faulty.latency_seconds == pytest.approx(5.0 + plain.latency_seconds, rel=0.01)


@pytest.mark.parametrize("phases", [1, 2])
def test_f_crashes_are_tolerated_and_f_plus_1_are_not(phases: int) -> None:
    # Of ten, f is 3.
    fine = run(vote_phases=phases, faults=Faults(crashed=(7, 8, 9)))
    stuck = run(vote_phases=phases, faults=Faults(crashed=(6, 7, 8, 9)))
    assert fine.is_live and fine.is_safe
    assert not stuck.is_live and stuck.is_safe
    assert np.isnan(stuck.latency_seconds) and stuck.throughput_per_second == 0.0


def test_equivocation_splits_votes_and_two_phases_recover() -> None:
    result = run(faults=Faults(equivocating=(0,)))
    assert result.is_safe and result.is_live and result.views == 2


def test_with_one_phase_an_equivocating_proposer_can_stop_the_height() -> None:
    # Each delegate votes once in a height, so a split vote stays split: safe, and not live.
    result = run(vote_phases=1, faults=Faults(equivocating=(0,)))
    assert result.is_safe and not result.is_live


def test_without_votes_an_equivocating_proposer_forks_the_chain() -> None:
    # The paper's "verify and append", implemented literally.
    result = run(vote_phases=0, faults=Faults(equivocating=(0,)))
    assert not result.is_safe


def test_beyond_f_equivocators_can_break_safety() -> None:
    result = run(vote_phases=1, faults=Faults(equivocating=(0, 1, 2, 3, 4, 5)))
    assert not result.is_safe


_VOTING = [name for name in NAMES if name != "paper-serial"]
"""Networks on which blocks are voted on."""


@pytest.mark.long
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_f_faulty_delegates_cannot_break_safety(data: st.DataObject) -> None:
    count = data.draw(st.integers(4, 22))
    ranks = data.draw(st.lists(st.integers(0, count - 1), max_size=(count - 1) // 3, unique=True))
    cut = data.draw(st.integers(0, len(ranks)))
    other = data.draw(st.integers(cut, len(ranks)))
    halved = data.draw(st.booleans())
    faults = Faults(
        equivocating=tuple(ranks[:cut]),
        crashed=tuple(ranks[cut:other]),
        invalid=tuple(ranks[other:]),
        loss_probability=data.draw(st.sampled_from([0.0, 0.1, 0.3])),
        partition_fraction=0.5 if halved else 0.0,
        heal_seconds=data.draw(st.sampled_from([0.2, 1.5])) if halved else 0.0,
        slow=tuple(ranks[:1]),
    )
    result = model.run(
        scenario(
            nodes=count, network=named(data.draw(st.sampled_from(_VOTING))), exchange="broadcast",
            vote_phases=data.draw(st.integers(1, 2)), costs=table(verify=1e-3, sign=1e-3),
            view_timeout_seconds=data.draw(st.sampled_from([0.12, 0.4, 2.0])),
            max_views=8, faults=faults, seed=data.draw(st.integers(0, 10**6)),
        )
    )  # fmt: skip
    assert result.is_safe


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_f_faulty_delegates_cannot_stop_two_phase_voting(data: st.DataObject) -> None:
    count = data.draw(st.integers(4, 16))
    ranks = data.draw(st.lists(st.integers(0, count - 1), max_size=(count - 1) // 3, unique=True))
    cut = data.draw(st.integers(0, len(ranks)))
    other = data.draw(st.integers(cut, len(ranks)))
    # Gossip may route around crashed nodes.
    law = data.draw(st.sampled_from([law for law in _VOTING if law != "gossip"]))
    result = model.run(
        scenario(
            nodes=count, network=named(law), exchange="broadcast", vote_phases=2,
            view_timeout_seconds=100.0, max_views=2 * count, blocks=2,
            faults=Faults(
                equivocating=tuple(ranks[:cut]), crashed=tuple(ranks[cut:other]),
                invalid=tuple(ranks[other:]),
            ),
            seed=data.draw(st.integers(0, 10**6)),
        )
    )  # fmt: skip
    assert result.is_live and result.is_safe
    # Two heights; each faulty proposer costs a view, and a lock from it one more.
    assert result.views <= 2 * (2 + len(ranks))


def test_partition_longer_than_the_timeout_costs_views() -> None:
    result = run(
        faults=Faults(partition_fraction=0.5, heal_seconds=12.0), view_timeout_seconds=5.0,
        max_views=8,
    )  # fmt: skip
    assert result.is_live and result.is_safe and result.views == 3


def test_first_final_block_of_a_delegate_counts() -> None:
    again = 0
    for seed in range(8):
        result = run(faults=Faults(loss_probability=0.1), max_views=6, seed=seed)
        (height,) = result.heights
        times = np.array([outcome.final_ns for outcome in height.outcomes])
        again += int(((times < NEVER).sum(axis=0) > 1).sum())
        assert np.array_equal(height.final_ns, times.min(axis=0))
    assert again > 0


def test_healed_partition_only_delays() -> None:
    cut = Faults(partition_fraction=0.5, heal_seconds=3.0)
    result = run(faults=cut)
    assert result.is_live and result.is_safe and result.views == 1
    assert 3.0 <= result.latency_seconds < 3.5


def test_proposers_rotate() -> None:
    def proposers(proposal: str) -> list[int]:
        result = run(nodes=4, blocks=5, proposal=proposal, vote_phases=0)
        return [int(np.argmin(height.final_ns)) for height in result.heights]

    assert proposers("votes") == [0, 1, 2, 3, 0]
    assert sorted(proposers("dpos")[:4]) == [0, 1, 2, 3]
    assert len(set(proposers("luck"))) > 1


def test_signing_blocks_takes_time() -> None:
    # Bytes take no time, so the block signature costs only signing and verification.
    costs, quick = table(sign=0.01, verify=0.001), named("mesh", rate_bits_per_second=1e18)
    plain, signed = (
        run(costs=costs, vote_phases=0, network=quick, signed_blocks=signs)
        for signs in (False, True)
    )
    assert signed.latency_seconds - plain.latency_seconds == pytest.approx(0.011)
