"""Plots of times: values and labels."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from pqchain import algorithms, plots
from pqchain.bench import compare_runs
from pqchain.errors import DataError, UsageError
from pqchain.figures import NARROW_SPACE
from pqchain.plots.canvas import MUTED
from pqchain.plots.marks import OPERATION_MARKS
from pqchain.works.falcon_hls.work import table3
from tests import frames
from tests.plots import common, samples


def test_speed_plots_the_fastest_implementation_in_its_row() -> None:
    """Values are seconds; the colour is the family's and the mark the operation's."""
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured)
    assert axes.get_xscale() == "log"
    assert list(common.row_heights(axes)) == ["Dilithium2", "Falcon-512"]
    assert axes.yaxis_inverted()
    points = common.marked_points(axes)
    assert set(points) == {"generate key pair", "sign", "verify"}
    height = common.row_heights(axes)["Falcon-512"]
    assert points["sign"][height] == pytest.approx(310e-6)
    assert "fastest implementation" in common.notes(axes)
    falcon = plots.mark_of("Falcon-512").colour
    drawn = [line for line in axes.get_lines() if height in np.round(line.get_ydata(), 6)]
    assert drawn and all(same_color(line.get_color(), falcon) for line in drawn)


def test_operations_differ_by_mark() -> None:
    """Colour is the family's, so operations must be distinguishable without it."""
    assert set(OPERATION_MARKS) == {*algorithms.OPERATIONS, algorithms.DECODE_KEY}
    signature = (*algorithms.SIGNATURE_OPERATIONS, algorithms.DECODE_KEY)
    for kind in (signature, algorithms.KEM_OPERATIONS):
        assert len({OPERATION_MARKS[operation] for operation in kind}) == len(kind)
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Kyber512"]))
    assert common.legend_texts(axes)[1:] == ["sign or encapsulate", "verify or decapsulate"]


def test_unsupported_scheme_keeps_its_row() -> None:
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Hawk-512"]))
    assert list(common.row_heights(axes)) == ["Falcon-512", "Hawk-512"]
    assert [text.get_text() for text in axes.texts] == ["not measured here"]


def test_ratio_is_drawn_around_one_and_names_the_published_implementation() -> None:
    """The reference line is at 1, inside the axis."""
    compared = frames.times().assign(variant="ref")
    axes = plots.plot_ratio(compared)
    assert axes.get_xscale() == "log"
    assert "Kyber512 (ref)" in common.row_heights(axes)
    assert [1.0, 1.0] in [list(line.get_xdata()) for line in axes.get_lines()]
    low, high = axes.get_xlim()
    assert low < 0.8 < 1 < high
    height = round(common.row_heights(axes)["Dilithium2 (ref)"] + 0.26, 6)
    assert common.marked_points(axes)["verify"][height] == pytest.approx(0.8)
    row = compared[compared["algorithm"] == "Dilithium2"].iloc[0].to_dict()
    ends = [(row["ours"] + sign * row["deviation"]) / row["printed"] for sign in (-1, 1)]
    drawn = [line[:, 0] for lines in axes.collections for line in lines.get_segments()]
    assert any(line == pytest.approx(ends) for line in drawn)


def test_speedup_divides_portable_c_by_avx2() -> None:
    """Only algorithms with both rows appear."""
    measured = frames.measurements(["Falcon-512", "Ed25519", "Hawk-512"])
    paired = plots.speedups(measured)
    assert set(paired["algorithm"]) == {"Falcon-512"}
    # The synthetic deviations are 2 % of the medians.
    assert (paired["low"] / paired["speedup"]).to_numpy() == pytest.approx(0.98 / 1.02)
    assert (paired["high"] / paired["speedup"]).to_numpy() == pytest.approx(1.02 / 0.98)
    axes = plots.plot_speedup(measured)
    assert list(common.row_heights(axes)) == ["Falcon-512"]
    assert common.marked_points(axes)["sign"][0.0] == pytest.approx(paired["speedup"].iloc[0])


def test_own_avx2_code_is_compared_with_the_other_librarys_portable_code() -> None:
    # The AVX2 build of liboqs has portable code only for Rainbow.
    rows = [("liboqs-0.7.1/ref", 2e-3), ("liboqs-0.7.1/avx2", 3e-3), ("rainbow/avx2", 1e-5)]
    frame = pd.DataFrame(rows, columns=["implementation", "median_seconds"])
    frame = frame.assign(algorithm="Rainbow-I-Classic", operation="verify", status="ok")
    (pair,) = plots.speedups(frame).to_dict("records")
    assert pair["library"] == "rainbow"
    assert pair["speedup"] == pytest.approx(200)


def test_values_have_intervals_numbers_and_the_families_marks() -> None:
    rows = [("Falcon-512", 2e-5, 1e-5, 3e-5), ("ML-DSA-44", 4e-5, 3e-5, 5e-5)]
    frame = pd.DataFrame(rows, columns=["algorithm", "verify_seconds", "low", "high"])
    axes = plots.plot_values(frame, "verify_seconds", low="low", high="high")
    texts = [text.get_text().replace(NARROW_SPACE, " ") for text in axes.texts]
    assert texts == ["20.0 µs", "40.0 µs"]
    whiskers = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    assert whiskers == [[1e-5, 3e-5], [3e-5, 5e-5]]
    marks = [line.get_marker() for line in axes.get_lines()]
    assert marks == [plots.mark_of(name).marker for name in frame["algorithm"]]
    assert (
        common.caption(axes)
        == "Time to verify: from 20.0 µs with Falcon-512 to 40.0 µs with ML-DSA-44"
    )
    with pytest.raises(DataError, match="missing"):
        plots.plot_values(frame, "missing")


