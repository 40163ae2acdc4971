"""Plot of certificates: values, lines and rows."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain import plots
from pqchain.errors import DataError


def frame() -> pd.DataFrame:
    rows = [
        (name, form, nodes, size * nodes, 1e-5 * nodes, "modelled", "prices of simplex")
        for name, form, size in (("ML-DSA-44", "list", 2420), ("BLS12-381", "aggregate", 1))
        for nodes in (4, 64, 1024)
    ]
    rows += [
        ("leanXMSS", "proof", nodes, 2e5, seconds, kind, source)
        for nodes, seconds, kind, source in (
            (24, 0.015, "measured", "py-lean-pq"),
            (1499, float("nan"), "cited", "leanvm-b"),
        )
    ]
    names = "algorithm form nodes certificate_bytes verify_seconds kind source"
    return pd.DataFrame(rows, columns=names.split())


SAMPLES = {"certificates": lambda: plots.plot_certificates(frame())}


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


def test_two_sources_of_one_prover_are_one_series() -> None:
    rows = frame().tail(1)
    sources = ("leanvm-desktop", "leanvm-eip8292")
    twice = pd.concat([frame(), *(rows.assign(source=source) for source in sources)])
    drawn = proofs(plots.plot_certificates(twice))
    assert sum("leanvm" in name for name in drawn) == 1


def test_a_time_that_is_not_published_has_no_point() -> None:
    axes = plots.plot_certificates(frame(), "verify")
    assert list(axes.get_lines()[1].get_ydata()) == pytest.approx([4e-5, 64e-5, 1024e-5])
    assert list(proofs(axes)) == ["leanXMSS proof, py-lean-pq (measured)"]


def test_a_frame_without_a_column_is_rejected() -> None:
    with pytest.raises(DataError, match="source"):
        plots.plot_certificates(frame().drop(columns="source"))
