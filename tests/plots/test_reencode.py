"""Plots of re-encoding: values and labels."""

import pytest

from pqchain import plots
from pqchain.errors import UsageError
from tests import frames
from tests.plots.common import caption, legend_texts, notes


def test_phases_of_a_run_fill_the_bar() -> None:
    axes = plots.plot_phases(frames.replays()["table1"])
    bars = [patch for patch in axes.patches if patch.get_width() > 0]
    assert len(bars) == 20
    ends: dict[float, float] = {}
    for bar in bars:
        level = round(bar.get_y() + bar.get_height() / 2)
        ends[level] = max(ends.get(level, 0), bar.get_x() + bar.get_width())
    assert list(ends) == [0, 1, 2, 3]
    assert all(abs(end - 100) < 0.02 for end in ends.values())
    assert "published" in axes.get_yticklabels()[0].get_text()
    assert all(int(text.get_text().split("\u202f")[0]) >= 10 for text in axes.texts)
    assert caption(axes).startswith("Transfer's share of a node's time: from ")
    assert legend_texts(axes) == ["transfer", "decode", "encode", "reading and writing", "other"]


def test_streams_have_the_change_by_multiplexing_with_its_interval() -> None:
    series = frames.replays()["figure1"]
    axes = plots.plot_streams(series)
    assert "in simulated time" in notes(axes)
    chosen = series[series["mode"] == "virtual"].set_index(["streams", "blocks"])
    single, other = (chosen.loc[name].sort_index() for name in ("single", "multiplexed"))
    changes = 100 * (other["transfer_seconds"] / single["transfer_seconds"] - 1)
    points = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() == "o"]
    assert points == pytest.approx(list(changes))
    least = 100 * (other["low_seconds"] / single["high_seconds"] - 1)
    starts = [whisker.get_segments()[0][0][0] for whisker in axes.collections]
    assert starts == pytest.approx(list(least))
    assert "-" not in "".join(text.get_text() for text in axes.texts)


def test_streams_without_both_kinds_are_rejected() -> None:
    series = frames.replays()["figure1"]
    with pytest.raises(UsageError, match="single and multiplexed"):
        plots.plot_streams(series[series["streams"] == "single"])


def test_transports_are_next_to_the_limit_of_the_link() -> None:
    axes = plots.plot_transports(frames.replays()["transports"])
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows == ["TCP with TLS", "QUIC (aioquic)", "QUIC (native)"]
    assert "not measured here" in "".join(text.get_text() for text in axes.texts)
    assert "10 Mbit/s" in notes(axes)
    assert "dotted: least time that the link allows" in notes(axes)
    table = frames.replays()["transports"]
    verdicts = ["bound by the processor: all of it"] * len(table)
    label = notes(plots.plot_transports(table.assign(verdict=verdicts)))
    assert "limited by the processor: TCP with TLS and" in label
