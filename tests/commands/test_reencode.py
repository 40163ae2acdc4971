"""`pqchain reencode`: runs, output and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from pqchain import results
from pqchain.commands.main import main
from pqchain.reencode import replays, scenario
from pqchain.wire.drivers import namespaces
from tests import frames

SMALL = ["reencode", "--block-bytes", "7000"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Replace the replay and record its arguments."""
    calls: list[dict[str, object]] = []

    def fake_replay(one: scenario.ReplayScenario, **options: object):
        calls.append({"scenario": one, **options})
        kinds = options["streams"]
        if not kinds:
            return frames.replay_result({})
        return replace(frames.replay_result({}), frame=frames.exchanges((1.0, 2.0)))

    monkeypatch.setattr(replays, "replay", fake_replay)
    return calls


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--datagram-bytes", "20000"],
            "datagram_bytes must be a whole number from 1200",
        ),
        (["--datagram-bytes", "100"], "datagram_bytes must be"),
        (["--block-bytes", "0"], "block_bytes must be a whole number from 1 to"),
        (["--blocks", "0"], "blocks must be a"),
        (["--repeats", "0"], "--repeats must be a whole number from 1 to 10000; got 0"),
        (["--seed=-1"], "seed must be a"),
        (["--streams", "foo"], "unknown streams 'foo'; expected one of single, multiplexed"),
        (["--streams", "single-"], "did you mean 'single'?"),
        (["--loss", "1.5"], "loss must be a number from 0 to 1; got 1.5"),
        (["--bits-per-second", "-1"], "bits_per_second must be a number from 1 to"),
        (["--datagram-seconds", "-1"], "datagram_seconds must be"),
        (
            ["--mode", "loopback", "--loss", "0.1"],
            "--mode virtual or netns; got loopback",
        ),
        (["--mode", "virtual", "--transport", "grpc"], "got grpc, which needs sockets"),
        (["--output", "runs.txt"], "must end in .csv; got runs.txt"),
        (["--mode", "moon"], "netns, cluster; got 'moon'"),
        (["--bits-per-second", "1e7,1e9"], "with several values needs --ways"),
        (["--plot", "a.svg"], "--plot needs --ways"),
        (["--ways", "udp"], "unknown way 'udp'"),
        (["--ways", "quic", "--loss", "much"], "--loss must be a number; got 'much'"),
        (["--ways", "quic", "--mode", "loopback"], "--mode must be virtual or netns"),
        (["--blocks", "many"], "--blocks must be a whole number; got 'many'"),
    ],
)
def test_bad_input_is_rejected_with_the_value(arguments, said, capsys):
    assert main(["reencode", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out


def test_streams_are_compared_and_the_interval_is_shown(fake, capsys):
    arguments = [*SMALL, "--streams", "single,multiplexed", "--repeats", "2"]
    assert main(arguments) == 0
    assert "95 % interval" in capsys.readouterr().out
    assert (fake[0]["streams"], fake[0]["repeats"]) == (["single", "multiplexed"], 2)
    assert main([*arguments, "--json"]) == 0
    contrast = json.loads(capsys.readouterr().out)["contrast"][0]
    assert contrast["saving_percent"] == pytest.approx(1.5)


def test_options_reach_the_scenario(fake):
    options = ["--mode", "netns", "--bits-per-second", "1e7", "--seed", "3"]
    reason = namespaces.unavailable_reason()
    assert main([*SMALL, *options]) == 0
    if reason:
        assert not fake
        options[1] = "virtual"
        assert main([*SMALL, *options]) == 0
    one = fake[0]["scenario"]
    assert isinstance(one, scenario.ReplayScenario)
    assert (one.link.bits_per_second, one.seed) == (1e7, 3)
    assert main([*SMALL, "--datagram-seconds", "2e-6"]) == 0
    one = fake[1]["scenario"]
    assert isinstance(one, scenario.ReplayScenario)
    assert one.compute.datagram_seconds == 2e-6


def test_another_transport_runs_on_loopback(fake):
    assert main([*SMALL, "--transport", "tcp-tls"]) == 0
    one = fake[0]["scenario"]
    assert isinstance(one, scenario.ReplayScenario)
    assert (one.mode, one.transport) == ("loopback", "tcp-tls")


def test_unsupported_runs_are_rows_with_the_reason(monkeypatch, fake, capsys):
    monkeypatch.setattr(namespaces, "unavailable_reason", lambda: "network namespaces need root")
    assert main([*SMALL, "--mode", "netns"]) == 0
    assert "unsupported: network namespaces need root" in capsys.readouterr().out
    assert not fake


def test_runs_are_saved_with_their_provenance(fake, tmp_path, capsys):
    assert main([*SMALL, "--output", str(tmp_path / "runs.csv")]) == 0
    assert len(results.load(tmp_path / "runs.csv")) == 1
    assert "Saved:" in capsys.readouterr().err


def test_links_are_shown_saved_and_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(replays, "replay", lambda one, **_: frames.replay_result({}))
    monkeypatch.setattr(replays, "unavailable_reason", lambda one: "")
    picture, table = tmp_path / "links.svg", tmp_path / "links.csv"
    links = ["--loss", "0", "--delay-seconds", "1e-4"]
    words = ["reencode", "--ways", "tcp,quic,quic-bbr", *links]
    assert main([*words, "--plot", str(picture), "--output", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "10 Mbit/s" in shown and "unsupported" not in shown.splitlines()[0]
    assert "got tcp-tls, which needs sockets" in shown
    assert picture.read_bytes().startswith(b"<?xml") and table.is_file()
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["links"]
    assert [row["way"] for row in rows] == ["tcp", "quic", "quic-bbr"] * 2


def test_terminated_replay_leaves_no_files(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "pqchain", "reencode", "--block-bytes", "20000000"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in run.stderr:
        if "of chunks" in line:
            break
    # A chunk is stored: the probe files of `tempfile` are removed by then.
    while not any(tmp_path.glob("*/*/*")) and run.poll() is None:
        time.sleep(0.01)
    run.terminate()
    assert run.wait(60) == 128 + signal.SIGTERM
    run.stderr.close()
    assert list(tmp_path.iterdir()) == []
