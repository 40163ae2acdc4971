"""Plots of times: values and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

from pqchain import algorithms, plots
from pqchain.errors import DataError, UsageError
from pqchain.figures import NARROW_SPACE
from pqchain.plots.marks import OPERATION_MARKS
from pqchain.works.falcon_hls.work import table3
from tests import frames
from tests.plots.common import SCHEMES, caption, legend_texts, marked_points, notes, row_heights


def operation_frame() -> pd.DataFrame:
    rows = [
        {
            "algorithm": name,
            "variant": variant,
            "quantity": "sign_seconds",
            "printed": 1e-3,
            "ours": 9e-4,
            "verdict": "ok",
            "note": "other code" if name == SCHEMES[0] else "",
        }
        for name in SCHEMES
        for variant in ("ref", "avx2")
    ]
    return pd.DataFrame(rows)


def accelerator_frame() -> pd.DataFrame:
    kinds = ("published", "cited", "estimated", "modelled")
    rows = [
        {
            "algorithm": "Falcon-512",
            "implementation": f"M4 + engine, pipelined, row {row}",
            "kind": kind,
            "ours": 0.02 + row / 100,
        }
        for row, kind in enumerate(kinds)
    ]
    return pd.DataFrame(rows)


SAMPLES = {
    "speed": lambda: plots.plot_speed(frames.measurements([*SCHEMES[:3], "Kyber512"])),
    "ratio": lambda: plots.plot_ratio(frames.times().head(9)),
    "speedup": lambda: plots.plot_speedup(frames.measurements(SCHEMES[:3])),
    "operation": lambda: plots.plot_operation(operation_frame(), "sign"),
    "accelerator": lambda: plots.plot_accelerator(accelerator_frame()),
    "values": lambda: plots.plot_values(
        frames.measurements(SCHEMES), "median_seconds", hue="operation", is_log=True
    ),
}
"""Samples by kind of plot; `test_paper.py` draws them at a width of 3.5 inches."""


def test_speed_plots_the_fastest_implementation_in_its_row() -> None:
    """Values are seconds; the colour is the family's and the mark the operation's."""
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured)
    assert axes.get_xscale() == "log"
    assert list(row_heights(axes)) == ["Dilithium2", "Falcon-512"]
    assert axes.yaxis_inverted()
    points = marked_points(axes)
    assert set(points) == {"generate key pair", "sign", "verify"}
    height = row_heights(axes)["Falcon-512"]
    assert points["sign"][height] == pytest.approx(310e-6)
    assert "fastest implementation" in notes(axes)
    falcon = plots.mark_of("Falcon-512").colour
    drawn = [line for line in axes.get_lines() if height in np.round(line.get_ydata(), 6)]
    assert drawn and all(same_color(line.get_color(), falcon) for line in drawn)


def test_speed_plots_the_fastest_implementation_of_an_operation() -> None:
    """Signing may be fastest in one implementation and verification in another."""
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    slower = measured["implementation"] == measured["implementation"].iloc[0]
    verification = measured["operation"] == "verify"
    measured.loc[slower & verification, "median_seconds"] *= 100
    axes = plots.plot_speed(measured)
    height = row_heights(axes)["Falcon-512"]
    rows = measured[measured["algorithm"] == "Falcon-512"].groupby("operation")["median_seconds"]
    for operation in ("sign", "verify"):
        points = marked_points(axes)[operation]
        nearest = min(points, key=lambda level: abs(level - height))
        assert points[nearest] == pytest.approx(rows.min()[operation])
    assert rows.min()["verify"] < rows.max()["verify"] / 10


def test_operations_differ_by_mark() -> None:
    """Colour is the family's, so operations must be distinguishable without it."""
    assert set(OPERATION_MARKS) == {*algorithms.OPERATIONS, algorithms.DECODE_KEY}
    signature = (*algorithms.SIGNATURE_OPERATIONS, algorithms.DECODE_KEY)
    for kind in (signature, algorithms.KEM_OPERATIONS):
        assert len({OPERATION_MARKS[operation] for operation in kind}) == len(kind)
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Kyber512"]))
    assert legend_texts(axes) == [
        "generate key pair",
        "sign or encapsulate",
        "verify or decapsulate",
    ]


def test_unsupported_scheme_keeps_its_row() -> None:
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Hawk-512"]))
    assert list(row_heights(axes)) == ["Falcon-512", "Hawk-512"]
    assert [text.get_text() for text in axes.texts] == ["not measured here"]


def test_ratio_is_drawn_around_one_and_names_the_published_implementation() -> None:
    """The reference line is at 1, inside the axis."""
    compared = frames.times().assign(variant="ref")
    axes = plots.plot_ratio(compared)
    assert axes.get_xscale() == "log"
    assert "Kyber512 (ref)" in row_heights(axes)
    assert [1.0, 1.0] in [list(line.get_xdata()) for line in axes.get_lines()]
    low, high = axes.get_xlim()
    assert low < 0.8 < 1 < high
    height = round(row_heights(axes)["Dilithium2 (ref)"] + 0.26, 6)
    assert marked_points(axes)["verify"][height] == pytest.approx(0.8)
    row = compared[compared["algorithm"] == "Dilithium2"].iloc[0].to_dict()
    ends = [(row["ours"] + sign * row["deviation"]) / row["printed"] for sign in (-1, 1)]
    drawn = [line[:, 0] for lines in axes.collections for line in lines.get_segments()]
    assert any(line == pytest.approx(ends) for line in drawn)


