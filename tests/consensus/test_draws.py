"""Counter-based random numbers: equal in Python, numpy and compiled code."""

from __future__ import annotations

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.engines import compiled


def test_draws_are_the_same_in_python_numpy_and_compiled_code() -> None:
    pairs = [(0, 0), (1, 2), (2**32 - 1, 2**32 - 1), (7, 2**20), (123_456, 1)]
    for family in (0, 1, draws.key(5, "jitter"), draws.MASK):
        plain = [draws.draw(family, i, j) for i, j in pairs]
        many = draws.draw_array(family, [i for i, _ in pairs], [j for _, j in pairs])
        jitted = [int(compiled.draw_unsigned(np.uint64(family), i, j)) for i, j in pairs]
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
