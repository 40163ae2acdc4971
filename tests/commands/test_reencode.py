"""`pqchain reencode`: runs, output and exit codes."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from pqchain import results
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
        result = frames.replay_result({})
        return replace(result, frame=frames.exchanges((1.0, 2.0))) if options["streams"] else result

    monkeypatch.setattr(replays, "replay", fake_replay)
    return calls


def test_streams_are_compared_and_the_interval_is_shown(fake, run):
    arguments = [*SMALL, "--streams", "single,multiplexed", "--repeats", "2"]
    assert "95 % interval" in run(arguments).out
    assert (fake[0]["streams"], fake[0]["repeats"]) == (["single", "multiplexed"], 2)
    contrast = run([*arguments, "--json"]).data["contrast"][0]
    assert contrast["saving_percent"] == pytest.approx(1.5)


def test_options_reach_the_scenario(fake, run):
    options = ["--mode", "netns", "--bits-per-second", "1e7", "--seed", "3"]
    reason = namespaces.unavailable_reason()
    run([*SMALL, *options])
    if reason:
        assert not fake
        options[1] = "virtual"
        run([*SMALL, *options])
    run([*SMALL, "--datagram-seconds", "2e-6"])
    run([*SMALL, "--transport", "tcp-tls"])
    first, second, third = (each["scenario"] for each in fake)
    assert (first.link.bits_per_second, first.seed) == (1e7, 3)
    assert second.compute.datagram_seconds == 2e-6
    assert (third.mode, third.transport) == ("loopback", "tcp-tls")


def test_unsupported_runs_are_rows_with_the_reason(monkeypatch, fake, run):
    monkeypatch.setattr(namespaces, "unavailable_reason", lambda: "network namespaces need root")
    assert "unsupported: network namespaces need root" in run([*SMALL, "--mode", "netns"]).out
    assert not fake


def test_runs_are_saved_with_their_provenance(fake, tmp_path, run):
    assert "Saved:" in run([*SMALL, "--output", str(tmp_path / "runs.csv")]).err
    assert len(results.load(tmp_path / "runs.csv")) == 1


def test_terminated_replay_leaves_no_files(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "pqchain", "reencode", "--block-bytes", "20000000"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    # A chunk is stored: the probe files of `tempfile` are removed by then.
    while not any(tmp_path.glob("*/*/*")) and run.poll() is None:
        time.sleep(0.01)
    run.terminate()
    assert run.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
