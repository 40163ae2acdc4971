"""Sentences of a study."""

import pytest

from pqchain.study.text import conclusions, text, warnings
from tests.study import plans
from tests.study.plans import plan


def test_late_blocks_are_named():
    base = plan(vote_deadline_seconds=1e-3)
    text = " ".join(conclusions(plans.found(base)))
    assert "longer than the deadline of votes, 1.00" in text
    assert "Falcon-512" in text[text.index("longer than") :]
    late = plans.found(base).values["Falcon-512"]
    assert late["vote_deadline_ratio"] == pytest.approx(late["final_seconds"] / 1e-3)
    assert "deadline of votes" not in " ".join(
        conclusions(plans.found(plan(vote_deadline_seconds=1e5)))
    )


def test_study_starts_with_attacks_on_its_schemes():
    """Each once in the whole text, although several tables name the scheme."""
    attacked = plans.found(plan(algorithms=("Falcon-512", "MAYO-2")))
    assert warnings(attacked)[0].startswith("MAYO-2 (round 2): broken. ")
    assert text(attacked).count("MAYO-2 (round 2): broken. ") == 1
    assert not any("broken" in line for line in warnings(plans.found(plan())))
