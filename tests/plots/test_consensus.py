"""Plots of the consensus: values and labels."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from pqchain import plots
from pqchain.consensus import landscape
from pqchain.errors import UsageError
from pqchain.plots.canvas import MUTED
from pqchain.works.pqdpol import measured, plans
from tests.plots import samples
from tests.plots.common import caption, labelled_lines, legend_texts, notes

COLUMNS = {"latency": "latency_seconds", "throughput": "throughput_per_second"}


@pytest.mark.parametrize("quantity", COLUMNS)
def test_measured_cells_are_plotted_with_intervals(quantity):
    runs, column = samples.runs(), COLUMNS[quantity]
    axes = plots.plot_cells(measured.with_runs(samples.cells(), runs), quantity)
    assert "hollow mark: published; line: model" in notes(axes)
    assert "whisker: 95" in notes(axes)
    is_table = (runs["setting"] == plans.TABLES) & (runs["exchange"] == plans.ALL_TO_ALL)
    one = runs[is_table & (runs["algorithm"] == "Dilithium2")]
    drawn = [list(line.get_ydata()) for line in axes.get_lines()]
    assert any(np.allclose(each[:3], one[column]) for each in drawn if len(each) == 5)
    bars = [path for bar in axes.collections for path in bar.get_segments() if len(path) == 2]
    low, high = (one[column] + sign * one[f"{column}_half_width"] for sign in (-1, 1))
    assert any(np.allclose(sorted(bar[:, 1]), (low.iloc[0], high.iloc[0])) for bar in bars)


@pytest.mark.parametrize("quantity", COLUMNS)
def test_printed_cells_are_markers_and_modelled_ones_lines(quantity):
    cells, column = samples.cells(), COLUMNS[quantity]
    axes = plots.plot_cells(cells, quantity)
    one = cells[cells["algorithm"] == "Falcon-1024"]
    assert axes.get_yscale() == "log"
    nodes, printed = labelled_lines(axes)["Falcon-1024"]
    # Points of several schemes are moved apart by less than a tenth.
    assert nodes == pytest.approx([2, 4, 8, 16, 32], rel=0.15)
    assert printed == pytest.approx(list(one[f"published_{column}"]))
    drawn = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    assert any(np.allclose(list(line.get_ydata()), one[column]) for line in drawn)
    # Sets of a family have its colour, and differ by their dashes, marks and names.
    marks = {line.get_marker() for line in axes.get_lines() if line.get_linestyle() == "None"}
    names = ("_unscaled_dash_pattern", "_us_dashSeq")  # the second one before Matplotlib 3.7
    dashes = [str([getattr(line, name, "") for name in names]) for line in drawn]
    looks = set(zip([line.get_color() for line in drawn], dashes, strict=True))
    assert len(labelled_lines(axes)) == len(drawn) == len(marks) == len(looks) == 6
    assert set(labelled_lines(axes)) == {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(("quantity", "power"), [("latency", -2), ("throughput", 2)])
def test_cells_per_pair_are_divided_by_n_squared(quantity, power):
    cells = samples.cells()
    axes = plots.plot_cells(cells, quantity, per_pair=True)
    one = cells[cells["algorithm"] == "Dilithium2"]
    expected = one[f"published_{COLUMNS[quantity]}"] * one["nodes"].astype(float) ** power
    assert labelled_lines(axes)["Dilithium2"][1] == pytest.approx(list(expected))
    assert "N²" in axes.get_ylabel()


def test_unknown_quantity_is_rejected():
    with pytest.raises(UsageError, match="must be one of latency, throughput"):
        plots.plot_cells(samples.cells(), "speed")


def test_runs_are_solid_lines_and_predictions_dashed():
    runs = samples.runs()
    where = runs[runs["setting"].isin((plans.ONE, plans.TWO, plans.EACH))]
    # A machine with one processor has no setting "two processors".
    labels = {plans.ONE, f"{plans.EACH} (simulated)", *where["setting"]} - {plans.EACH}
    all_axes = plots.plot_computers(where).axes
    for panel, exchange in zip(all_axes, plans.EXCHANGES, strict=True):
        assert set(labelled_lines(panel)) == {f"{label}, {exchange}" for label in labels}
        assert panel.get_ylim() == all_axes[0].get_ylim()
    assert caption(all_axes[0]).startswith("Latency of a block with 8 delegates: from ")
    one = where[(where["setting"] == plans.ONE) & (where["exchange"] == plans.BROADCAST)]
    (broadcast,) = (panel for panel in all_axes if panel.get_title("left") == plans.BROADCAST)
    nodes, latency = labelled_lines(broadcast)[f"{plans.ONE}, {plans.BROADCAST}"]
    assert nodes == pytest.approx([2, 4, 8], rel=0.1)
    assert latency == pytest.approx(list(one["latency_seconds"]))
    lines = broadcast.get_lines()
    dashed = [list(line.get_ydata()) for line in lines if line.get_linestyle() == "--"]
    assert any(np.allclose(each, one["predicted_latency_seconds"]) for each in dashed)


def test_delegate_counts_have_distinct_dashes_and_labels():
    laws = samples.networks()
    axes = plots.plot_networks(laws)
    styles = {str(line.get_label()): line.get_linestyle() for line in axes.get_lines()}
    gossip = {"gossip", "gossip in regions"}
    assert {name for name, style in styles.items() if style == "--"} == gossip
    assert len(styles) == len({*landscape.ALL_VOTE_LAWS, *landscape.GOSSIP_NETWORKS})
    assert {text.get_text() for text in axes.texts} == set(styles)
    drawn = laws[laws["setting"] == "regions"].groupby("nodes")["latency_seconds"].median()
    assert labelled_lines(axes)["regions"][1] == pytest.approx(list(drawn))
    assert len(axes.collections) == 2
    broken = laws.assign(status=laws["status"].where(laws["setting"] != "star", "unsupported"))
    assert "star" not in labelled_lines(plots.plot_networks(broken))
    with pytest.raises(UsageError, match="at least one row"):
        plots.plot_networks(laws.assign(status="unsupported"))


def test_squares_have_the_colour_of_the_winner_and_its_lead():
    won = samples.winners()
    full, loads = plots.plot_winners(won).axes
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
    first = won["winner"].value_counts().index[0]
    assert caption(full).startswith(f"{first} has the lead in ")


def test_small_lead_is_pale_and_tie_has_a_sign():
    won = samples.winners()

    def strength(lead):
        axes = plots.plot_winners(won.assign(lead=lead).iloc[:1]).axes[0]
        return axes.collections[0].get_alpha()

    assert strength(1.03) < strength(1.5) < strength(2.0) == strength(9.0)
    alone = plots.plot_winners(won.assign(lead=np.nan, runner_up="").iloc[:1])
    assert not alone.axes[0].texts
    assert legend_texts(alone.axes[0]) == ["Falcon-512"]
    ties = plots.plot_winners(won.assign(lead=1.019))
    assert {text.get_text() for axes in ties.axes for text in axes.texts} == {"≈"}
    assert [text[:12] for text in legend_texts(ties.axes[0])] == ["≈ lead below"]
    three = pd.concat([won, won[won["question"] == "50000 B"].assign(question="9 B")])
    assert [axes.axison for axes in plots.plot_winners(three).axes] == [True, True, True, False]


def proofs(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.get_lines() if "proof" in line.get_label()}


def test_lists_and_proofs_are_drawn_over_their_numbers_of_validators() -> None:
    axes = plots.plot_certificates(samples.certificates())
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
    rows = samples.certificates()
    rows.loc[rows["nodes"] == 1499, "certificate_bytes"] = 4e5
    axes, enlarged = plots.plot_certificates(rows).figure.axes
    assert proofs(enlarged).keys() == proofs(axes).keys()
    assert enlarged.get_xlim() == axes.get_xlim()
    assert {line.get_marker() for line in proofs(axes).values()} == {"."}
    low, high = enlarged.get_ylim()
    assert 1e5 < low < 2e5 < 4e5 < high < 6e5
