"""Axes, figures, files, colours and marks of all plots."""

import shutil
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import pytest
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from pqchain import plots
from pqchain.algorithms import FAMILIES, names
from pqchain.errors import DataError, Unsupported, UsageError
from pqchain.plots import canvas
from pqchain.plots.canvas import figure_of
from pqchain.plots.marks import apart, mark_of
from pqchain.render import palette
from tests import frames
from tests.plots.common import contrast, lightness
from tests.plots.samples import SAMPLES, draw


def test_ticks_carry_readable_units() -> None:
    """A log axis in seconds is labelled in microseconds and milliseconds."""
    axes = plots.plot_speed(frames.measurements())
    figure_of(axes).draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert {"100\N{NARROW NO-BREAK SPACE}µs", "10\N{NARROW NO-BREAK SPACE}ms"} <= set(labels)


@pytest.mark.parametrize("kind", [kind for kind in plots.KINDS if kind != "sizes"])
def test_wrong_frames_are_rejected(kind: str) -> None:
    build, *others = SAMPLES[kind]
    frame = build()
    with pytest.raises(UsageError, match="this plot must get a pandas DataFrame; got None"):
        plots.find(kind)(None, *others)
    with pytest.raises(DataError, match="this plot"):
        draw(kind, frame[[]])
    with pytest.raises(UsageError, match=r"at least one row|must have"):
        draw(kind, frame.iloc[:0])


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
    first, second = (plots.figure_bytes(draw("speed"), file_format) for _ in range(2))  # type: ignore[arg-type]
    assert first == second
    assert first.startswith(b"\x89PNG" if file_format == "png" else b"<?xml")


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


SHORT = ("blocks", "operation", "winners")
"""A plot of each layout; the others take a second each."""


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in SHORT else pytest.mark.long) for kind in plots.KINDS],
)
def test_plots_fit_a_column_of_3_5_inches(kind: str) -> None:
    with plots.style("paper", width="single"):
        figure = figure_of(draw(kind))
    assert figure.get_size_inches()[0] == 3.5
    assert figure.get_size_inches()[1] <= 9
    figure.draw_without_rendering()
    whole = figure.bbox.padded(0.5)
    for what, box in boxes(figure):
        inside = whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0
        assert inside and box.y1 <= whole.y1, (what, box)
    for axes in figure.axes:
        assert axes.get_window_extent().width > 0.25 * figure.bbox.width
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


def test_widths_are_lengths_within_bounds() -> None:
    for width, expected in (("Single", 3.5), ("double", 7.16), (3.0, 3.0), ("89 MM", 89 / 25.4)):
        assert canvas.inches(width) == pytest.approx(expected)
    for width in ("wide", "1in", "-3in", "100in", "3.5 miles", 0, "1.2.3"):
        with pytest.raises(UsageError, match="must be single, double"), plots.style(width=width):
            pass


def test_style_is_local_to_its_block() -> None:
    wide = figure_of(plots.plot_sizes(["Falcon-512"])).get_size_inches()[0]
    with plots.style(), pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018
    assert figure_of(plots.plot_sizes(["Falcon-512"])).get_size_inches()[0] == wide


def test_print_uses_the_colours_of_print() -> None:
    with plots.style():
        axes = draw("accelerator")
    drawn = {to_hex(line.get_color()) for line in figure_of(axes).axes[0].get_lines()}
    assert drawn <= {row[2] for row in palette.COLOURS.values()}


@pytest.mark.skipif(bool(shutil.which("xelatex")), reason="xelatex is installed")
def test_missing_pgf_requirements_are_named() -> None:
    with pytest.raises(Unsupported, match="install texlive"):
        plots.figure_bytes(plots.plot_sizes(["Falcon-512"]), "pgf")


def test_every_family_has_a_colour_and_mark_of_its_own() -> None:
    assert set(FAMILIES) <= set(plots.FAMILIES)
    looks = list(plots.FAMILIES.values())
    assert len(set(looks)) == len(looks)
    assert {colour for colour, _ in looks} <= set(palette.COLOURS)


def test_classical_schemes_are_grey_and_published_values_hollow() -> None:
    for name in names():
        mark = mark_of(name)
        is_grey = mark.colour == palette.light("grey")
        assert is_grey == (not mark.post_quantum), name
        assert mark.style()["markerfacecolor"] == mark.colour
        assert mark.style(is_published=True)["markerfacecolor"] == palette.light("paper")


@pytest.mark.parametrize("places", [[5.0, 5.0, 5.0], [0.0, 1.0, 99.0], [100.0, 100.0], [50.0]])
def test_labels_keep_their_order_and_distance_within_the_axes(places: list[float]) -> None:
    moved = apart(places, 10.0, 100.0)
    order = sorted(moved)
    assert all(after - before > 9.5 for before, after in pairwise(order))
    assert min(moved) >= -0.5 and max(moved) <= 100.5


FAMILY_COLOURS = {colour for colour, _ in plots.FAMILIES.values()}

SERIES = ("indigo", "crimson", "violet", "teal", "slate", "olive")


@pytest.mark.parametrize("names", [sorted(FAMILY_COLOURS), SERIES])
def test_colours_differ_in_greyscale(names: tuple[str, ...]) -> None:
    printed = [palette.COLOURS[name][2] for name in names]
    steps = sorted(map(lightness, (*printed, plots.INK)))
    assert min(after - before for before, after in pairwise(steps)) > 8
    assert steps[-1] < 88


def test_colours_have_contrast_on_light_and_dark_pages() -> None:
    for column in (0, 1):
        background = palette.COLOURS["paper"][column]
        for name in {*FAMILY_COLOURS, *SERIES, "ink", "muted"}:
            assert contrast(palette.COLOURS[name][column], background) > 3, (name, column)
