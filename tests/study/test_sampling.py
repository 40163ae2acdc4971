"""Passes of measurement, draws, and intervals."""

import itertools
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from pqchain.costs import CostTable
from pqchain.study import load, run, sampling, times
from pqchain.study.sampling import CostSamples
from pqchain.study.text import conclusions, warnings
from tests import frames
from tests.study.plans import COSTS, found, plan

WORLD = {"law": "gossip", "world": True}


def measured_rounds(names, operations, implementations, *, rounds, **named):
    """Return a measurement with its rounds, each slower than the one before."""
    frames = []
    for slow in range(1, rounds + 1):
        rows = [
            {
                "algorithm": name, "implementation": "liboqs-0.13/avx2", "operation": operation,
                "median_seconds": 1e-4 * slow, "mad_seconds": 1e-5 * slow, "status": "ok",
                "reason": "",
            }
            for name in implementations for operation in operations
        ]  # fmt: skip
        frames.append(pd.DataFrame(rows))
        frames[-1].attrs["provenance"] = {"date": "2026-11-29T00:00:00+00:00"}
    frame = pd.DataFrame()
    frame.attrs["rounds"] = frames
    return frame


def ends(answer, algorithm, name):
    figure = answer.figures[algorithm][name]
    return figure.low, figure.high


def slower(by: float, algorithm: str = "") -> CostTable:
    """Return costs with slower verification of all schemes or of one."""
    rows = tuple(
        replace(row, verify_seconds=by * row.verify_seconds)
        if algorithm in ("", row.algorithm)
        else row
        for row in COSTS.rows
    )
    return CostTable(rows, COSTS.source)


def test_ratios_are_taken_within_a_pass():
    passes = CostSamples((COSTS, slower(3.0), slower(1.7)))
    answer = run(plan(), passes, draws=6)
    low, high = ends(answer, "ML-DSA-44", "verification_ratio")
    assert low == pytest.approx(high)
    low, high = ends(answer, "ML-DSA-44", "verify_seconds")
    assert high > 2 * low


def test_each_seed_draws_a_new_network():
    one = plan(**WORLD, nodes=64, delegates=16, vote_phases=1)
    answer = found(one, draws=8)
    low, high = ends(answer, "Falcon-512", "final_seconds")
    assert low < answer.values["Falcon-512"]["final_seconds"] < high
    assert ends(answer, "Falcon-512", "verify_seconds")[0] == COSTS["Falcon-512"].verify_seconds
    alone = found(one, draws=1)
    assert (
        ends(alone, "Falcon-512", "final_seconds")[0] == alone.values["Falcon-512"]["final_seconds"]
    )


def test_overlapping_intervals_are_no_difference():
    passes = CostSamples((COSTS, slower(1.5, "ML-DSA-44"), slower(0.9, "ML-DSA-44")))
    answer = run(plan(algorithms=("ML-DSA-44",)), passes, draws=6)
    assert ends(answer, "ML-DSA-44", "verification_ratio")[0] < 1.0
    near = run(
        plan(algorithms=("ML-DSA-44",)),
        CostSamples((slower(1.2, "ML-DSA-44"), slower(1.5, "ML-DSA-44"))), draws=4,
    )  # fmt: skip
    said = " ".join(conclusions(near))
    assert "no difference in verification" in said
    assert not near.differ("transaction_bytes", "ML-DSA-44", "ML-DSA-44")
    assert near.differ("transaction_bytes", "ML-DSA-44", "ECDSA-secp256k1")


def test_differences_between_passes_are_reported_first():
    twice = CostSamples((COSTS, slower(2.0, "ML-DSA-44")))
    told = twice.unsteady()
    assert told == ["times vary between passes: verify of ML-DSA-44 67%"]
    answer = run(plan(), replace(twice, warnings=tuple(told)), draws=2)
    assert warnings(answer)[0].startswith("Warning: times vary between passes: verify of ML-DSA")
    assert CostSamples((COSTS,)).unsteady() == []


def test_busy_machine_is_reported_before_the_numbers(monkeypatch):
    monkeypatch.setattr(sampling.machine, "load_share", lambda: 0.9)
    monkeypatch.setattr(sampling.operations, "measure", measured_rounds)
    busy = "the machine was busy before the measurement: 90% of its processors"
    assert times(plan(algorithms=("ML-DSA-44",))).warnings[0] == busy
    monkeypatch.setattr(sampling.machine, "load_share", lambda: 0.1)
    assert busy not in times(plan(algorithms=("ML-DSA-44",))).warnings


