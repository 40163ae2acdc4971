"""Comparison of runs: ratios, intervals, names, histories."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pqchain as pq
from pqchain import results
from pqchain.bench import comparing, operations, tables
from pqchain.bench.operations import SAMPLES
from pqchain.errors import DataError, UsageError
from tests import frames


def machine(name: str, factor: float = 1.0, **about: object) -> pd.DataFrame:
    """Return measurements of a machine slower by a factor."""
    frame = frames.measurements(["Falcon-512"])
    seconds = [column for column in frame.columns if column.endswith("_seconds")]
    frame[[*seconds, "median_cycles"]] *= factor
    frame.attrs["provenance"] = {**frames.PROVENANCE, "machine_id": name, "rounds": 3, **about}
    return frame


def with_samples(frame: pd.DataFrame, seed: int, *, drift: float = 0.0) -> pd.DataFrame:
    """Add samples of three rounds around the medians; a whole round may be slower."""
    rng = np.random.default_rng(seed)
    parts = []
    for row in frame.to_dict("records"):
        for number in range(3):
            middle = row["median_seconds"] * (1 + drift * (number - 1))
            seconds = middle * (1 + 0.02 * rng.standard_normal(41))
            about = {key: row[key] for key in ("algorithm", "implementation", "operation")}
            parts.append(
                pd.DataFrame(
                    {**about, "index": range(41), "warmup": np.arange(41) == 0,
                     "seconds": seconds, "cycles": seconds * 3e9}
                )
            )  # fmt: skip
    frame.attrs["samples"] = results.check(pd.concat(parts, ignore_index=True), SAMPLES)
    return frame


def test_only_separated_intervals_are_a_difference() -> None:
    base = with_samples(machine("a"), 1)
    for factor, verdict in ((1.0, "no difference"), (1.1, "slower"), (0.9, "faster")):
        compared = pq.bench.compare_runs([base, with_samples(machine("b", factor), 2)])
        assert set(compared["verdict"]) == {verdict}
        assert set(compared["interval"]) == {"bootstrap"}
        assert compared["ratio"].to_numpy() == pytest.approx(factor)
        assert compared["cycles_ratio"].to_numpy() == pytest.approx(factor)
        assert (compared["low"] < compared["ratio"] * 1.01).all()
    assert (compared[["base", "run"]] == ["a", "b"]).all().all()


def test_rounds_that_drift_widen_the_interval() -> None:
    """Samples of one round are not independent; a bootstrap of single samples would miss it."""
    widths = [
        (lambda row: row["high"] - row["low"])(
            pq.bench.compare_runs(
                [with_samples(machine("a"), 1, drift=drift), with_samples(machine("b", 1.03), 2)]
            ).iloc[0]
        )
        for drift in (0.0, 0.2)
    ]
    assert widths[1] > 5 * widths[0]


def test_spread_without_samples_comes_from_the_mad() -> None:
    compared = pq.bench.compare_runs(machine("a"), machine("b", 1.01))
    assert set(compared["interval"]) == {"MAD"}
    assert set(compared["verdict"]) == {"no difference"}
    spread = math.log(compared.loc[0, "high"] / compared.loc[0, "ratio"]) / 1.96
    expected = 1.2533 * 1.4826 * 0.02 / 3**0.5 * 2**0.5
    assert spread == pytest.approx(expected)
    assert set(pq.bench.compare_runs(machine("a"), machine("b", 2))["verdict"]) == {"slower"}


def test_missing_operation_is_a_row_with_a_note() -> None:
    less = machine("b").query("operation == 'verify'")
    less.attrs = machine("b").attrs
    compared = pq.bench.compare_runs(machine("a"), less)
    rows = compared[compared["operation"] == "sign"]
    assert (rows["reason"] == "not measured in this run").all()
    assert rows["ratio"].isna().all()
    assert "not measured in this run" in tables.compared_table(compared).text()
    text = tables.compared_table(compared).latex()
    assert text.isascii()


def test_runs_are_named_by_machine_or_file(tmp_path: Path) -> None:
    for name, frame in (("a", machine("m1")), ("b", machine("m1")), ("c", machine("m2"))):
        results.save(frame, tmp_path / f"{name}.csv")
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    assert list(comparing.named_runs(files)) == ["a", "b", "m2"]
    assert list(comparing.named_runs([machine("m"), machine("m")])) == ["m", "m (2)"]
    compared = pq.bench.compare_runs(files)
    assert compared["run"].unique().tolist() == ["b", "m2"]
    assert compared.attrs["runs"]["m2"]["cpu_model"] == "Imaginary 9000"


def test_samples_beside_a_file_are_found(tmp_path: Path) -> None:
    for seed, name in enumerate("ab"):
        frame = with_samples(machine(name), seed)
        results.save(frame.attrs.pop("samples"), tmp_path / f"{name}-samples.csv", provenance={})
        results.save(frame, tmp_path / f"{name}.csv")
    compared = pq.bench.compare_runs([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert set(compared["interval"]) == {"bootstrap"}


def test_history_has_every_added_run(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    for day in (1, 2, 3):
        whole = comparing.append(machine("m", day, date=f"2026-11-0{day}", commit="abc"), path)
    assert whole["date"].nunique() == 3
    together = pq.bench.concat_runs([path])
    assert together["run"].unique().tolist() == ["2026-11-01", "2026-11-02", "2026-11-03"]
    axes = pq.plots.plot_history(together)
    line = axes.get_lines()[0]
    assert list(line.get_xdata()) == [0, 1, 2]
    assert list(line.get_ydata()) == pytest.approx([0.0073, 0.0146, 0.0219])
    results.save(machine("m"), tmp_path / "other.csv")
    with pytest.raises(DataError, match="must be a history"):
        comparing.append(machine("m"), tmp_path / "other.csv")


@pytest.mark.parametrize(("preset", "rounds"), [("quick", 3), ("paper", 5)])
def test_intervals_of_a_history_count_the_rounds_of_its_preset(
    preset: str, rounds: int, tmp_path: Path
) -> None:
    path = tmp_path / "history.csv"
    for day in (1, 2):
        comparing.append(machine("m", date=f"2026-11-0{day}", preset=preset), path)
    row = pq.bench.compare_runs([path]).iloc[0]
    expected = 1.2533 * 1.4826 * 0.02 / rounds**0.5 * 2**0.5
    assert math.log(row["high"] / row["ratio"]) / 1.96 == pytest.approx(expected)


def test_machines_have_distinct_styles() -> None:
    both = pq.bench.concat_runs({"laptop": machine("a"), "board": machine("b", 9)})
    labels = [label.get_text() for label in pq.plots.plot_speed(both).get_yticklabels()]
    assert labels == ["Falcon-512: laptop", "Falcon-512: board"]
    colours = {
        str(line.get_label()): line.get_color() for line in pq.plots.plot_tradeoff(both).lines
    }
    assert colours["laptop"] != colours["board"]
    mixed = pd.concat([machine("a"), machine("b")], ignore_index=True)
    with pytest.raises(DataError, match=r"got two of .*pqchain\.bench\.concat_runs"):
        pq.plots.plot_speed(mixed)
    with pytest.raises(DataError, match="got two of"):
        pq.plots.plot_tradeoff(mixed)


@pytest.mark.parametrize(("given", "message"), [([], "got 0"), ([frames.blocks()], "measurement")])
def test_incomparable_runs_are_rejected(given: list[pd.DataFrame], message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        pq.bench.compare_runs(given)


def test_quartiles_are_those_of_the_counted_samples() -> None:
    samples = with_samples(machine("a"), 1).attrs["samples"]
    result = operations.quartiles(samples)
    one = samples[
        (samples["operation"] == "sign")
        & (samples["implementation"] == result.loc[1, "implementation"])
        & ~samples["warmup"]
    ]
    row = result[
        (result["operation"] == "sign")
        & (result["implementation"] == result.loc[1, "implementation"])
    ].iloc[0]
    expected = np.quantile(one["cycles"], (0.25, 0.5, 0.75))
    assert row[["q1_cycles", "median_cycles", "q3_cycles"]].tolist() == pytest.approx(expected)
    assert "25 %" in tables.quartile_table(result).text()
