"""Interrupted measurements: `--resume` of bench, chain and reproduce."""

from collections import Counter

import pytest

from pqchain import bench, results
from pqchain.bench import blocks, rounds
from pqchain.reproduce import notebooks
from pqchain.works import registry
from tests import frames
from tests.reproduce.fakes import no_pages

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "kept"))


def interrupt_at(monkeypatch, module, name, number, error=KeyboardInterrupt):
    """Let the call of this number raise; return the counts of the first argument of all calls."""
    original, calls = getattr(module, name), Counter()

    def counted(*given, **named):
        calls[str(given[0] if given else named["algorithm"])] += 1
        if calls.total() == number:
            raise error
        return original(*given, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


BENCH = ["bench", "--algorithm", "Ed25519,Hawk-512", "--operation", "verify", "--preset", "quick"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1)])
def test_bench_measures_only_the_missing_rounds(monkeypatch, run, capsys, error, code):
    calls = interrupt_at(monkeypatch, rounds, "round_samples", 4, error)
    said = " ".join(run(BENCH, code).err.split())
    assert "is kept; to go on, run the same command with --resume" in said
    first = calls.total()
    shown = run([*BENCH, "--resume", "--json"]).data
    assert shown["provenance"]["resumed_rounds"] == 3
    rows = [row for row in shown["measurements"] if row["status"] == "ok"]
    assert calls.total() - first == 3 * len(rows) - 3
    run([*BENCH, "--resume"])  # the run is complete
    assert calls.total() - first == 3 * len(rows) - 3


def test_resumed_samples_are_those_that_were_measured(monkeypatch, run, tmp_path):
    stored = []
    original = rounds.round_samples

    def recorded(**named):
        if len(stored) == 2:
            raise KeyboardInterrupt
        stored.append(original(**named))
        return stored[-1]

    monkeypatch.setattr(rounds, "round_samples", recorded)
    output = tmp_path / "times.csv"
    line = "bench --algorithm Ed25519 --operation sign --preset quick --output"
    line += f" {output} --implementation cryptography/openssl"
    run(line, 130)
    assert not output.exists()
    monkeypatch.setattr(rounds, "round_samples", original)
    run(f"{line} --resume")
    [row] = results.load(output).to_dict("records")
    assert row["samples"] > sum(len(seconds) - 1 for seconds, _ in stored)
    assert row["min_seconds"] <= min(min(seconds[1:]) for seconds, _ in stored)
    assert results.load(output).attrs["provenance"]["resumed_rounds"] == 2


def test_chain_keeps_the_blocks_of_earlier_schemes(monkeypatch, run):
    calls = interrupt_at(monkeypatch, blocks, "_measure", 2)
    line = "chain --algorithm Ed25519,Falcon-512 --transactions 3 --threads 1 --preset quick"
    assert "with --resume" in " ".join(run(line, 130).err.split())
    shown = run(f"{line} --resume --json").data["blocks"]
    assert [row["status"] for row in shown] == ["ok", "ok"]
    assert all(row["valid"] == "yes" and row["rounds"] >= 3 for row in shown)
    assert calls.total() == 3  # two before the interruption, and the missing one


def test_reproduce_computes_only_the_missing_works(monkeypatch, tmp_path, run):
    computed = []
    monkeypatch.setattr(bench, "measure", lambda names, **options: frames.measurements(names))
    monkeypatch.setattr(bench, "measure_blocks", lambda names, **options: frames.blocks(names))
    monkeypatch.setattr(notebooks, "write_pages", no_pages)
    works = {work.key: type(work) for work in registry.works()}

    def record(key, is_interrupted):
        original = works[key].compute

        def compute(self, tools):
            computed.append(key)
            if is_interrupted and computed.count(key) == 1:
                raise KeyboardInterrupt
            return original(self, tools)

        monkeypatch.setattr(works[key], "compute", compute)

    record("mini-blockchain", False)
    record("falcon-hls", True)
    folder = tmp_path / "results"
    line = f"reproduce --only mini-blockchain,falcon-hls --preset quick --output {folder}"
    run(line, 130)
    assert not (folder / "index.html").exists()
    run(f"{line} --resume")
    assert computed == ["mini-blockchain", "falcon-hls", "falcon-hls"]
    assert (folder / "mini-blockchain" / "blocks.csv").is_file()
    assert (folder / "index.html").is_file()
