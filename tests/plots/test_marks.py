"""Colours and marks of families, and the placement of labels."""

from __future__ import annotations

import itertools

import pytest

from pqchain import plots
from pqchain.algorithms import FAMILIES, names
from pqchain.plots.marks import apart, mark_of
from pqchain.render import palette
from tests.plots.common import contrast, lightness


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
    assert all(after - before > 9.5 for before, after in itertools.pairwise(order))
    assert min(moved) >= -0.5 and max(moved) <= 100.5


FAMILY_COLOURS = {colour for colour, _ in plots.FAMILIES.values()}

SERIES = ("indigo", "crimson", "violet", "teal", "slate", "olive")


@pytest.mark.parametrize("names", [sorted(FAMILY_COLOURS), SERIES])
def test_colours_differ_in_greyscale(names: tuple[str, ...]) -> None:
    printed = [palette.COLOURS[name][2] for name in names]
    steps = sorted(map(lightness, (*printed, plots.INK)))
    assert min(after - before for before, after in itertools.pairwise(steps)) > 8
    assert steps[-1] < 88


def test_colours_have_contrast_on_light_and_dark_pages() -> None:
    for column in (0, 1):
        background = palette.COLOURS["paper"][column]
        for name in {*FAMILY_COLOURS, *SERIES, "ink", "muted"}:
            assert contrast(palette.COLOURS[name][column], background) > 3, (name, column)
