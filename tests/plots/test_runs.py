"""Plots of several runs: values, changes and labels."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from pqchain import plots
from pqchain.bench import compare_runs
from pqchain.errors import UsageError
from pqchain.plots.canvas import MUTED
from tests import frames
from tests.plots.common import LONG, labelled_lines


def three_machines() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    return compare_runs({"laptop": frame, "server": frame, "board": frame})


def three_runs() -> pd.DataFrame:
    frame = frames.measurements(["Falcon-512", LONG])
    dates = ("2026-11-20T10:00:00+00:00", "2026-11-21T10:00:00+00:00", "2026-11-22T10:00:00+00:00")
    return pd.concat([frame.assign(run=date) for date in dates], ignore_index=True)


SAMPLES = {
    "compared": lambda: plots.plot_compared(three_machines()),
    "history": lambda: plots.plot_history(three_runs()),
}
"""Samples by kind of plot; `test_paper.py` draws them at a width of 3.5 inches."""


def compared_frame() -> pd.DataFrame:
    frame = compare_runs(
        {"before": frames.measurements(["Ed25519"]), "after": frames.measurements(["Ed25519"])}
    )
    verdicts = ["slower", *["no difference"] * (len(frame) - 1)]
    ratios = [1.5, *[1.0] * (len(frame) - 1)]
    return frame.assign(verdict=verdicts, ratio=ratios, low=0.9, high=1.6)


def test_only_differences_have_a_colour_and_a_number() -> None:
    axes = plots.plot_compared(compared_frame())
    assert [text.get_text() for text in axes.texts] == ["×1.5"]
    points = [line for line in axes.get_lines() if line.get_marker() != "None"]
    grey = [line for line in points if same_color(line.get_color(), MUTED)]
    assert len(grey) == len(points) - 1
    title = "1 of the 6 measured times differ significantly: 0 faster, 1 slower"
    assert axes.figure._suptitle.get_text().replace("\n", " ") == title
    undecided = compared_frame().assign(verdict=["undecided", *["no difference"] * 5])
    drawn = plots.plot_compared(undecided)
    title = "None of the 6 measured times differs significantly between before and after"
    assert drawn.figure._suptitle.get_text().replace("\n", " ") == title
    assert "1 of 6 need more runs" in drawn.get_xlabel().replace("\n", " ")


def test_several_runs_have_a_panel_each() -> None:
    axes = plots.plot_compared(three_machines())
    assert [panel.get_title(loc="left") for panel in axes.figure.axes] == ["server", "board"]
    assert "without a verdict" in axes.figure._suptitle.get_text()


def test_history_rings_a_change_beyond_noise() -> None:
    runs = three_runs()
    changed = (runs["run"] == runs["run"].iloc[-1]) & (runs["algorithm"] == "Falcon-512")
    changed &= (runs["operation"] == "sign") & runs["implementation"].str.endswith("avx2")
    runs.loc[changed, "median_seconds"] *= 1.5
    axes = plots.plot_history(runs)
    panels = {panel.get_title(loc="left"): panel for panel in axes.figure.axes}
    assert set(panels) == {"generate key pair", "sign", "verify"}
    rings = {
        name: [line for line in panel.get_lines() if line.get_markerfacecolor() == "none"]
        for name, panel in panels.items()
    }
    assert {name: len(lines) for name, lines in rings.items()} == {
        "generate key pair": 0, "sign": 1, "verify": 0,
    }  # fmt: skip
    assert round(rings["sign"][0].get_xdata()[0]) == 2
    title = axes.figure._suptitle.get_text().replace("\n", " ")
    assert title.endswith("AVX2 to sign rose by 50\u202f%, the greatest change with whiskers apart")
    lines = labelled_lines(panels["sign"])
    assert lines["Falcon-512, liboqs 0.13, AVX2"][1] == pytest.approx([1, 1, 1.5])
    names = [text.get_text() for text in panels["sign"].texts]
    assert "Falcon-512, liboqs 0.13, AVX2 (310\u202fµs)" in names
    assert "ring:" in panels["verify"].get_xlabel()


def test_history_of_noise_rings_nothing_and_names_commits() -> None:
    axes = plots.plot_history(three_runs().assign(commit="0123456789ab"))
    title = axes.figure._suptitle.get_text().replace("\n", " ")
    assert title == "No time changed by more than 5\u202f% with whiskers apart in 3 runs"
    lowest = axes.figure.axes[-1]
    assert "ring" not in lowest.get_xlabel()
    # Noise below the bound of a change is not enlarged.
    assert lowest.get_ylim()[0] <= 1 / 1.05 and lowest.get_ylim()[1] >= 1.05
    assert "0123456" in axes.figure.axes[-1].get_xticklabels()[0].get_text()
    with pytest.raises(UsageError, match="panel each"):
        plots.plot_history(three_runs(), ax=Figure().subplots())
