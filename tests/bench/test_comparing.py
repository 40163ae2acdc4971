"""Comparison of sides: verdicts, their error rates, and runs that allow none."""

import math

import numpy as np
import pandas as pd
import pytest

import pqchain as pq
from pqchain.bench import comparing, tables
from pqchain.errors import DataError, UsageError
from tests import frames
from tests.frames import run_of


def side(*factors: float, machine: str = "m") -> list[pd.DataFrame]:
    """Return runs with given factors of all times; those of two sides alternate."""
    return [
        run_of(machine, factor, date=f"2026-11-22T10:{minute:02}:00+00:00")
        for minute, factor in enumerate(factors)
    ]


def verdicts(before: list[pd.DataFrame], after: list[pd.DataFrame]) -> set[str]:
    return set(pq.bench.compare_runs({"before": before, "after": after})["verdict"])


def draw(rng: np.random.Generator, count: int, deviation: float, ratio: float = 1.0) -> list[float]:
    return list(ratio * np.exp(deviation * rng.standard_normal(count)))


QUIET = (0.99, 1.0, 1.01)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, "no difference"), (1.1, "slower"), (0.9, "faster"), (1.03, "slower"),
        # Below the floor: two builds of the same code differ by some percent.
        (1.01, "no difference"),
    ],
)  # fmt: skip
def test_verdict_of_alternating_runs(factor: float, verdict: str) -> None:
    quiet = (0.9999, 1.0, 1.0001)
    after = side(*(factor * value for value in quiet))
    compared = pq.bench.compare_runs({"before": side(*quiet), "after": after})
    assert set(compared["verdict"]) == {verdict}
    assert compared["ratio"].to_numpy() == pytest.approx(factor)
    assert compared["cycles_ratio"].to_numpy() == pytest.approx(factor)
    assert (compared["low"] < factor).all()
    assert (compared["high"] > factor).all()
    assert set(compared["runs"]) == set(compared["base_runs"]) == {3}
    assert set(compared["more_runs"]) == {0}
    assert (compared["p_value"] < 0.05).all() == (factor != 1)


def test_interval_is_that_of_welch() -> None:
    """The example has unequal variances; expected values follow from the textbook formulas."""
    before, after = [1.0, 1.02, 1.04], [1.1, 1.3, 1.2]
    compared = pq.bench.compare_runs({"before": side(*before), "after": side(*after)})
    logs = [np.log(before), np.log(after)]
    parts = [values.var(ddof=1) / 3 for values in logs]
    freedom = sum(parts) ** 2 / sum(part**2 / 2 for part in parts)
    assert math.floor(freedom) == 2
    half_width = 4.303 * math.sqrt(sum(parts))
    row = compared.iloc[0]
    assert math.log(row["ratio"]) == pytest.approx(logs[1].mean() - logs[0].mean())
    assert math.log(row["high"] / row["ratio"]) == pytest.approx(half_width, rel=1e-3)


def test_single_runs_have_a_ratio_but_no_verdict() -> None:
    """The scatter within one run says nothing about the next run."""
    compared = pq.bench.compare_runs(side(1.0)[0], side(2.0)[0])
    assert set(compared["verdict"]) == {""}
    assert compared["ratio"].to_numpy() == pytest.approx(2.0)
    assert compared[["low", "high", "p_value", "more_runs"]].isna().all(axis=None)
    assert compared["reason"].str.startswith("single run").all()
    assert "single run" in tables.compared_table(compared).text()
    # One side with several runs does not help.
    assert verdicts(side(1.0, 1.0, 1.0), side(2.0)) == {""}


def test_runs_that_do_not_alternate_have_no_verdict() -> None:
    """On one machine the time between the sides would look like a change of the code."""
    six = side(1.0, 1.001, 0.999, 2.0, 2.001, 1.999)
    compared = pq.bench.compare_runs({"before": six[:3], "after": six[3:]})
    assert set(compared["verdict"]) == {""}
    assert compared["reason"].str.contains("do not alternate").all()
    before, after = [six[0], six[2], six[4]], [six[1], six[3], six[5]]
    assert verdicts(before, after) != {""}
    # Two machines may be measured at any time.
    elsewhere = [run_of("server", value) for value in (2.0, 2.001, 1.999)]
    assert verdicts(six[:3], elsewhere) == {"slower"}


