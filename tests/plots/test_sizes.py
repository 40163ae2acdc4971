"""Plots of sizes: values and labels."""

from contextlib import nullcontext
from itertools import combinations

import pytest
from matplotlib.colors import same_color

from pqchain import algorithms, plots
from pqchain.errors import UnknownAlgorithm, UsageError
from pqchain.figures import NARROW_SPACE
from tests import frames
from tests.plots.common import marked_points, row_heights


def test_sizes_come_from_the_registry() -> None:
    """A KEM shows a ciphertext where a signature scheme shows a signature."""
    axes = plots.plot_sizes(["falcon 512", "Kyber512"])
    points = marked_points(axes)
    assert points["public key"][row_heights(axes)["Falcon-512"]] == 897
    assert points["sum"][row_heights(axes)["Falcon-512"]] == 897 + 655
    assert points["signature"][row_heights(axes)["Falcon-512"]] == 655
    assert points["ciphertext"][row_heights(axes)["Kyber512"]] == 768
    assert len(row_heights(plots.plot_sizes())) == len(algorithms.names("signature"))


def test_tradeoff_takes_the_fastest_implementation_and_labels_every_point() -> None:
    axes = plots.plot_tradeoff(frames.measurements())
    points = {
        str(line.get_label()): line for line in axes.get_lines() if line.get_marker() != "None"
    }
    falcon = points["Falcon-512"]
    assert (falcon.get_xdata()[0], falcon.get_ydata()[0]) == (897 + 655, pytest.approx(58e-6))
    assert "Hawk-512" not in points
    assert set(points) <= {text.get_text() for text in axes.texts}
    assert same_color(falcon.get_markerfacecolor(), falcon.get_color())
    assert points["Falcon-1024"].get_markersize() > falcon.get_markersize()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_rows_of_sizes_are_sorted_with_todays_schemes_first() -> None:
    axes = plots.plot_sizes(["ML-DSA-44", "Falcon-512", "Ed25519"])
    heights = row_heights(axes)
    assert sorted(heights, key=lambda name: heights[name]) == ["Ed25519", "Falcon-512", "ML-DSA-44"]
    assert {"96 B", "1552 B"} <= {text.get_text().replace(NARROW_SPACE, " ") for text in axes.texts}


def test_unknown_and_unsuitable_schemes_are_rejected() -> None:
    with pytest.raises(UnknownAlgorithm, match="Falcon-512"):
        plots.plot_sizes(["Falcon-521"])
    with pytest.raises(UsageError, match="must have a verification"):
        plots.plot_tradeoff(frames.measurements(["Kyber512"]))


@pytest.mark.parametrize("width", [None, "single"])
def test_names_of_points_overlap_neither_each_other_nor_points(width: str | None) -> None:
    names = ["Ed25519", "ML-DSA-44", "ML-DSA-65", "Falcon-512", "Falcon-1024", "Dilithium2"]
    with nullcontext() if width is None else plots.style(width=width):
        axes = plots.plot_tradeoff(frames.measurements(names))
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == len(names)
    for first, second in combinations(boxes, 2):
        assert not first.overlaps(second)
    places = [axes.transData.transform(line.get_xydata()[0]) for line in axes.lines]
    assert not [place for place in places for box in boxes if box.contains(*place)]
