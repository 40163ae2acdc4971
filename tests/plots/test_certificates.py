"""Plot of certificates: values, lines and rows."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain import plots
from tests.plots.samples import certificates as frame


def proofs(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.get_lines() if "proof" in line.get_label()}


def test_lists_and_proofs_are_drawn_over_their_numbers_of_validators() -> None:
    axes = plots.plot_certificates(frame())
    (ml_dsa, bls), drawn = axes.get_lines()[:2], proofs(axes)
    assert list(ml_dsa.get_ydata()) == [9680, 154880, 2478080]
    assert list(bls.get_xdata()) == [4, 64, 1024]
    measured = drawn["leanXMSS proof, py-lean-pq (measured)"]
    cited = drawn["leanXMSS proof, leanvm-b"]
    assert (list(measured.get_xdata()), list(measured.get_ydata())) == ([24], [2e5])
    assert list(cited.get_xdata()) == [1499]
    # The panel of their range has their marks, and a published value is hollow.
    enlarged = proofs(axes.figure.axes[1])
    measured, cited = (enlarged[str(line.get_label())] for line in (measured, cited))
    assert cited.get_markerfacecolor() != measured.get_markerfacecolor()
    # Provers of one scheme have different marks.
    assert cited.get_marker() != measured.get_marker()


def test_second_panel_has_the_range_of_the_proofs() -> None:
    rows = frame()
    rows.loc[rows["nodes"] == 1499, "certificate_bytes"] = 4e5
    axes, enlarged = plots.plot_certificates(rows).figure.axes
    assert proofs(enlarged).keys() == proofs(axes).keys()
    assert enlarged.get_xlim() == axes.get_xlim()
    assert {line.get_marker() for line in proofs(axes).values()} == {"."}
    low, high = enlarged.get_ylim()
    assert 1e5 < low < 2e5 < 4e5 < high < 6e5


def test_a_time_that_is_not_published_has_no_point() -> None:
    axes = plots.plot_certificates(frame(), "verify")
    assert list(axes.get_lines()[1].get_ydata()) == pytest.approx([4e-5, 64e-5, 1024e-5])
    assert list(proofs(axes)) == ["leanXMSS proof, py-lean-pq (measured)"]
