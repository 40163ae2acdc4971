"""Proof of Luck: how long a block waits, who wins, which nodes switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.consensus import model
from pqchain.consensus.builder import MIN_DELAY_SECONDS, luck_value, release_delay_seconds
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import SECOND
from tests.consensus.test_network import block

ROUND_SECONDS = 10.0
"""ROUND_TIME of the authors' code."""


@dataclass(frozen=True, slots=True)
class Race:
    """Result of one round."""

    winner: int
    """Position of the luckiest."""
    released_seconds: float
    """Release time of the winner's block, from the start of the round."""
    released: int
    """Number of released blocks: the winner's, and of nodes that had not received it in time."""
    switched: int
    """Number of nodes that had a less lucky block first and switched to the winner's."""


def race(lucks: Sequence[float], *, round_seconds: float, propagation_seconds: float) -> Race:
    """Play one round in which every block reaches all nodes after `propagation_seconds`."""
    winner = max(range(len(lucks)), key=lambda node: (lucks[node], -node))
    release = [
        round_seconds + release_delay_seconds(value, round_seconds=round_seconds) for value in lucks
    ]
    # The winner releases first, so only nodes within the propagation time release as well.
    received = release[winner] + propagation_seconds
    rivals = [node for node in range(len(lucks)) if node != winner and release[node] < received]
    # A rival's block travels as fast and left later, so only the rivals had another block.
    return Race(winner, release[winner], 1 + len(rivals), len(rivals))


def mean_interval_seconds(miners: int, *, round_seconds: float = ROUND_SECONDS) -> float:
    """Return the mean time between blocks without propagation: E[max luck] is M / (M + 1)."""
    return round_seconds + MIN_DELAY_SECONDS + round_seconds / 2.0 / (miners + 1)


def test_release_delay_is_that_of_the_authors_code() -> None:
    assert release_delay_seconds(0.0, round_seconds=ROUND_SECONDS) == 6.0
    luckiest = release_delay_seconds(1.0 - 2.0**-52, round_seconds=ROUND_SECONDS)
    assert luckiest == pytest.approx(1.0)
    assert mean_interval_seconds(32) == pytest.approx(11 + 5 / 33)


def test_proof_of_luck_takes_its_mean_interval() -> None:
    lucky = block(
        "mesh", 8,
        fields={"proposal": "luck", "round_seconds": 10.0, "blocks": 400, "vote_phases": 0},
    )  # fmt: skip
    result = model.run(lucky)
    mean = result.heights[-1].ended_ns / len(result.heights) / SECOND
    # The sum of 400 independent waits; its standard error is below 0.03 s.
    assert mean == pytest.approx(mean_interval_seconds(8) + 0.083728, abs=0.12)


def _played(lucks: list[float], round_seconds: float, propagation: float) -> tuple[int, int, int]:
    """Play a round message by message: winner, blocks released, nodes that switched."""
    release = [
        round_seconds + release_delay_seconds(luck, round_seconds=round_seconds) for luck in lucks
    ]
    released: list[int] = []
    for node in sorted(range(len(lucks)), key=lambda node: (release[node], node)):
        received = [other for other in released if release[other] + propagation <= release[node]]
        if not any(lucks[other] >= lucks[node] for other in received):
            released.append(node)
    best = max(range(len(lucks)), key=lambda node: (lucks[node], -node))
    return best, len(released), sum(lucks[node] <= lucks[best] for node in released) - 1


@given(
    lucks=st.lists(st.floats(0, 1, exclude_max=True).map(lambda luck: round(luck, 2)), min_size=1,
                   max_size=12),
    propagation=st.floats(0.001, 6.0),
)  # fmt: skip
def test_race_equals_the_message_level_simulation(lucks: list[float], propagation: float) -> None:
    outcome = race(lucks, round_seconds=10.0, propagation_seconds=propagation)
    assert (outcome.winner, outcome.released, outcome.switched) == _played(lucks, 10.0, propagation)


def test_model_counts_the_rivals_of_each_race() -> None:
    lucky = block(
        "mesh", 16,
        fields={"proposal": "luck", "round_seconds": 10.0, "blocks": 60, "vote_phases": 0},
    )  # fmt: skip
    heights = model.run(lucky).heights
    nodes = model.single_view(lucky).count
    expected = []
    for number in range(60):
        lucks = [luck_value(lucky.seed, height=number, node=node) for node in range(nodes)]
        played = race(lucks, round_seconds=10.0, propagation_seconds=0.083728)
        expected.append(played.switched)
    assert [height.rivals for height in heights] == expected
    assert 0 < sum(expected) < 60


def test_luckiest_live_node_proposes() -> None:
    fields = {"proposal": "luck", "round_seconds": 10.0, "vote_phases": 2, "blocks": 20}
    faults = {"faults": Faults(crashed=(0, 3)), "view_timeout_seconds": 20.0}
    result = model.run(block("mesh", 8, fields=fields | faults))
    assert result.is_live and result.views == 20
