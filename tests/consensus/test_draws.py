"""Counter-based random numbers: equal in Python, numpy and compiled code; their effects."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqchain.consensus import draws
from pqchain.consensus.engines import rows
from pqchain.consensus.view import Disturbance, Outcome


def test_draws_are_the_same_in_python_numpy_and_compiled_code() -> None:
    pairs = [(0, 0), (1, 2), (2**32 - 1, 2**32 - 1), (7, 2**20), (123_456, 1)]
    for family in (0, 1, draws.key(5, "jitter"), draws.MASK):
        plain = [draws.draw(family, i, j) for i, j in pairs]
        many = draws.draw_array(family, [i for i, _ in pairs], [j for _, j in pairs])
        jitted = [int(rows.draw_unsigned(np.uint64(family), i, j)) for i, j in pairs]
        assert plain == many.tolist() == jitted


def test_mixing_is_splitmix64() -> None:
    # The first outputs of SplitMix64 from the state 1234567, as its reference prints them.
    state, outputs = 1_234_567, []
    for _ in range(3):
        state = (state + draws.GOLDEN) & draws.MASK
        outputs.append(draws.mix(state))
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_scaled_draws_are_the_same_for_arrays() -> None:
    family, spans = draws.key(5, "peer"), [1, 7, 2**31]
    for span in spans:
        plain = [draws.scale(draws.draw(family, i, 3), span) for i in range(100)]
        assert draws.integers_below(family, np.arange(100), 3, span).tolist() == plain
        assert min(plain) >= 0 and max(plain) < span


_BOUNDS = st.sampled_from([0, 2**60, 2**63, 2**64 - 1])


@given(loss=_BOUNDS, heal=st.sampled_from([0, 10**6]), kind=st.integers(0, 2))
def test_compiled_arrivals_are_those_of_the_reference(loss, heal, kind):
    disturbance = Disturbance(jitter=(1, 2, 3), loss=(4, 5, 6), loss_below=loss, heal_ns=heal)
    for at, jitter in ((7, 0), (1000, 1), (30_000, 10**5)):
        expected = disturbance.arrival(kind, 5, at, at=at, max_jitter_ns=jitter, partitioned=at < 9)
        ours = rows.arrival(disturbance.as_tuple(kind), 5, at, at, jitter, at < 9)
        assert ours == expected


def test_events_at_the_deadline_do_not_count() -> None:
    times = np.array([1, 5, 9])
    before = Outcome.before(5, *[times] * 4)
    assert (before.final_ns == times).tolist() == [True, False, False]
    assert before == Outcome.before(4, *[times] * 4)
