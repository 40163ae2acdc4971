"""Plots of the consensus: values and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from pqchain import plots
from pqchain.consensus import landscape
from pqchain.errors import DataError, UsageError
from pqchain.plots.canvas import MUTED
from pqchain.works import papers
from pqchain.works.pqdpol import measured, plans
from pqchain.works.pqdpol import rebuilt as pqdpol
from tests.plots.common import LONG, SCHEMES, caption, labelled_lines, legend_texts, notes
from tests.works import studies

PAPER = papers.costs("pqdpol")


def cells_frame() -> pd.DataFrame:
    rows = [
        {
            "algorithm": name,
            "nodes": nodes,
            "latency_seconds": nodes**2 / 50 * (1 + number / 5),
            "published_latency_seconds": nodes**2 / 49,
            "throughput_per_second": 900 / nodes**2,
            "published_throughput_per_second": 905 / nodes**2,
        }
        for number, name in enumerate(SCHEMES)
        for nodes in (2, 4, 8, 16, 32)
    ]
    return pd.DataFrame(rows)


def computers_frame() -> pd.DataFrame:
    rows = [
        {
            "setting": setting,
            "exchange": "broadcast",
            "nodes": n,
            "latency_seconds": n**2 / 1e3 * (number + 1),
            "latency_seconds_half_width": n / 1e4,
            "predicted_latency_seconds": n**2 / 1e3,
        }
        for number, setting in enumerate(("one processor", "two processors", "one each, virtual"))
        for n in (4, 8, 16, 32)
    ]
    return pd.DataFrame(rows)


def networks_frame() -> pd.DataFrame:
    settings = ("paper-serial", "regions", "mesh", "gossip, 21 delegates")
    rows = [
        {
            "setting": setting,
            "nodes": 2**n,
            "delegates": 2**n if number < 3 else 21,
            "status": "ok",
            "latency_seconds": (1 + number) * 2**n / 100,
        }
        for number, setting in enumerate(settings)
        for n in (2, 8, 14, 20)
    ]
    return pd.DataFrame(rows)


def winners_frame() -> pd.DataFrame:
    rows = [
        {
            "question": question,
            "nodes": 2**n,
            "rate_bits_per_second": rate,
            "winner": SCHEMES[(n + number) % 3],
            "runner_up": LONG,
            "lead": 1.0 + (n % 3) / 2,
            "ranked_by": "latency_seconds" if number else "throughput_per_second",
            "amount": 50_000,
        }
        for number, question in enumerate(("50000 B", "300 transactions"))
        for n in (4, 8, 12, 16, 20)
        for rate in (1e6, 1e8, 1e10)
    ]
    return pd.DataFrame(rows)


SAMPLES = {
    "cells": lambda: plots.plot_cells(cells_frame(), per_pair=True),
    "computers": lambda: plots.plot_computers(computers_frame()),
    "networks": lambda: plots.plot_networks(networks_frame()),
    "winners": lambda: plots.plot_winners(winners_frame()),
}
"""Samples by kind of plot; `test_paper.py` draws them at a width of 3.5 inches."""


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    """Return both tables with the paper's costs."""
    return pqdpol.tables()


@pytest.fixture(scope="module")
def laws() -> pd.DataFrame:
    """Return every kind of network, up to 256 nodes."""
    return landscape.laws(PAPER, exponents=(2, 4, 8), all_vote_exponent=4, seeds=(0, 1, 2))


@pytest.fixture(scope="module")
def won() -> pd.DataFrame:
    """Return the winners of a small contest."""
    frame = landscape.contest(
        PAPER,
        algorithms=["Falcon-512", "Dilithium2"],
        exponents=(2, 4),
        rates=(1e6, 1e9, 1e10),
        capacities=(50_000,),
        loads=(300,),
    )
    return landscape.winners(frame)


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    """Return synthetic runs of both tables and of fewer processors."""
    return studies.runs(PAPER)["run"]


