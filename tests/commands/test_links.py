"""`pqchain links`: a table, JSON, a picture, and refusals."""

import json

from pqchain.commands.main import main
from pqchain.reencode import replay
from tests import frames


def test_a_sweep_is_shown_saved_and_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(replay, "replay", lambda one, **_: frames.replay_runs({}))
    monkeypatch.setattr(replay, "unavailable_reason", lambda one: "")
    picture, table = tmp_path / "links.svg", tmp_path / "links.csv"
    arguments = ["links", "--ways", "tcp,quic,quic-bbr", "--loss", "0", "--delay-seconds", "1e-4"]
    assert main([*arguments, "--plot", str(picture), "--output", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "10 Mbit/s" in shown and "unsupported" not in shown.splitlines()[0]
    assert "tcp-tls needs sockets" in shown
    assert picture.read_bytes().startswith(b"<?xml") and table.is_file()
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["links"]
    assert [row["way"] for row in rows] == ["tcp", "quic", "quic-bbr"] * 2


def test_wrong_use_is_refused(refused):
    refused(["links", "--plot", "a.gif"], "give a file that ends in .pdf, .svg, .png")
    refused(["links", "--loss", "much"], "--loss much: expected numbers separated by commas")
    refused(["links", "--mode", "loopback"], "its links are not shaped")
    refused(["links", "--ways", "udp"], "unknown way 'udp'")
