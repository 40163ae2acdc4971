"""Noise of the machine: sides of the same code, and what a comparison can find."""

import numpy as np
import pandas as pd
import pytest

from pqchain.bench import noise
from pqchain.errors import Unsupported, UsageError
from tests import frames


def runs(count: int, deviation: float) -> list[pd.DataFrame]:
    rng = np.random.default_rng(3)
    return [
        frames.run_of("m", float(np.exp(deviation * rng.standard_normal())), date=f"{minute:03}")
        for minute in range(count)
    ]


def test_quiet_machine_has_no_differences() -> None:
    found = noise.summarize(runs(2 * noise.SIDE_RUNS + 2, 0.003), 20.0)
    assert (found.runs, found.rows) == (18, 6)
    assert found.compared == 3 * 6
    assert found.differ == found.undecided == 0
    assert found.deviation == pytest.approx(0.003, rel=0.5)
    assert found.detectable_ratio == 1.02
    assert found.runs_for_resolution <= 3
    assert found.median_over_min == pytest.approx(1 / 0.95)
    assert found.largest_ratio > 1


def test_noisy_machine_finds_only_large_changes() -> None:
    found = noise.summarize(runs(2 * noise.SIDE_RUNS, 0.05), 20.0)
    assert found.detectable_ratio > 1.06
    assert found.runs_for_resolution > noise.SIDE_RUNS
    assert found.undecided > 0


def test_factor_slows_down_the_second_side() -> None:
    """This is the true change of `make bench-compare`."""
    # A steady drift cancels.
    assert noise.alternate(list(range(8))) == ([0, 3, 4, 7], [1, 2, 5, 6])
    compared = noise.compare_code(runs(8, 0.001), 1.05)
    assert set(compared["verdict"]) == {"slower"}
    assert compared["ratio"].to_numpy() == pytest.approx(1.05, rel=0.002)


def test_number_of_runs_follows_from_the_duration(monkeypatch) -> None:
    made = iter(runs(24 + 2 * noise.SIDE_RUNS, 0.003))
    monkeypatch.setattr(noise, "separate_run", lambda: next(made))
    monkeypatch.setattr(noise, "timed", lambda call: (2.5, call()))
    assert noise.measure_noise(60).runs == 24
    assert noise.measure_noise(1).runs == 2 * noise.SIDE_RUNS
    with pytest.raises(UsageError, match="seconds must be"):
        noise.measure_noise(0)


@pytest.mark.native
def test_separate_run_measures_in_a_process_or_reports_that_nothing_ran(monkeypatch) -> None:
    run = noise.separate_run()
    assert (set(run["operation"]), set(run["status"])) == ({"verify"}, {"ok"})
    assert set(run["implementation"]) <= set(noise.IMPLEMENTATIONS)
    monkeypatch.setattr(noise, "IMPLEMENTATIONS", ("falcon/rtl",))
    with pytest.raises(Unsupported, match="pqchain doctor"):
        noise.separate_run()