def test_wide_interval_is_undecided_and_asks_for_runs() -> None:
    noisy = (0.95, 1.0, 1.05)
    compared = pq.bench.compare_runs({"before": side(*noisy), "after": side(*noisy)})
    assert set(compared["verdict"]) == {"undecided"}
    assert (compared["more_runs"] == comparing.FEW_RUNS).all()
    assert "undecided: about 5 more runs of each side" in tables.compared_table(compared).text()
    assert "quieter" not in compared["reason"].iloc[0]
    noise = (0.5, 1.0, 2.0)
    hopeless = pq.bench.compare_runs({"before": side(*noise), "after": side(*noise)})
    assert hopeless["reason"].str.endswith("or a quieter machine").all()


def test_number_of_rows_is_corrected() -> None:
    """A change that is significant alone is not among many rows: one of twenty is by chance."""
    before, after = side(1.0, 1.01, 1.02), side(1.03, 1.045, 1.06)
    one = (
        [run.query("operation == 'verify'") for run in before],
        [run.query("operation == 'verify'") for run in after],
    )
    alone = pq.bench.compare_runs({"before": one[0], "after": one[1]})
    many = pq.bench.compare_runs({"before": before, "after": after})
    rows = len(many)
    assert many["p_value"].max() == pytest.approx(
        min(1.0, rows * alone["p_value"].iloc[0] / len(alone))
    )
    assert rows > len(alone)


@pytest.mark.parametrize(("deviation", "count"), [(0.005, 3), (0.016, 8), (0.03, 20)])
def test_error_rates_for_the_asked_runs(deviation: float, count: int) -> None:
    """Same code: at most 7 % of rows differ. A change of 5 %: at least 80 % are found."""
    rng = np.random.default_rng(5)
    counts = dict.fromkeys((1.0, 1.05), 0)
    trials = 400
    for ratio in [*counts] * trials:
        logs = [np.log(draw(rng, count, deviation, factor)) for factor in (1.0, ratio)]
        change = comparing._change(*logs)
        verdict = comparing._judge(change, change.p_value, 1)["verdict"]
        counts[ratio] += verdict == "slower" or (ratio == 1.0 and verdict == "faster")
    assert counts[1.0] <= 0.07 * trials
    assert counts[1.05] >= 0.8 * trials


def test_slow_runs_hide_no_change() -> None:
    """One run of eight, a third slower by other programs, would widen an untrimmed interval."""
    quiet = (0.995, 0.997, 0.999, 1.0, 1.001, 1.003, 1.005)
    before = side(*quiet, 1.33)
    assert verdicts(before, side(*(1.05 * value for value in quiet), 1.4)) == {"slower"}
    assert verdicts(before, side(*quiet, 1.4)) == {"no difference"}


def test_missing_operation_is_a_row_with_a_note() -> None:
    less = [run.query("operation == 'verify'") for run in side(*QUIET)]
    compared = pq.bench.compare_runs({"a": side(*QUIET), "b": less})
    rows = compared[compared["operation"] == "sign"]
    assert (rows["reason"] == "not measured in this side").all()
    assert rows["ratio"].isna().all()
    assert (rows["verdict"] == "").all()
    # Such rows would bury the others.
    text = tables.compared_table(compared).text()
    assert f"{len(compared) - len(compared.query('runs > 0'))} rows are of one side only" in text
    assert "  sign  " not in text and "  verify  " in text
    assert tables.compared_table(compared).latex().isascii()
    given = [run.assign(samples=0) for run in side(*QUIET)]
    compared = pq.bench.compare_runs({"a": side(*QUIET), "b": given})
    assert (compared["reason"] == "a given number, not a measurement").all()
    assert (compared["verdict"] == "").all()
    for nothing in (0.0, math.inf):
        none = [run.assign(median_seconds=nothing) for run in side(*QUIET)]
        compared = pq.bench.compare_runs({"a": side(*QUIET), "b": none})
        assert (compared["reason"] == "not measured in this side").all()


def test_sides_have_their_provenance() -> None:
    compared = pq.bench.compare_runs({"a": side(1.0, 1.01), "b": [run_of("n"), run_of("n")]})
    provenance = compared.attrs["runs"]
    assert provenance["a"]["date"] == "2026-11-22T10:00:00+00:00 to 2026-11-22T10:01:00+00:00"
    assert provenance["b"]["cpu_model"] == "Imaginary 9000"
    assert provenance["a"]["runs"] == 2
    assert provenance["a"]["median_over_min"] == pytest.approx(1 / 0.95, abs=1e-3)


@pytest.mark.parametrize(("given", "message"), [([], "got 0"), ([frames.blocks()], "measurement")])
def test_incomparable_runs_are_rejected(given: list[pd.DataFrame], message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        pq.bench.compare_runs(given)
