"""The model compared with the chains of today."""

import math

import pytest

from pqchain.study import READY, load
from pqchain.study.inputs import Observation
from pqchain.study.sampling import Times, known
from pqchain.study.text import text
from pqchain.study.validation import EXPECTED, FAR, calibrate, large_errors
from tests.study.plans import COSTS, found, plan

ERRORS = {
    "pqdpol": [("final_seconds", -0.029), ("capacity_per_second", 0.031)],
    "ethereum": [
        ("sustained_per_second", -0.018), ("full_block_bytes", -0.130),
        ("consensus_bytes_per_block", -0.116), ("rule_seconds", 0.069),
    ],
    "ethereum-glamsterdam": [],
    "ethereum-lean": [],
    "bitcoin": [("capacity_per_second", -0.055), ("capacity_per_second", -0.255)],
    "solana": [("sustained_per_second", 1.016), ("rule_seconds", 0.018)],
    "algorand": [("transactions_per_block", 0.018), ("capacity_per_second", 0.103)],
}  # fmt: skip
"""Model over observation, less 1: what the closing note states. Nothing is fitted to make them."""


@pytest.mark.parametrize("name", READY)
def test_validation_rows_equal_the_closing_note(name):
    base = load(name)
    frame = calibrate(base, (known(base) or Times((COSTS,))).middle)
    seen = frame[frame["observed"].notna()]
    got = list(zip(seen["quantity"], seen["error"].round(3), strict=True))
    assert [quantity for quantity, _ in got] == [quantity for quantity, _ in ERRORS[name]]
    for (_, error), (_, expected) in zip(got, ERRORS[name], strict=True):
        assert error == pytest.approx(expected, abs=0.004)
    assert (seen["source"] != "").all() and (seen["date"] != "").all()
    # Quantities without a citation are rows as well.
    unseen = frame[frame["observed"].isna()]
    assert set(unseen["quantity"]) <= set(EXPECTED)
    assert (unseen["source"] == "no cited observation").all()
    told = large_errors(frame)
    assert len(told) == (sum(abs(error) > FAR for _, error in got) if got else 1)


def test_large_errors_precede_the_numbers():
    seen = Observation("capacity_per_second", "", 1e-3, "me", "2026", {})
    answer = found(plan(observed=(seen,)))
    said = text(answer)
    assert (
        0
        < said.index("Calibration: the model's capacity per second with ECDSA")
        < said.index("figure  ")
    )
    assert "Not calibrated" in text(found(plan()))


def test_observations_use_the_chain_of_their_date():
    then = Observation("capacity_per_second", "", 1.0, "me", "2026", {"block_seconds": 50.0})
    now = then._replace(settings={})
    frame = calibrate(plan(observed=(then, now)), COSTS)
    assert frame["model"][1] == pytest.approx(10 * frame["model"][0])
    assert frame["settings"].tolist()[:2] == ["block_seconds=50", ""]
    assert math.isnan(frame["error"][2])
