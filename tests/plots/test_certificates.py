"""Plot of certificates: values, lines and rows."""

from __future__ import annotations

import pandas as pd
import pytest

from pqchain import plots
from pqchain.errors import DataError
from tests.plots.common import labelled_lines


def frame() -> pd.DataFrame:
    rows = [
        (name, form, nodes, size * nodes, 1e-5 * nodes, "modelled", "prices of simplex")
        for name, form, size in (("ML-DSA-44", "list", 2420), ("BLS12-381", "aggregate", 1))
        for nodes in (4, 64, 1024)
    ]
    rows += [
        ("leanXMSS", "proof", nodes, 2e5, seconds, kind, source)
        for nodes, seconds, kind, source in (
            (24, 0.015, "measured", "py-lean-pq"), (1499, float("nan"), "cited", "leanvm")
        )
    ]  # fmt: skip
    names = "algorithm form nodes certificate_bytes verify_seconds kind source"
    return pd.DataFrame(rows, columns=names.split())


SAMPLES = {"certificates": lambda: plots.plot_certificates(frame())}


def test_lists_are_lines_and_each_prover_has_a_row() -> None:
    axes = plots.plot_certificates(frame())
    lines = labelled_lines(axes)
    assert "no proof shown takes more than 200" in axes.figure.get_suptitle().replace("\n", " ")
    assert lines["ML-DSA-44, list"] == ([4, 64, 1024], [9680, 154880, 2478080])
    _, proofs = axes.figure.axes
    measured, cited = proofs.get_lines()
    assert (measured.get_label(), list(measured.get_xdata())) == ("py-lean-pq", [2e5])
    assert cited.get_label() == "leanvm"
    rows = [label.get_text() for label in proofs.get_yticklabels()]
    assert rows == ["py-lean-pq, leanXMSS (measured)", "leanvm, leanXMSS (cited)"]


def test_a_time_that_is_not_published_has_no_point() -> None:
    axes = plots.plot_certificates(frame(), "verify")
    lines = labelled_lines(axes)
    assert lines["BLS12-381, aggregate"][1] == pytest.approx([4e-5, 64e-5, 1024e-5])
    assert [line.get_label() for line in axes.figure.axes[1].get_lines()] == ["py-lean-pq"]


def test_a_frame_without_a_column_is_rejected() -> None:
    with pytest.raises(DataError, match="source"):
        plots.plot_certificates(frame().drop(columns="source"))