@pytest.mark.parametrize("quantity", ["latency", "throughput"])
def test_measured_cells_are_plotted_with_intervals(cells, runs, quantity):
    axes = plots.plot_cells(measured.with_runs(cells, runs), quantity)
    assert "hollow mark: published; line: model" in notes(axes)
    assert "whisker: 95" in notes(axes)
    column = {"latency": "latency_seconds", "throughput": "throughput_per_second"}[quantity]
    one = runs[
        (runs["setting"] == plans.TABLES)
        & (runs["exchange"] == plans.ALL_TO_ALL)
        & (runs["algorithm"] == "Dilithium2")
    ]
    drawn = [list(line.get_ydata()) for line in axes.get_lines()]
    assert any(np.allclose(each[:3], one[column]) for each in drawn if len(each) == 5)
    bars = [path for bar in axes.collections for path in bar.get_segments() if len(path) == 2]
    low, high = (one[column] + sign * one[f"{column}_half_width"] for sign in (-1, 1))
    ends = [(low.iloc[0], high.iloc[0])]
    assert any(np.allclose(sorted(bar[:, 1]), ends[0]) for bar in bars)


def test_runs_are_solid_lines_and_predictions_dashed(runs):
    where = runs[runs["setting"].isin((plans.ONE, plans.TWO, plans.EACH))]
    # A machine with one processor has no setting "two processors".
    labels = {plans.ONE, f"{plans.EACH} (simulated)", *where["setting"]} - {plans.EACH}
    figure = plots.plot_computers(where)
    all_axes = figure.axes
    for panel, exchange in zip(all_axes, plans.EXCHANGES, strict=True):
        assert set(labelled_lines(panel)) == {f"{label}, {exchange}" for label in labels}
        assert panel.get_ylim() == all_axes[0].get_ylim()
    assert caption(all_axes[0]).startswith("Latency of a block with 8 delegates: from ")
    is_one = (where["setting"] == plans.ONE) & (where["exchange"] == plans.BROADCAST)
    one = where[is_one]
    (broadcast,) = (panel for panel in all_axes if panel.get_title("left") == plans.BROADCAST)
    nodes, latency = labelled_lines(broadcast)[f"{plans.ONE}, {plans.BROADCAST}"]
    assert nodes == pytest.approx([2, 4, 8], rel=0.1)
    assert latency == pytest.approx(list(one["latency_seconds"]))
    lines = broadcast.get_lines()
    dashed = [list(line.get_ydata()) for line in lines if line.get_linestyle() == "--"]
    assert any(np.allclose(each, one["predicted_latency_seconds"]) for each in dashed)
    with pytest.raises(DataError):
        plots.plot_computers(where.drop(columns="setting"))


@pytest.mark.parametrize("quantity", ["latency", "throughput"])
def test_printed_cells_are_markers_and_modelled_ones_lines(cells, quantity):
    axes = plots.plot_cells(cells, quantity)
    column = {"latency": "latency_seconds", "throughput": "throughput_per_second"}[quantity]
    one = cells[cells["algorithm"] == "Falcon-1024"]
    assert axes.get_yscale() == "log"
    nodes, printed = labelled_lines(axes)["Falcon-1024"]
    # Points of several schemes are moved apart by less than a tenth.
    assert nodes == pytest.approx([2, 4, 8, 16, 32], rel=0.15)
    assert printed == pytest.approx(list(one[f"published_{column}"]))
    drawn = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    assert any(np.allclose(list(line.get_ydata()), one[column]) for line in drawn)
    assert len(labelled_lines(axes)) == len(drawn) == 6
    # Sets of a family have its colour, and differ by their dashes, marks and names.
    marks = {line.get_marker() for line in axes.get_lines() if line.get_linestyle() == "None"}
    assert len(marks) == 6
    dashes = [[vars(line)[name] for name in vars(line) if "dash" in name] for line in drawn]
    looks = {(line.get_color(), str(pattern)) for line, pattern in zip(drawn, dashes, strict=True)}
    assert len(looks) == 6
    assert set(labelled_lines(axes)) == {text.get_text() for text in axes.texts}


def test_cells_per_pair_are_divided_by_n_squared(cells):
    _, printed = labelled_lines(plots.plot_cells(cells, "latency", per_pair=True))["Dilithium2"]
    one = cells[cells["algorithm"] == "Dilithium2"]
    assert printed == pytest.approx(
        list(one["published_latency_seconds"] / np.square(one["nodes"]))
    )
    axes = plots.plot_cells(cells, "throughput", per_pair=True)
    _, printed = labelled_lines(axes)["Dilithium2"]
    assert printed == pytest.approx(
        list(one["published_throughput_per_second"] * np.square(one["nodes"]))
    )
    assert "N²" in axes.get_ylabel()


