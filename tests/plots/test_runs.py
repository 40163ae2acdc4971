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
from tests.plots import samples
from tests.plots.common import caption, labelled_lines, legend_texts, notes


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
    assert caption(axes) == title
    undecided = compared_frame().assign(verdict=["undecided", *["no difference"] * 5])
    drawn = plots.plot_compared(undecided)
    assert caption(drawn) == "None of the 6 measured times differ significantly"
    assert "1 of 6 need more runs" in notes(drawn)


def test_history_is_relative_to_the_first_run_and_names_commits() -> None:
    runs = samples.history().assign(commit="0123456789ab")
    axes = plots.plot_history(runs)
    assert caption(axes).startswith("Time of the last run / time of the first: from ×1.0")
    lowest = axes.figure.axes[-1]
    # Noise below the bound of a change is not enlarged.
    assert lowest.get_ylim()[0] <= 1 / 1.05 and lowest.get_ylim()[1] >= 1.05
    assert "0123456" in axes.figure.axes[-1].get_xticklabels()[0].get_text()
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
    assert labelled_lines(panels["sign"])[name][1] == pytest.approx([1, 1, 1.5])
    assert labelled_lines(panels["verify"])[name][1] == pytest.approx([1, 1, 1])
    assert caption(axes).endswith(f"to ×1.5 with {name}, sign")


def test_several_runs_have_a_colour_each() -> None:
    axes = plots.plot_compared(samples.machines())
    assert legend_texts(axes)[:2] == ["server", "board"]
    assert "without a verdict" in caption(axes)
