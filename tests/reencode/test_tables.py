"""Replays as tables."""

from pqchain.reencode import replays, tables
from tests import frames


def test_many_runs_are_shown_as_means_and_few_singly():
    few, many = frames.exchanges((1.0, 2.0)), frames.exchanges((1.0, 2.0, 3.0, 4.0))
    assert "mean of" not in tables.runs_table(few).text()
    assert "mean of 4" in tables.runs_table(many).text()


def test_shares_are_listed_below_the_runs():
    table = tables.runs_table(frames.replay_runs({}))
    run, share = table.records()
    assert run["verdict"]
    assert share["repeat"] == "share"
    assert share["total"] == 1
    assert share["CPU"] is None


def test_stream_comparison_is_a_remark():
    compared = replays.contrast(frames.exchanges((1.0, 2.0)), claimed_percent=3.7)
    table = tables.contrast_table(compared)
    assert [column.title for column in table.columns][-2:] == ["saved", "95 % interval"]
    dropped = [column.title for column in table.columns if column.group == "dropped datagrams"]
    assert dropped == ["single", "multiplexed"]
    # Sockets do not count them.
    live = replays.contrast(frames.exchanges((1.0, 2.0), mode="loopback"), claimed_percent=3.7)
    assert "dropped" not in tables.contrast_table(live).text()
    assert table.remarks == list(compared["verdict"])
    assert "1.50 %" in table.text()
