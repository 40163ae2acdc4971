"""Sentences and numbers as people read them."""

import pytest

from pqchain.study.answer import conclusions, shown
from tests.study import plans
from tests.study.plans import plan


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1.234e12, "B", "1.23 TB"), (50_031, "B", "50 031 B"), (655.05, "B", "655.05 B"),
        (0.0383, "s", "38.3 ms"), (59.9, "s", "59.9 s"), (7200, "s", "2.00 h"),
        (300, "s", "5.00 min"), (86_400 * 3, "s", "3.00 d"), (86_400 * 1000, "s", "2.74 years"),
        (2.5e6, "bit/s", "2.50 Mbit/s"), (8.4, "×", "×8.40"), (float("nan"), "s", "–"),
        (59.5, "1/s", "59.5 tx/s"), (0.5, "", "0.500"),
    ],
)  # fmt: skip
def test_figures_are_shown_with_the_prefix_that_fits(value, unit, expected):
    assert shown(value, unit).replace("\u202f", " ") == expected


def test_blocks_that_are_late_for_their_votes_are_named():
    one = plan(vote_deadline_seconds=1e-3)
    said = " ".join(conclusions(plans.found(one)))
    assert "take longer than the 1.00" in said
    assert "Falcon-512" in said[said.index("longer than") :]
    late = plans.found(one).values["Falcon-512"]
    assert late["vote_deadline_ratio"] == pytest.approx(late["final_seconds"] / 1e-3)
    assert "votes are due" not in " ".join(
        conclusions(plans.found(plan(vote_deadline_seconds=1e5)))
    )