def test_delegate_counts_have_distinct_dashes_and_labels(laws):
    axes = plots.plot_networks(laws)
    styles = {str(line.get_label()): line.get_linestyle() for line in axes.get_lines()}
    gossip = {"gossip", "gossip in regions"}
    assert {name for name, style in styles.items() if style == "--"} == gossip
    assert len(styles) == len({*landscape.ALL_VOTE_LAWS, *landscape.GOSSIP_NETWORKS})
    assert {text.get_text() for text in axes.texts} == set(styles)
    drawn = laws[laws["setting"] == "regions"].groupby("nodes")["latency_seconds"].median()
    assert labelled_lines(axes)["regions"][1] == pytest.approx(list(drawn))
    assert len(axes.collections) == 2


def test_networks_omit_unsupported_rows(laws):
    broken = laws.assign(status=laws["status"].where(laws["setting"] != "star", "unsupported"))
    assert "star" not in labelled_lines(plots.plot_networks(broken))
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_networks(laws.assign(status="unsupported"))


def test_squares_have_the_colour_of_the_winner_and_its_lead(won):
    figure = plots.plot_winners(won)
    full, loads = figure.axes
    assert full.get_title(loc="left") == "throughput with blocks of 50\u202fkB"
    assert loads.get_title(loc="left") == "latency of 300 transactions"
    nodes, rates = (sorted(set(won[column])) for column in ("nodes", "rate_bits_per_second"))
    texts = {tuple(text.get_position()): text.get_text() for text in loads.texts}
    colours = {
        (round(x), round(y)): to_hex(field.get_facecolor()[0])
        for field in loads.collections
        if len(field.get_facecolor())  # not a hatching
        for x, y in [field.get_paths()[0].get_extents().get_points().mean(axis=0)]
    }
    winners = won[won["question"] == "300 transactions"]
    assert len(texts) == len(winners)
    for row in winners.to_dict("records"):
        place = nodes.index(row["nodes"]), rates.index(row["rate_bits_per_second"])
        is_tie = row["lead"] < 1.02
        assert texts[place] == ("≈" if is_tie else f"{row['lead']:.2f}")
        assert colours[place] == (MUTED if is_tie else plots.mark_of(row["winner"]).colour)
    assert [text.get_text() for text in full.get_yticklabels()] == [
        "1\u202fMb/s",
        "1\u202fGb/s",
        "10\u202fGb/s",
    ]
    first = won["winner"].value_counts().index[0]
    assert caption(full).startswith(f"{first} has the lead in ")


def test_small_lead_is_pale_and_tie_has_a_sign(won):
    def strength(lead):
        axes = plots.plot_winners(won.assign(lead=lead).iloc[:1]).axes[0]
        return axes.collections[0].get_alpha()

    assert strength(1.03) < strength(1.5) < strength(2.0) == strength(9.0)
    alone = plots.plot_winners(won.assign(lead=np.nan, runner_up="").iloc[:1])
    assert not alone.axes[0].texts
    assert legend_texts(alone.axes[0]) == ["Falcon-512"]
    ties = plots.plot_winners(won.assign(lead=1.019, runner_up=LONG))
    assert {text.get_text() for axes in ties.axes for text in axes.texts} == {"≈"}
    assert [text[:12] for text in legend_texts(ties.axes[0])] == ["≈ lead below"]


def test_odd_number_of_panels_leaves_no_empty_axes(won):
    three = pd.concat([won, won[won["question"] == "50000 B"].assign(question="9 B")])
    figure = plots.plot_winners(three)
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]


def test_wrong_frames_are_rejected(cells, won):
    with pytest.raises(UsageError, match="must be one of latency, throughput"):
        plots.plot_cells(cells, "speed")
    with pytest.raises(DataError, match="published_latency_seconds"):
        plots.plot_cells(cells.drop(columns="published_latency_seconds"))
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_cells(cells.iloc[:0])
    with pytest.raises(DataError, match="lead"):
        plots.plot_winners(won.drop(columns="lead"))
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_winners(won.iloc[:0])