def test_speedup_divides_portable_c_by_avx2() -> None:
    """Only algorithms with both rows appear."""
    measured = frames.measurements(["Falcon-512", "Ed25519", "Hawk-512"])
    paired = plots.speedups(measured)
    assert set(paired["algorithm"]) == {"Falcon-512"}
    assert list(paired.columns) == [
        "algorithm",
        "operation",
        "library",
        "ref_seconds",
        "avx2_seconds",
        "speedup",
        "low",
        "high",
    ]
    # The synthetic deviations are 2 % of the medians.
    assert (paired["low"] / paired["speedup"]).to_numpy() == pytest.approx(0.98 / 1.02)
    assert (paired["high"] / paired["speedup"]).to_numpy() == pytest.approx(1.02 / 0.98)
    axes = plots.plot_speedup(measured)
    assert list(row_heights(axes)) == ["Falcon-512"]
    assert marked_points(axes)["sign"][0.0] == pytest.approx(paired["speedup"].iloc[0])


def test_own_avx2_code_is_compared_with_the_other_librarys_portable_code() -> None:
    # The AVX2 build of liboqs has portable code only for Rainbow.
    rows = [("liboqs-0.7.1/ref", 2e-3), ("liboqs-0.7.1/avx2", 3e-3), ("rainbow/avx2", 1e-5)]
    frame = pd.DataFrame(
        {
            "algorithm": "Rainbow-I-Classic",
            "operation": "verify",
            "status": "ok",
            "implementation": [name for name, _ in rows],
            "median_seconds": [seconds for _, seconds in rows],
        }
    )
    (pair,) = plots.speedups(frame).to_dict("records")
    assert pair["library"] == "rainbow"
    assert pair["speedup"] == pytest.approx(200)


def test_speedups_of_failed_measurements_are_empty() -> None:
    """An install without native code measures nothing, and the report calls it anyway."""
    assert plots.speedups(frames.measurements(["Hawk-512"])).empty


def test_speedup_without_a_pair_is_rejected() -> None:
    with pytest.raises(UsageError, match="Measure both implementations"):
        plots.plot_speedup(frames.measurements(["Ed25519"]))


@pytest.mark.parametrize("draw", [plots.plot_speed, plots.plot_speedup])
def test_missing_columns_are_named(draw) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match="median_seconds"):
        draw(frames.measurements().drop(columns="median_seconds"))


def test_empty_frame_is_rejected() -> None:
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_speed(frames.measurements().iloc[:0])


def test_values_have_intervals_numbers_and_the_families_marks() -> None:
    frame = pd.DataFrame(
        {
            "algorithm": ["Falcon-512", "ML-DSA-44"],
            "verify_seconds": [2e-5, 4e-5],
            "low": [1e-5, 3e-5],
            "high": [3e-5, 5e-5],
        }
    )
    axes = plots.plot_values(frame, "verify_seconds", low="low", high="high")
    texts = [text.get_text().replace(NARROW_SPACE, " ") for text in axes.texts]
    assert texts == ["20.0 µs", "40.0 µs"]
    whiskers = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    assert whiskers == [[1e-5, 3e-5], [3e-5, 5e-5]]
    marks = [line.get_marker() for line in axes.get_lines()]
    assert marks == [plots.mark_of(name).marker for name in frame["algorithm"]]
    assert caption(axes) == "Time to verify: from 20.0 µs with Falcon-512 to 40.0 µs with ML-DSA-44"
    with pytest.raises(DataError, match="missing"):
        plots.plot_values(frame, "missing")


def test_unknown_operation_is_rejected() -> None:
    frame = frames.measurements(["Falcon-512"])
    frame["operation"] = frame["operation"].replace("sign", "sagn")
    with pytest.raises(DataError, match=r"operation must be one of .*; got 'sagn'"):
        plots.plot_speed(frame)


def test_implementations_have_a_colour_each() -> None:
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured, hue="implementation")
    assert legend_texts(axes)[:2] == ["liboqs-0.13/avx2", "liboqs-0.13/ref"]
    lines = [line for line in axes.get_lines() if line.get_label() == "sign"]
    assert len({line.get_color() for line in lines}) == 2
    with pytest.raises(DataError, match="machine"):
        plots.plot_speed(measured, hue="machine")


def test_speed_has_whiskers_from_minimum_to_p95() -> None:
    """One whisker per dot, around the dot."""
    measured = frames.measurements(["Ed25519"])
    axes = plots.plot_speed(measured, hue="implementation")
    ends = [whisker.get_segments()[0][:, 0] for whisker in axes.collections]
    expected = measured[["min_seconds", "p95_seconds"]].to_numpy()
    assert np.sort(ends, axis=0) == pytest.approx(np.sort(expected, axis=0))


def test_accelerator_has_a_point_per_time_in_rows_of_kinds() -> None:
    table = table3()
    axes = plots.plot_accelerator(table)
    drawn = [float(line.get_xdata()[0]) for line in axes.get_lines()]
    assert sorted(drawn) == pytest.approx(sorted(table["ours"]))
    assert axes.get_xscale() == "log"
    assert "printed: SW+HW (published)" in row_heights(axes)
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_accelerator(table.iloc[:0])


def test_dumbbells_have_the_gain_of_avx2() -> None:
    table = operation_frame()
    is_fast = table["variant"] == "avx2"
    table["ours"] = table["ours"].where(~is_fast, table["ours"] / 3)
    axes = plots.plot_operation(table, "sign")
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("×3.0") == texts.count("×1.0") == len(SCHEMES)
    assert caption(axes).startswith("Gain of AVX2 to sign here: from 3.0 times")
    assert f"{SCHEMES[0]} here: other code" in notes(axes)
    failed = table.assign(ours=table["ours"].where(~is_fast), verdict="failed")
    shown = [text.get_text() for text in plots.plot_operation(failed, "sign").texts]
    assert shown.count("avx2: failed") == len(SCHEMES)
    with pytest.raises(UsageError, match="must be one of sign"):
        plots.plot_operation(table, "verify")
