"""Plots: content, not appearance."""

import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from pqchain import algorithms, plots
from pqchain.errors import DataError, UnknownAlgorithm, UsageError
from pqchain.plots.canvas import MUTED
from tests import frames


def dots(axes: Axes) -> dict[tuple[str, str], dict[float, float]]:
    """Collect the markers: (operation, filling) -> {height rounded to a row: value}."""
    found = {}
    for line in axes.get_lines():
        if line.get_marker() not in ("None", "", None):
            points = dict(zip(np.round(line.get_ydata(), 6), line.get_xdata(), strict=True))
            found[str(line.get_label()), str(line.get_fillstyle())] = points
    return found


def rows(axes: Axes) -> dict[str, float]:
    """Collect the rows and their heights."""
    return {
        text.get_text(): height
        for text, height in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    }


def legend_texts(axes: Axes) -> list[str]:
    """Collect the texts of all legends."""
    legends = [child for child in axes.get_children() if isinstance(child, Legend)]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_speed_plots_every_median_in_its_row() -> None:
    """Values are seconds; AVX2 is filled and portable C is hollow."""
    measured = frames.measurements(["Falcon-512", "Dilithium2"])
    axes = plots.plot_speed(measured)
    assert axes.get_xscale() == "log"
    assert list(rows(axes)) == ["Dilithium2", "Falcon-512"]
    assert axes.yaxis_inverted()
    shown = dots(axes)
    assert set(shown) == {
        (what, filling)
        for what in ("generate key pair", "sign", "verify")
        for filling in ("full", "none")
    }
    height = rows(axes)["Falcon-512"]
    assert shown["sign", "full"][height] == pytest.approx(310e-6)
    assert shown["sign", "none"][height] > 310e-6


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


def test_fillings_are_distinct_and_the_legend_is_not_cut() -> None:
    measured = frames.measurements(
        ["Falcon-512", "Rainbow-I-Classic", "ECDSA-P256", "ECDSA-secp256k1"]
    )
    mine = measured[measured["algorithm"] == "Falcon-512"].iloc[:1]
    offered = algorithms.get("Falcon-512").implementations
    more = [mine.assign(implementation=name) for name in offered[2:]]
    axes = plots.plot_speed(pd.concat([measured, *more], ignore_index=True))
    texts = legend_texts(axes)
    assert any("\n" in text for text in texts)
    assert max(len(line) for text in texts for line in text.split("\n")) <= 64
    looks = [
        line.get_fillstyle()
        for child in axes.get_children()
        if isinstance(child, Legend)
        for line in child.get_lines()
        if same_color(line.get_color(), MUTED)
    ]
    assert len(looks) == len(set(looks)) == len(offered)


def test_operations_differ_by_marker_as_well_as_colour() -> None:
    """Operations are distinguishable without colour."""
    looks = list(plots.OPERATION_LOOK.values())
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 5
    assert set(plots.OPERATION_LOOK) == set(algorithms.OPERATIONS)


def test_unmeasured_rows_are_kept_and_labelled() -> None:
    """An unsupported algorithm stays in the plot."""
    axes = plots.plot_speed(frames.measurements(["Falcon-512", "Hawk-512"]))
    assert list(rows(axes)) == ["Falcon-512", "Hawk-512"]
    assert [text.get_text() for text in axes.texts] == ["not measured here"]


def test_ratio_axis_is_centred_on_one() -> None:
    """The reference line is at 1, inside the axis."""
    compared = frames.times().assign(variant="ref")
    axes = plots.plot_ratio(compared)
    assert axes.get_xscale() == "log"
    assert "Kyber512 (ref)" in rows(axes)
    assert [1.0, 1.0] in [list(line.get_xdata()) for line in axes.get_lines()]
    low, high = axes.get_xlim()
    assert low < 0.8 < 1 < high
    assert dots(axes)["verify", "full"][rows(axes)["Dilithium2 (ref)"] + 0.25] == pytest.approx(0.8)


def test_speedup_divides_portable_c_by_avx2() -> None:
    """Only algorithms with both rows appear."""
    measured = frames.measurements(["Falcon-512", "Ed25519", "Hawk-512"])
    paired = plots.speedups(measured)
    assert set(paired["algorithm"]) == {"Falcon-512"}
    assert list(paired.columns) == [
        "algorithm", "operation", "library", "ref_seconds", "avx2_seconds", "speedup",
    ]  # fmt: skip
    axes = plots.plot_speedup(measured)
    assert list(rows(axes)) == ["Falcon-512"]
    assert dots(axes)["sign", "full"][0.0] == pytest.approx(paired["speedup"].iloc[0])


def test_speedups_of_an_empty_frame_are_empty() -> None:
    """A pure installation measures nothing, and the report still plots."""
    assert plots.speedups(frames.measurements(["Hawk-512"])).empty


