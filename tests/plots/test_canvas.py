"""Axes, figures and files of all plots."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from pqchain import plots
from pqchain.errors import UsageError
from pqchain.plots.canvas import figure_of
from pqchain.render import palette
from tests import frames


def test_ticks_carry_readable_units() -> None:
    """A log axis in seconds is labelled in microseconds and milliseconds."""
    axes = plots.plot_speed(frames.measurements())
    figure_of(axes).draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert {"100\N{NARROW NO-BREAK SPACE}µs", "10\N{NARROW NO-BREAK SPACE}ms"} <= set(labels)


NEEDED = {
    "blocks": ["bytes"],
    "capacity": [{}],
    "cells": ["latency"],
    "operation": ["sign"],
    "values": ["cycles"],
}
"""Further arguments that a plot needs."""


@pytest.mark.parametrize("kind", [kind for kind in plots.KINDS if kind != "sizes"])
def test_anything_but_a_frame_is_rejected(kind: str) -> None:
    with pytest.raises(UsageError, match="this plot must get a pandas DataFrame; got None"):
        plots.find(kind)(None, *NEEDED.get(kind, []))


def test_given_axes_keep_their_style_and_are_returned() -> None:
    axes = Figure().subplots()
    before = axes.title.get_fontsize()
    assert plots.plot_sizes(["Falcon-512"], ax=axes) is axes
    assert axes.title.get_fontsize() == before


def test_new_figure_is_170_mm_wide_and_unknown_to_pyplot() -> None:
    """Neither importing nor drawing changes the settings of matplotlib."""
    settings = mpl.rcParams.copy()
    axes = plots.plot_sizes(["Falcon-512"])
    assert figure_of(axes).get_figwidth() == pytest.approx(170 / 25.4)
    assert mpl.rcParams.copy() == settings
    probe = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy(); import pqchain.plots; "
        "assert matplotlib.rcParams.copy() == before; "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.parametrize("file_format", ["svg", "png"])
def test_rendering_twice_gives_the_same_bytes(file_format: str) -> None:
    """Files contain no date and no random identifier."""
    first, second = (
        plots.figure_bytes(plots.plot_speed(frames.measurements(["Falcon-512"])), file_format)  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert first == second
    assert first.startswith(b"\x89PNG" if file_format == "png" else b"<?xml")


def test_text_has_the_colour_that_the_report_replaces() -> None:
    """The dark mode of the report needs it."""
    axes = plots.plot_speed(frames.measurements())
    assert same_color(axes.xaxis.label.get_color(), plots.INK)


def test_notebooks_show_svg_in_the_font_and_colours_of_the_page() -> None:
    figure = figure_of(plots.plot_sizes(["Falcon-512"]))
    svg = figure._repr_mimebundle_()["image/svg+xml"]
    assert "<text" in svg and "Falcon-512" in svg
    assert "prefers-color-scheme:dark" in svg
    colour = plots.mark_of("Falcon-512").colour
    assert f"var(--figure-vermilion,{colour})" in svg
    # No colour of the palette is left without a variable.
    for name, (light, _, _) in palette.COLOURS.items():
        bare = svg.replace(f"var(--figure-{name},{light})", "").split("</style>", 1)[1]
        assert light not in bare, name
