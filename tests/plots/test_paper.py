"""Plots for a column of a paper: size, embedded fonts, text that LaTeX accepts."""

from __future__ import annotations

import shutil
import subprocess
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from pqchain import plots
from pqchain.errors import Unsupported, UsageError
from pqchain.plots import canvas, marks
from pqchain.plots.canvas import INK, figure_of
from pqchain.render import palette
from tests import frames
from tests.plots.common import contrast, lightness
from tests.plots.test_speed import accelerator_frame

NARROWEST = 0.25
"""Share of the figure's width that is left for the data, where rows have long names."""


SAMPLES = {
    kind: draw
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.stem != "test_paper"
    for kind, draw in getattr(import_module(f"tests.plots.{path.stem}"), "SAMPLES", {}).items()
}


def test_every_plot_has_a_sample() -> None:
    assert set(SAMPLES) == set(plots.KINDS)


SHORT = ("blocks", "operation", "plane")
"""A plot of each layout; the others take a second each."""


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in SHORT else pytest.mark.long) for kind in SAMPLES],
)
def test_plots_fit_a_column_of_3_5_inches(kind: str) -> None:
    with plots.style("paper", width="single"):
        figure = figure_of(SAMPLES[kind]())
    assert figure.get_size_inches()[0] == 3.5
    assert figure.get_size_inches()[1] <= 9
    figure.draw_without_rendering()
    whole = figure.bbox.padded(0.5)
    for what, box in boxes(figure):
        inside = whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0
        assert inside and box.y1 <= whole.y1, (what, box)
    for axes in figure.axes:
        assert axes.get_window_extent().width > NARROWEST * figure.bbox.width
        ticks = drawn_labels(axes.xaxis)
        extents = sorted((label.get_window_extent() for label in ticks), key=lambda box: box.x0)
        assert all(before.x1 < after.x0 for before, after in pairwise(extents)), kind


def drawn_labels(axis: Axis) -> list[Text]:
    """Return the tick labels within the axis limits that are not empty."""
    low, high = sorted(axis.get_view_interval())
    labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    return [label for at, label in labels if low <= at <= high and label.get_text()]


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return the boxes of axis and tick labels, titles, texts and legends."""
    results = []
    for axes in figure.axes:
        texts = [axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts]
        texts += [*drawn_labels(axes.xaxis), *drawn_labels(axes.yaxis)]
        results += [
            (text.get_text(), text.get_window_extent())
            for text in texts
            if text.get_text() and text.get_visible()
        ]
    results += [("legend", each.get_window_extent()) for each in figure.legends]
    return results


@pytest.mark.parametrize(
    ("width", "expected"),
    [("Single", 3.5), ("double", 7.16), (3.0, 3.0), ("3.5in", 3.5), ("89 MM", 89 / 25.4)],
)
def test_widths(width: float | str, expected: float) -> None:
    assert canvas.inches(width) == pytest.approx(expected)


@pytest.mark.parametrize("width", ["wide", "1in", "-3in", "100in", "3.5 miles", 0, "1.2.3"])
def test_invalid_width_is_rejected(width: float | str) -> None:
    with pytest.raises(UsageError, match="must be single, double"), plots.style(width=width):
        pass


def test_style_is_local_to_its_block() -> None:
    wide = figure_of(plots.plot_sizes(["Falcon-512"])).get_size_inches()[0]
    with plots.style(), pytest.raises(ZeroDivisionError):
        own = Figure(figsize=(5, 2)).subplots()
        plots.plot_sizes(["Falcon-512"], ax=own)
        1 / 0  # noqa: B018
    assert figure_of(own).get_size_inches()[0] == 5
    assert figure_of(plots.plot_sizes(["Falcon-512"])).get_size_inches()[0] == wide


FAMILY_COLOURS = {colour for colour, _ in marks.FAMILIES.values()}

SERIES = ("indigo", "crimson", "violet", "teal", "slate", "olive")


@pytest.mark.parametrize("names", [sorted(FAMILY_COLOURS), SERIES])
def test_colours_differ_in_greyscale(names: tuple[str, ...]) -> None:
    printed = [palette.COLOURS[name][2] for name in names]
    steps = sorted(map(lightness, (*printed, INK)))
    assert min(after - before for before, after in pairwise(steps)) > 8
    assert steps[-1] < 88


def test_print_uses_the_colours_of_print() -> None:
    with plots.style():
        axes = plots.plot_accelerator(accelerator_frame())
    drawn = {to_hex(line.get_color()) for line in axes.get_lines()}
    assert drawn <= {row[2] for row in palette.COLOURS.values()}


def test_colours_have_contrast_on_light_and_dark_pages() -> None:
    for column in (0, 1):
        background = palette.COLOURS["paper"][column]
        for name in {*FAMILY_COLOURS, *SERIES, "ink", "muted"}:
            assert contrast(palette.COLOURS[name][column], background) > 3, (name, column)


@pytest.mark.skipif(bool(shutil.which("xelatex")), reason="xelatex is installed")
def test_missing_pgf_requirements_are_named() -> None:
    with pytest.raises(Unsupported, match="install texlive"):
        plots.figure_bytes(plots.plot_sizes(["Falcon-512"]), "pgf")


DOCUMENT = r"""\documentclass{article}
\usepackage{pgf}\usepackage{booktabs}
\begin{document}\input{plot.pgf}\end{document}
"""


@pytest.mark.skipif(not shutil.which("xelatex"), reason="no xelatex here")
def test_pgf_is_compiled_by_xelatex(tmp_path: Path) -> None:
    with plots.style():
        axes = plots.plot_blocks(frames.blocks(), "rate")
    content = plots.figure_bytes(axes, "pgf").decode()
    (tmp_path / "plot.pgf").write_text(content)
    (tmp_path / "page.tex").write_text(DOCUMENT)
    command = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 5000