def test_speedup_without_a_pair_says_what_to_measure() -> None:
    """A frame without pairs is a usage error, not an empty plot."""
    with pytest.raises(UsageError, match="Measure both implementations"):
        plots.plot_speedup(frames.measurements(["Ed25519"]))


def test_sizes_come_from_the_registry() -> None:
    """A KEM shows a ciphertext where a signature scheme shows a signature."""
    axes = plots.plot_sizes(["falcon 512", "Kyber512"])
    shown = dots(axes)
    assert shown["public key", "full"][rows(axes)["Falcon-512"]] == 897
    assert shown["signature", "full"][rows(axes)["Falcon-512"]] == 655
    assert shown["ciphertext", "full"][rows(axes)["Kyber512"]] == 768
    assert len(rows(plots.plot_sizes())) == len(algorithms.names("signature"))


def test_tradeoff_takes_the_fastest_implementation_and_labels_every_point() -> None:
    """Bytes on the chain are public key plus signature."""
    axes = plots.plot_tradeoff(frames.measurements())
    points = {str(line.get_label()): line for line in axes.get_lines()}
    falcon = points["Falcon-512"]
    assert (falcon.get_xdata()[0], falcon.get_ydata()[0]) == (897 + 655, pytest.approx(58e-6))
    assert "Hawk-512" not in points
    assert {text.get_text() for text in axes.texts} == set(points)
    assert points["Ed25519"].get_fillstyle() == "none"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_ticks_have_readable_units() -> None:
    """A log axis in seconds is labelled in microseconds and milliseconds."""
    axes = plots.plot_speed(frames.measurements())
    owner = axes.get_figure()
    assert isinstance(owner, Figure)
    owner.draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert {"100\N{NARROW NO-BREAK SPACE}µs", "10\N{NARROW NO-BREAK SPACE}ms"} <= set(labels)


def test_given_axes_are_used_and_returned() -> None:
    """Given axes keep the caller's style."""
    axes = Figure().subplots()
    before = axes.title.get_fontsize()
    assert plots.plot_sizes(["Falcon-512"], ax=axes) is axes
    assert axes.title.get_fontsize() == before


def test_default_figure_is_one_column_wide_and_not_in_pyplot() -> None:
    """Neither figures nor settings remain."""
    settings = mpl.rcParams.copy()
    owner = plots.plot_sizes(["Falcon-512"]).get_figure()
    assert isinstance(owner, Figure)
    assert owner.get_figwidth() == pytest.approx(170 / 25.4)
    assert mpl.rcParams.copy() == settings
    probe = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy(); import pqchain.plots; "
        "assert matplotlib.rcParams.copy() == before; "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.parametrize("file_format", ["svg", "png"])
