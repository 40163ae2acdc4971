"""Sensitivity: closed forms of single inputs, and landscapes with known winners."""

import math

import pytest

from pqchain.errors import UnknownName, UsageError
from pqchain.study import plane, tornado
from pqchain.study.figures import models
from tests.study.plans import COSTS, plan


def rows(frame):
    """Return rows by input."""
    return {row["input"]: row for row in frame.to_dict("records")}


def test_half_the_block_interval_doubles_the_capacity():
    found = rows(tornado(plan(block_seconds=1000.0), COSTS, algorithm="ML-DSA-44"))
    row = found["block_seconds"]
    assert (row["low"], row["high"]) == pytest.approx((2 * row["base"], row["base"] / 2))
    assert "verify_seconds" not in found  # hidden by the interval, so it changes nothing
    assert "retained_days" not in found


def test_inputs_are_sorted_by_effect():
    frame = tornado(plan(block_seconds=0.0), COSTS, algorithm="ML-DSA-44")
    span = (frame[["low", "high"]].sub(frame["base"], axis=0)).abs().max(axis=1)
    assert list(span) == sorted(span, reverse=True)
    assert frame.loc[0, "input"] in ("nodes", "rate_bits_per_second")


def test_impossible_variations_are_empty():
    found = rows(tornado(plan(nodes=10, block_seconds=0.0), COSTS))
    assert math.isnan(found["nodes"]["low"])  # ten chunks need ten nodes
    assert math.isfinite(found["nodes"]["high"])


def test_other_figures_and_schemes_can_be_selected():
    frame = tornado(plan(), COSTS, algorithm="ECDSA-secp256k1", output="repair_seconds")
    found = rows(frame)
    assert found["retained_days"]["high"] == pytest.approx(2 * found["retained_days"]["base"])
    assert set(frame["unit"]) == {"s"}
    with pytest.raises(UnknownName, match="'repair_seconds'"):
        tornado(plan(), COSTS, output="repair_second")
    with pytest.raises(UnknownName, match="scheme of this study"):
        tornado(plan(), COSTS, algorithm="MAYO-2")


def test_small_signatures_win_where_keys_are_known():
    one = plan(algorithms=("Falcon-512", "MAYO-2"), block_seconds=1e4)
    found = plane(one, COSTS, across_factors=(1 / 256, 1.0), upwards_factors=(1.0,))
    assert list(found["winner"]) == ["MAYO-2", "Falcon-512"]
    assert (found["margin"] > 1).all()
    at = models(one, COSTS)["Falcon-512"]["capacity_per_second"]
    assert found["capacity_per_second"].iloc[1] == at


def test_classical_schemes_never_win():
    one = plan(algorithms=("ECDSA-secp256k1", "ML-DSA-44"))
    found = plane(one, COSTS, across_factors=(1.0,), upwards_factors=(1.0,))
    assert list(found["winner"]) == ["ML-DSA-44"]
    assert math.isnan(found["margin"].iloc[0])
    with pytest.raises(UsageError, match="must include a post-quantum scheme"):
        plane(plan(algorithms=("ECDSA-secp256k1",)), COSTS)


def test_no_winner_where_no_scheme_fits():
    one = plan(algorithms=("SPHINCS+-SHA2-128s-simple",), block_bytes=5_000)
    found = plane(one, COSTS, across_factors=(1.0,), upwards_factors=(1.0,))
    assert list(found["winner"]) == [""]
