"""Effects of the network on single messages and on batches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqchain.consensus.view import BLOCK, COMMIT, VOTE, Disturbance, Outcome

_PROBABILITIES = st.sampled_from([0, 2**60, 2**63, 2**64 - 1])


@given(
    loss=_PROBABILITIES, delay=_PROBABILITIES, heal=st.sampled_from([0, 10**6]),
    max_jitter_ns=st.sampled_from([0, 1, 10**5]), kind=st.sampled_from([BLOCK, VOTE, COMMIT]),
)  # fmt: skip
def test_batched_arrivals_equal_single_messages(
    loss: int, delay: int, heal: int, max_jitter_ns: int, kind: int
) -> None:
    disturbance = Disturbance(
        jitter=(1, 2, 3), loss=(4, 5, 6), delay=(7, 8, 9), loss_below=loss, delay_below=delay,
        delay_ns=12_345, heal_ns=heal,
    )  # fmt: skip
    receivers, partitioned = np.arange(40), np.arange(40) % 3 == 0
    at = 1000 * receivers + 7
    many = disturbance.arrivals(
        kind, 5, receivers, at=at, max_jitter_ns=max_jitter_ns, partitioned=partitioned
    )
    assert many.tolist() == [
        disturbance.arrival(
            kind, 5, j, at=int(at[j]), max_jitter_ns=max_jitter_ns, partitioned=bool(partitioned[j])
        )
        for j in range(40)
    ]


def test_events_at_the_deadline_do_not_count() -> None:
    times = np.array([1, 5, 9])
    partitioned = Outcome(times, times, times, times).before(5)
    assert (partitioned.final_ns == times).tolist() == [True, False, False]
    assert partitioned == Outcome(times, times, times, times).before(4)
