"""Plots of the consensus: values and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pqchain import plots
from pqchain.consensus import landscape
from pqchain.errors import DataError, UsageError
from pqchain.works import papers
from pqchain.works.pqdpol import measured, plans
from pqchain.works.pqdpol import rebuilt as pqdpol
from tests.plots.common import LONG, SCHEMES, labelled_lines
from tests.works import studies

PAPER = papers.costs("pqdpol")


def cells_frame() -> pd.DataFrame:
    rows = [
        {
            "algorithm": name, "nodes": nodes, "latency_seconds": nodes**2 / 50 * (1 + number / 5),
            "published_latency_seconds": nodes**2 / 49, "throughput_per_second": 900 / nodes**2,
            "published_throughput_per_second": 905 / nodes**2,
        }
        for number, name in enumerate(SCHEMES)
        for nodes in (2, 4, 8, 16, 32)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def computers_frame() -> pd.DataFrame:
    rows = [
        {"setting": setting, "exchange": "broadcast", "nodes": n,
         "latency_seconds": n**2 / 1e3 * (number + 1),
         "latency_seconds_half_width": n / 1e4, "predicted_latency_seconds": n**2 / 1e3}
        for number, setting in enumerate(("one processor", "two processors", "one each, virtual"))
        for n in (4, 8, 16, 32)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def networks_frame() -> pd.DataFrame:
    settings = ("paper-serial", "regions", "mesh", "gossip, 21 delegates")
    rows = [
        {"setting": setting, "nodes": 2**n, "delegates": 2**n if number < 3 else 21, "status": "ok",
         "latency_seconds": (1 + number) * 2**n / 100}
        for number, setting in enumerate(settings)
        for n in (2, 8, 14, 20)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def winners_frame() -> pd.DataFrame:
    rows = [
        {"question": question, "nodes": 2**n, "rate_bits_per_second": rate,
         "winner": SCHEMES[(n + number) % 3], "runner_up": LONG, "lead": 1.0 + (n % 3) / 2,
         "ranked_by": "latency_seconds" if number else "throughput_per_second", "amount": 50_000}
        for number, question in enumerate(("50000 B", "300 transactions"))
        for n in (4, 8, 12, 16, 20)
        for rate in (1e6, 1e8, 1e10)
    ]  # fmt: skip
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
        PAPER, algorithms=["Falcon-512", "Dilithium2"], exponents=(2, 4), rates=(1e6, 1e9, 1e10),
        capacities=(50_000,), loads=(300,),
    )  # fmt: skip
    return landscape.winners(frame)


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    """Return synthetic runs of both tables and of fewer processors."""
    return studies.runs(PAPER)["run"]


@pytest.mark.parametrize("quantity", ["latency", "throughput"])
def test_measured_cells_are_plotted_with_intervals(cells, runs, quantity):
    axes = plots.plot_cells(measured.with_runs(cells, runs), quantity)
    assert axes.get_xlabel().endswith("(hollow: printed, lines: modelled, filled: run)")
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
    axes = plots.plot_computers(where)
    assert set(labelled_lines(axes)) == {
        f"{setting}, {exchange}"
        for setting in (plans.ONE, plans.TWO, plans.EACH)
        for exchange in plans.EXCHANGES
    }
    is_one = (where["setting"] == plans.ONE) & (where["exchange"] == plans.BROADCAST)
    one = where[is_one]
    nodes, latency = labelled_lines(axes)[f"{plans.ONE}, {plans.BROADCAST}"]
    assert nodes == [2, 4, 8]
    assert latency == pytest.approx(list(one["latency_seconds"]))
    dashed = [list(line.get_ydata()) for line in axes.get_lines() if line.get_linestyle() == "--"]
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
    assert nodes == [2, 4, 8, 16, 32]
    assert printed == pytest.approx(list(one[f"published_{column}"]))
    drawn = [list(line.get_ydata()) for line in axes.get_lines() if line.get_linestyle() == "-"]
    assert any(np.allclose(values, one[column]) for values in drawn)
    assert len(labelled_lines(axes)) == len(drawn) == 6
    markers = {line.get_marker() for line in axes.get_lines() if line.get_linestyle() != "-"}
    assert len(markers) == 6


def test_cells_per_pair_are_divided_by_n_squared(cells):
    nodes, printed = labelled_lines(plots.plot_cells(cells, "latency", per_pair=True))["Dilithium2"]
    one = cells[cells["algorithm"] == "Dilithium2"]
    assert printed == pytest.approx(list(one["published_latency_seconds"] / np.square(nodes)))
    axes = plots.plot_cells(cells, "throughput", per_pair=True)
    nodes, printed = labelled_lines(axes)["Dilithium2"]
    assert printed == pytest.approx(list(one["published_throughput_per_second"] * np.square(nodes)))
    assert "N²" in axes.get_ylabel()


def test_delegate_counts_have_distinct_dashes_and_labels(laws):
    axes = plots.plot_networks(laws)
    styles = {str(line.get_label()): line.get_linestyle() for line in axes.get_lines()}
    assert {name for name, style in styles.items() if style == "--"} == set(
        landscape.GOSSIP_NETWORKS
    )
    assert set(styles) == {*landscape.ALL_VOTE_LAWS, *landscape.GOSSIP_NETWORKS}
    assert {text.get_text() for text in axes.texts} == set(styles)
    drawn = laws[laws["setting"] == "regions"].groupby("nodes")["latency_seconds"].median()
    assert labelled_lines(axes)["regions"][1] == pytest.approx(list(drawn))
    assert len(axes.collections) == 2


def test_networks_omit_unsupported_rows(laws):
    broken = laws.assign(status=laws["status"].where(laws["setting"] != "star", "unsupported"))
    assert "star" not in labelled_lines(plots.plot_networks(broken))
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_networks(laws.assign(status="unsupported"))


def test_every_square_names_its_winner_and_lead(won):
    figure = plots.plot_winners(won)
    full, loads = figure.axes
    assert full.get_title(loc="left") == "highest throughput, blocks of 50\u202f000 B"
    assert loads.get_title(loc="left") == "lowest latency, 300 transactions a block"
    texts = {tuple(text.get_position()): text.get_text() for text in loads.texts}
    assert len(texts) == 6
    names = {place: text.split("\n")[0] for place, text in texts.items()}
    assert names[0, 0] == "Falcon-512"
    assert names[0, 2] == "Dilithium2"
    lead = won.set_index(["question", "nodes", "rate_bits_per_second"])["lead"]
    assert texts[0, 0].endswith(f"×{lead['300 transactions', 4, 1e6]:.2f}")
    assert [text.get_text() for text in loads.get_yticklabels()] == [
        "1\u202fMb/s", "1\u202fGb/s", "10\u202fGb/s",
    ]  # fmt: skip


def test_tie_names_the_runner_up_instead_of_a_lead(won):
    tie = won.assign(lead=1.004, runner_up=LONG).iloc[:1]
    assert plots.plot_winners(tie).axes[0].texts[0].get_text() == "Falcon-512\n≈ SPHINCS+"
    alone = plots.plot_winners(won.assign(lead=np.nan, runner_up="").iloc[:1])
    assert alone.axes[0].texts[0].get_text() == "Falcon-512"


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


def test_figures_use_the_callers_axes_and_are_deterministic(cells, won):
    axes = plots.plot_cells(cells)
    assert plots.plot_cells(cells, "throughput", ax=axes) is axes
    pictures = [plots.figure_bytes(plots.plot_winners(won), "svg") for _ in range(2)]
    assert pictures[0] == pictures[1]