def test_rendering_twice_gives_the_same_bytes(file_format: str) -> None:
    """Files contain neither a date nor a random identifier."""
    one, two = (
        plots.figure_bytes(plots.plot_speed(frames.measurements()), file_format)  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert one == two
    assert one.startswith(b"\x89PNG" if file_format == "png" else b"<?xml")


def test_text_has_the_colour_that_the_report_replaces() -> None:
    """Dark mode depends on the text colour."""
    axes = plots.plot_speed(frames.measurements())
    assert same_color(axes.xaxis.label.get_color(), plots.INK)


@pytest.mark.parametrize("draw", [plots.plot_speed, plots.plot_speedup, plots.plot_tradeoff])
def test_missing_columns_are_named(draw) -> None:  # type: ignore[no-untyped-def]
    """The error names the missing columns."""
    with pytest.raises(DataError, match="median_seconds"):
        draw(frames.measurements().drop(columns="median_seconds"))


def test_empty_and_unknown_frames_are_rejected() -> None:
    """Empty frames and unknown names."""
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_speed(frames.measurements().iloc[:0])
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_sizes([])
    with pytest.raises(UnknownAlgorithm, match="Falcon-512"):
        plots.plot_sizes(["Falcon-521"])
    with pytest.raises(UsageError, match="must have a verification"):
        plots.plot_tradeoff(frames.measurements(["Kyber512"]))


def test_accelerator_bars_are_grouped_by_kind() -> None:
    """One bar per row with its number, and a legend of the kinds of numbers."""
    from pqchain.works.falcon_hls import work as accelerator

    table = accelerator.table3()
    axes = plots.plot_accelerator(table)
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx(
        sorted(table["ours"] * 1e3)
    )
    assert axes.get_xlim()[0] == 0
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {
        "published", "cited", "estimated", "modelled",
    }  # fmt: skip
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_accelerator(table.iloc[:0])


def test_phases_of_a_run_fill_the_bar() -> None:
    axes = plots.plot_phases(frames.replays()["table1"])
    bars = [patch for patch in axes.patches if patch.get_width() > 0]
    assert len(bars) == 20
    ends: dict[float, float] = {}
    for bar in bars:
        level = round(bar.get_y() + bar.get_height() / 2)
        ends[level] = max(ends.get(level, 0), bar.get_x() + bar.get_width())
    assert list(ends) == [0, 1, 2, 3]
    assert all(abs(end - 100) < 0.02 for end in ends.values())
    assert "published" in axes.get_yticklabels()[0].get_text()
    assert legend_texts(axes) == ["transfer", "decode", "encode", "io", "other"]


def test_streams_have_labelled_lines() -> None:
    axes = plots.plot_streams(frames.replays()["figure1"])
    assert legend_texts(axes) == ["single", "multiplexed"]
    assert "replayed, virtual" in axes.get_xlabel()
    assert axes.get_ylim()[0] == 0


def test_transports_are_compared_with_the_link_minimum() -> None:
    axes = plots.plot_transports(frames.replays()["transports"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["aioquic", "tcp-tls", "grpc"]
    assert "unsupported" in "".join(text.get_text() for text in axes.texts)
    assert "10 Mbit/s" in axes.get_xlabel()
    assert legend_texts(axes) == ["limit of the link"]


@pytest.mark.parametrize("name", ["phases", "streams", "transports"])
def test_replay_plots_of_an_empty_frame_say_what_to_pass(name: str) -> None:
    frame = {"phases": "table1", "streams": "figure1", "transports": "transports"}[name]
    with pytest.raises(UsageError, match="must have at least one row"):
        getattr(plots, f"plot_{name}")(frames.replays()[frame].head(0))


def test_capacity_shows_bars_intervals_and_binding_limits():
    frame = pd.DataFrame(
        {"algorithm": ["A", "B"], "value": [50.0, 20.0], "low": [45.0, 20.0], "high": [60.0, 20.0]}
    )
    axes = plots.plot_capacity(frame, {"A": "gas", "B": "weight"})
    assert [bar.get_width() for bar in axes.patches] == [50.0, 20.0]
    assert {"gas", "weight"} <= {text.get_text() for text in axes.texts}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B"]


def test_load_draws_a_line_for_each_scheme_on_log_axes():
    frame = pd.DataFrame(
        {
            "algorithm": ["A", "A", "B", "B"],
            "arrivals_per_second": [1.0, 9.0, 1.0, 4.0],
            "latency_seconds": [7.0, 30.0, 8.0, 60.0],
        }
    )
    axes = plots.plot_load(frame)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert {line.get_label() for line in axes.lines} == {"A", "B"}
    assert list(axes.lines[1].get_ydata()) == [8.0, 60.0]


def test_migration_shows_percent_and_growth():
    frame = pd.DataFrame(
        {
            "day": [1.0, 2.0], "moved_share": [0.1, 0.5], "waiting_share": [0.0, 0.2],
            "growth_bytes_per_day": [1e8, 2e8],
        }
    )  # fmt: skip
    axes = plots.plot_migration(frame)
    assert list(axes.lines[0].get_ydata()) == [10.0, 50.0]
    assert axes.get_ylabel() == "percent of the accounts"
    assert {"moved", "growth of the chain"} <= {t.get_text() for t in axes.get_legend().texts}


def test_links_have_a_dot_for_each_measured_mode():
    from pqchain.reencode import sweeps

    row = {"mode": "netns", "transport": "native", "streams": "single", "sessions": "kept",
           "congestion": "reno", "bits_per_second": 1e7, "delay_seconds": 0.02, "loss": 0.02,
           "blocks": 4, "block_bytes": 300_000, "datagram_bytes": 1452, "repeats": 3,
           "first_chunk_seconds": 0.1, "mean_chunk_seconds": 0.2, "low_seconds": 0.9,
           "high_seconds": 1.1, "wire_limit_seconds": 0.5, "over_best": 1.0,
           "note": ""}  # fmt: skip
    rows = [
        {**row, "way": "tcp", "transfer_seconds": 2.0, "status": "ok"},
        {**row, "way": "quic", "transfer_seconds": 1.0, "status": "ok"},
        {**row, "way": "quic", "transfer_seconds": 4.0, "status": "ok", "loss": 0.0},
        {**row, "way": "tcp", "transfer_seconds": math.nan, "status": "failed", "loss": 0.0},
    ]
    axes = plots.plot_links(sweeps.SWEEP.frame(rows))
    dots = {(line.get_label(), line.get_xdata()[0]) for line in axes.lines}
    assert dots == {("tcp", 2.0), ("quic", 1.0), ("quic", 4.0), ("limit of the link", 0.5)}
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["10 Mbit/s, 20 ms, 2 %", "10 Mbit/s, 20 ms, 0 %"]
    assert "netns" in axes.get_xlabel()
