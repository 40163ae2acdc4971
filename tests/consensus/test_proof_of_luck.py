"""Proof of Luck: how long a block waits, who wins, which nodes switch."""

import pytest

from pqchain.consensus import model
from pqchain.consensus.builder import MIN_DELAY_SECONDS, luck_value, release_delay_seconds
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import SECOND
from tests.consensus.test_network import block

ROUND_SECONDS = 10.0
"""ROUND_TIME of the authors' code."""

LUCK = {"proposal": "luck", "round_seconds": ROUND_SECONDS, "vote_phases": 0}


def test_release_delay_is_that_of_the_authors_code() -> None:
    assert release_delay_seconds(0.0, round_seconds=ROUND_SECONDS) == 6.0
    luckiest = release_delay_seconds(1.0 - 2.0**-52, round_seconds=ROUND_SECONDS)
    assert luckiest == pytest.approx(1.0)


def test_proof_of_luck_takes_its_mean_interval() -> None:
    result = model.run(block("mesh", 8, fields=LUCK | {"blocks": 400}))
    mean = result.heights[-1].ended_ns / len(result.heights) / SECOND
    # Without propagation E[max luck] is M / (M + 1) for M miners.
    expected = ROUND_SECONDS + MIN_DELAY_SECONDS + ROUND_SECONDS / 2 / (8 + 1)
    # The sum of 400 independent waits; its standard error is below 0.03 s.
    assert mean == pytest.approx(expected + 0.083728, abs=0.12)


def switched(lucks: list[float], propagation: float) -> int:
    """Play a round message by message; return how many nodes switched to the luckiest block."""
    release = [
        ROUND_SECONDS + release_delay_seconds(luck, round_seconds=ROUND_SECONDS) for luck in lucks
    ]
    released: list[int] = []
    for node in sorted(range(len(lucks)), key=lambda node: (release[node], node)):
        received = [other for other in released if release[other] + propagation <= release[node]]
        if not any(lucks[other] >= lucks[node] for other in received):
            released.append(node)
    return sum(lucks[node] <= max(lucks) for node in released) - 1


def test_model_counts_the_rivals_of_each_race() -> None:
    lucky = block("mesh", 16, fields=LUCK | {"blocks": 60})
    heights = model.run(lucky).heights
    expected = []
    for number in range(60):
        lucks = [luck_value(lucky.seed, height=number, node=node) for node in range(16)]
        expected.append(switched(lucks, 0.083728))
    assert [height.rivals for height in heights] == expected
    assert 0 < sum(expected) < 60


def test_luckiest_live_node_proposes() -> None:
    fields = LUCK | {"vote_phases": 2, "blocks": 20}
    faults = {"faults": Faults(crashed=(0, 3)), "view_timeout_seconds": 20.0}
    result = model.run(block("mesh", 8, fields=fields | faults))
    assert result.is_live and result.views == 20