def test_single_pass_uses_the_spread_of_its_samples():
    rows = [
        {
            "algorithm": name, "implementation": "liboqs-0.13/avx2", "operation": operation,
            "median_seconds": 1e-4, "mad_seconds": mad, "status": "ok", "reason": "",
        }
        for name in ("ML-DSA-44", "ECDSA-secp256k1", "Falcon-512")
        for operation, mad in (("generate_keypair", 0.0), ("sign", 0.0), ("verify", 1e-5))
    ]  # fmt: skip
    one = times(plan(), pd.DataFrame(rows))
    drawn = [one.drawn(number)["ML-DSA-44"] for number in range(200)]
    assert {row.sign_seconds for row in drawn} == {1e-4}
    spread = np.std(np.log([row.verify_seconds for row in drawn]))
    assert spread == pytest.approx(0.148, rel=0.2)
    assert one.drawn(7) == one.drawn(7)


@pytest.mark.long
def test_larger_networks_do_not_finalize_faster():
    spans = []
    for nodes in (4096, 7000, 8192, 9000, 16384):
        chain = load("ethereum").with_(nodes=nodes, algorithms=("Falcon-512",))
        spans.append(ends(found(chain, draws=16), "Falcon-512", "final_seconds"))
    for (low, high), (least, most) in itertools.pairwise(spans):
        assert least <= high and low <= most
    assert spans[-1][1] > spans[0][0]  # gossip takes a logarithm of the nodes


def test_passes_measure_every_scheme_and_keep_the_spread_of_samples(monkeypatch):
    asked = []

    def measure(names, operations, implementations, **named):
        asked.append(list(implementations))
        return measured_rounds(names, operations, implementations, **named)

    monkeypatch.setattr(sampling.operations, "measure", measure)
    got = times(plan(algorithms=("ML-DSA-44",)))
    assert asked == [["ECDSA-secp256k1", "ML-DSA-44"]]
    assert [each["ML-DSA-44"].verify_seconds for each in got.passes] == [
        pytest.approx(slow * 1e-4) for slow in (1, 2, 3)
    ]
    assert {name: round(spread, 5) for _, name, spread in got.spread} == {
        "generate_keypair_seconds": 0.14826, "sign_seconds": 0.14826, "verify_seconds": 0.14826,
        "decode_key_seconds": 0.14826,
    }  # fmt: skip
    assert got.middle["ML-DSA-44"].sign_seconds == pytest.approx(2e-4)


def test_age_of_a_measurement_is_stated():
    day = datetime.now(timezone.utc) - timedelta(days=3, hours=1)
    kept = CostSamples((COSTS,), date=day.isoformat())
    assert kept.origin == f"{COSTS.source}, 3 days ago on this machine; --fresh measures again"
    assert "today" in replace(kept, date=datetime.now(timezone.utc).isoformat()).origin
    assert CostSamples((COSTS,)).origin == COSTS.source


def test_slowdown_widens_times_and_not_ratios():
    still, busy = CostSamples((COSTS,)), CostSamples((COSTS,), drift=1.5)
    assert still.drawn(3) == COSTS
    drawn = [busy.drawn(number) for number in range(200)]
    own = COSTS["ML-DSA-44"].verify_seconds
    times = [each["ML-DSA-44"].verify_seconds / own for each in drawn]
    assert min(times) == pytest.approx(1 / 1.5, rel=0.02)
    assert max(times) == pytest.approx(1.5, rel=0.02)
    ratio = COSTS["Falcon-512"].verify_seconds / own
    assert all(
        each["Falcon-512"].verify_seconds / each["ML-DSA-44"].verify_seconds == pytest.approx(ratio)
        for each in drawn
    )


def test_slowdown_is_read_from_verifications():
    frame = frames.measurements(["ECDSA-secp256k1", "Falcon-512", "ML-DSA-44"])
    frame["min_seconds"] = frame["median_seconds"] / 1.3
    # Signing may restart: the fastest sample had fewer attempts.
    frame.loc[frame["operation"] == "sign", "min_seconds"] /= 10
    found = times(plan(), frame)
    assert found.drift == pytest.approx(1.3)