def test_unknown_operation_is_rejected() -> None:
    frame = frames.measurements(["Falcon-512"])
    frame["operation"] = frame["operation"].replace("sign", "sagn")
    with pytest.raises(DataError, match=r"operation must be one of .*; got 'sagn'"):
        plots.plot_speed(frame)


def test_implementations_have_a_colour_and_whiskers_each() -> None:
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured, hue="implementation")
    assert common.legend_texts(axes)[:2] == ["liboqs-0.13/avx2", "liboqs-0.13/ref"]
    ends = [whisker.get_segments()[0][:, 0] for whisker in axes.collections]
    expected = measured[["min_seconds", "p95_seconds"]].to_numpy()
    assert np.sort(ends, axis=0) == pytest.approx(np.sort(expected, axis=0))
    lines = [line for line in axes.get_lines() if line.get_label() == "sign"]
    assert len({line.get_color() for line in lines}) == 2
    with pytest.raises(DataError, match="machine"):
        plots.plot_speed(measured, hue="machine")


def test_accelerator_has_a_point_per_time_in_rows_of_kinds() -> None:
    table = table3()
    axes = plots.plot_accelerator(table)
    drawn = [float(line.get_xdata()[0]) for line in axes.get_lines()]
    assert sorted(drawn) == pytest.approx(sorted(table["ours"]))
    assert axes.get_xscale() == "log"
    assert "printed: SW+HW (published)" in common.row_heights(axes)


def test_operation_has_the_gain_of_avx2() -> None:
    table = samples.operation()
    is_fast = table["variant"] == "avx2"
    table["ours"] = table["ours"].where(~is_fast, table["ours"] / 3)
    axes = plots.plot_operation(table, "sign")
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["×3.0"] * len(samples.SCHEMES)
    assert common.legend_texts(axes) == ["published", "here", "portable C", "AVX2"]
    assert common.caption(axes).startswith("Gain of AVX2 to sign here: from ×3.0")
    assert f"{samples.SCHEMES[0]} here: other code" in common.notes(axes)
    with pytest.raises(UsageError, match="must be one of sign"):
        plots.plot_operation(table, "verify")


def compared_frame() -> pd.DataFrame:
    frame = compare_runs(dict.fromkeys(("before", "after"), frames.measurements(["Ed25519"])))
    verdicts = ["slower", *["no difference"] * (len(frame) - 1)]
    ratios = [1.5, *[1.0] * (len(frame) - 1)]
    return frame.assign(verdict=verdicts, ratio=ratios, low=0.9, high=1.6)


def test_only_differences_have_a_colour_and_a_number() -> None:
    axes = plots.plot_compared(compared_frame())
    assert [text.get_text() for text in axes.texts] == ["×1.5"]
    points = [line for line in axes.get_lines() if line.get_marker() != "None"]
    grey = [line for line in points if same_color(line.get_color(), MUTED)]
    assert len(grey) == len(points) - 1
    assert (
        common.caption(axes) == "1 of the 6 measured times differ significantly: 0 faster, 1 slower"
    )
    undecided = compared_frame().assign(verdict=["undecided", *["no difference"] * 5])
    drawn = plots.plot_compared(undecided)
    assert common.caption(drawn) == "None of the 6 measured times differ significantly"
    assert "1 of 6 need more runs" in common.notes(drawn)


def test_history_is_relative_to_the_first_run() -> None:
    runs = samples.history()
    axes = plots.plot_history(runs)
    assert common.caption(axes).startswith("Time of the last run / time of the first: from ×1.0")
    lowest = axes.figure.axes[-1]
    # Noise below the bound of a change is not enlarged.
    assert lowest.get_ylim()[0] <= 1 / 1.05 and lowest.get_ylim()[1] >= 1.05
    with pytest.raises(UsageError, match="panel each"):
        plots.plot_history(samples.history(), ax=Figure().subplots())


def test_a_change_moves_the_line_of_its_implementation() -> None:
    runs = samples.history()
    changed = (runs["run"] == runs["run"].iloc[-1]) & (runs["algorithm"] == "Falcon-512")
    changed &= (runs["operation"] == "sign") & runs["implementation"].str.endswith("avx2")
    runs.loc[changed, "median_seconds"] *= 1.5
    axes = plots.plot_history(runs)
    panels = {panel.get_title(loc="left"): panel for panel in axes.figure.axes}
    assert set(panels) == {"generate key pair", "sign", "verify"}
    name = "Falcon-512, liboqs-0.13/avx2"
    assert common.labelled_lines(panels["sign"])[name][1] == pytest.approx([1, 1, 1.5])
    assert common.labelled_lines(panels["verify"])[name][1] == pytest.approx([1, 1, 1])
    assert common.caption(axes).endswith(f"to ×1.5 with {name}, sign")


def test_several_runs_have_a_colour_each() -> None:
    axes = plots.plot_compared(samples.machines())
    assert common.legend_texts(axes)[:2] == ["server", "board"]
    assert "without a verdict" in common.caption(axes)
