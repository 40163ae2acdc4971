"""`pqchain links`: table, JSON, plot and usage errors."""

import json

from pqchain.commands.main import main
from pqchain.reencode import replays
from tests import frames


def test_sweep_is_shown_saved_and_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(replays, "replay", lambda one, **_: frames.replay_result({}))
    monkeypatch.setattr(replays, "unavailable_reason", lambda one: "")
    picture, table = tmp_path / "links.svg", tmp_path / "links.csv"
    arguments = ["links", "--ways", "tcp,quic,quic-bbr", "--loss", "0", "--delay-seconds", "1e-4"]
    assert main([*arguments, "--plot", str(picture), "--output", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "10 Mbit/s" in shown and "unsupported" not in shown.splitlines()[0]
    assert "got tcp-tls, which needs sockets" in shown
    assert picture.read_bytes().startswith(b"<?xml") and table.is_file()
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["links"]
    assert [row["way"] for row in rows] == ["tcp", "quic", "quic-bbr"] * 2


def test_wrong_use_is_rejected(refused):
    refused(["links", "--plot", "a.gif"], "plot must end in one of .pdf, .svg, .png")
    refused(["links", "--loss", "much"], "--loss must be numbers separated by commas; got much")
    refused(["links", "--mode", "loopback"], "--mode must be virtual or netns")
    refused(["links", "--ways", "udp"], "unknown way 'udp'")
