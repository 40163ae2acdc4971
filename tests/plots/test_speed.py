"""Plots of times: values and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.legend import Legend

from pqchain import algorithms, plots
from pqchain.bench import compare_runs
from pqchain.errors import DataError, UsageError
from pqchain.plots.canvas import MUTED
from pqchain.works.falcon_hls.work import table3
from tests import frames
from tests.plots.common import LONG, SCHEMES, legend_texts, marked_points, row_heights


def operation_frame() -> pd.DataFrame:
    rows = [
        {"algorithm": name, "variant": variant, "quantity": "sign_seconds", "printed": 1e-3,
         "ours": 9e-4, "verdict": "ok"}
        for name in SCHEMES
        for variant in ("ref", "avx2")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def accelerator_frame() -> pd.DataFrame:
    kinds = ("published", "cited", "estimated", "modelled")
    rows = [
        {"algorithm": "Falcon-512", "implementation": f"M4 + engine, pipelined, row {row}",
         "kind": kind, "ours": 0.02 + row / 100}
        for row, kind in enumerate(kinds)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def three_machines() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    return compare_runs({"laptop": frame, "server": frame, "board": frame})


def three_runs() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    dates = ("2026-11-20T10:00:00+00:00", "2026-11-21T10:00:00+00:00", "2026-11-22T10:00:00+00:00")
    return pd.concat([frame.assign(run=date) for date in dates], ignore_index=True)


SAMPLES = {
    "speed": lambda: plots.plot_speed(frames.measurements([*SCHEMES[:3], "Kyber512"])),
    "ratio": lambda: plots.plot_ratio(frames.times().head(9)),
    "speedup": lambda: plots.plot_speedup(frames.measurements(SCHEMES[:3])),
    "compared": lambda: plots.plot_compared(three_machines()),
    "history": lambda: plots.plot_history(three_runs()),
    "operation": lambda: plots.plot_operation(operation_frame(), "sign"),
    "accelerator": lambda: plots.plot_accelerator(accelerator_frame()),
}
"""Samples by kind of plot; `test_paper.py` draws them at a width of 3.5 inches."""


def test_speed_plots_every_median_in_its_row() -> None:
    """Values are seconds; AVX2 is filled and portable C is hollow."""
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured)
    assert axes.get_xscale() == "log"
    assert list(row_heights(axes)) == ["Dilithium2", "Falcon-512"]
    assert axes.yaxis_inverted()
    points = marked_points(axes)
    assert set(points) == {
        (operation, filling)
        for operation in ("generate key pair", "sign", "verify")
        for filling in ("full", "none")
    }
    height = row_heights(axes)["Falcon-512"]
    assert points["sign", "full"][height] == pytest.approx(310e-6)
    assert points["sign", "none"][height] > 310e-6


def test_speed_has_whiskers_from_minimum_to_p95() -> None:
    """One whisker per dot, around the dot."""
    measured = frames.measurements(["Ed25519"])
    axes = plots.plot_speed(measured)
    ends = np.array(
        [segment[:, 0] for whisker in axes.collections for segment in whisker.get_segments()]
    )
    expected = measured[["min_seconds", "p95_seconds"]].to_numpy()
    assert np.sort(ends, axis=0) == pytest.approx(np.sort(expected, axis=0))


def test_legend_names_operations_and_implementations() -> None:
    """The legend explains a filling by its implementations."""
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Ed25519"]))
    assert legend_texts(axes) == [
        "liboqs-0.13/ref, pycryptodome/python",
        "liboqs-0.13/avx2, cryptography/openssl",
        "generate key pair",
        "sign",
        "verify",
    ]


def test_each_filling_is_one_implementation_and_long_legends_wrap() -> None:
    measured = frames.measurements(
        ["Falcon-512", "Rainbow-I-Classic", "ECDSA-P256", "ECDSA-secp256k1"]
    )
    falcon = measured[measured["algorithm"] == "Falcon-512"].iloc[:1]
    implementations = algorithms.get("Falcon-512").implementations
    more = [falcon.assign(implementation=name) for name in implementations[2:]]
    axes = plots.plot_speed(pd.concat([measured, *more], ignore_index=True))
    texts = legend_texts(axes)
    assert any("\n" in text for text in texts)
    assert max(len(line) for text in texts for line in text.split("\n")) <= 64
    fillings = [
        line.get_fillstyle()
        for child in axes.get_children()
        if isinstance(child, Legend)
        for line in child.get_lines()
        if same_color(line.get_color(), MUTED)
    ]
    assert len(fillings) == len(set(fillings)) == len(implementations)


def test_operations_differ_by_marker_as_well_as_colour() -> None:
    """Operations are distinguishable without colour."""
    looks = list(plots.OPERATION_LOOK.values())
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 5
    assert set(plots.OPERATION_LOOK) == set(algorithms.OPERATIONS)


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
    height = row_heights(axes)["Dilithium2 (ref)"] + 0.25
    assert marked_points(axes)["verify", "full"][height] == pytest.approx(0.8)


def test_speedup_divides_portable_c_by_avx2() -> None:
    """Only algorithms with both rows appear."""
    measured = frames.measurements(["Falcon-512", "Ed25519", "Hawk-512"])
    paired = plots.speedups(measured)
    assert set(paired["algorithm"]) == {"Falcon-512"}
    assert list(paired.columns) == [
        "algorithm", "operation", "library", "ref_seconds", "avx2_seconds", "speedup",
    ]  # fmt: skip
    axes = plots.plot_speedup(measured)
    assert list(row_heights(axes)) == ["Falcon-512"]
    assert marked_points(axes)["sign", "full"][0.0] == pytest.approx(paired["speedup"].iloc[0])


def test_own_avx2_code_is_compared_with_the_other_librarys_portable_code() -> None:
    # The AVX2 build of liboqs has portable code only for Rainbow.
    rows = [("liboqs-0.7.1/ref", 2e-3), ("liboqs-0.7.1/avx2", 3e-3), ("rainbow/avx2", 1e-5)]
    frame = pd.DataFrame(
        {
            "algorithm": "Rainbow-I-Classic", "operation": "verify", "status": "ok",
            "implementation": [name for name, _ in rows],
            "median_seconds": [seconds for _, seconds in rows],
        }
    )  # fmt: skip
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


def test_accelerator_has_a_bar_per_row_and_a_legend_of_kinds() -> None:
    table = table3()
    axes = plots.plot_accelerator(table)
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx(
        sorted(table["ours"] * 1e3)
    )
    assert axes.get_xlim()[0] == 0
    assert set(legend_texts(axes)) == {"published", "cited", "estimated", "modelled"}
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_accelerator(table.iloc[:0])
