"""`pqchain engine`: tables, saved frames, exit codes, builds, sizes of certificates."""

from __future__ import annotations

import json
import math

import pytest

from pqchain import algorithms, installation, results
from pqchain.commands.main import main
from pqchain.consensus.scenario import quorum
from pqchain.crypto import source_builds
from pqchain.errors import Unsupported, UsageError
from pqchain.study import provers
from pqchain.study.provers import names
from pqchain_engines import registry
from pqchain_engines.certificates import MAX_NODES, certificate_sizes, tables


def test_list_names_every_engine(capsys):
    assert main(["engine", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["engines"]
    assert [row["engine"] for row in rows] == list(registry.engines())


def test_run_shows_medians_and_saves_heights(fake_engine, tmp_path, capsys):
    fake_engine("right")
    path = tmp_path / "heights.csv"
    arguments = ["engine", "run", "simplex", "--algorithm", "Ed25519", "--nodes", "4,7"]
    assert main([*arguments, "--heights", "3", "--output", str(path)]) == 0
    assert "Ed25519" in capsys.readouterr().out
    assert results.load(path)["nodes"].tolist() == [4] * 3 + [7] * 3
    assert main([*arguments, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_a_run_that_fails_exits_1(fake_engine, capsys):
    fake_engine("crash")
    assert main(["engine", "run", "simplex", "--algorithm", "Ed25519"]) == 1
    assert "exit code 101" in capsys.readouterr().out


def test_prices_are_shown(fake_engine, capsys):
    fake_engine("right")
    assert main(["engine", "prices", "simplex", "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prices"][0]["sign_seconds"] == 1e-4


@pytest.mark.native
def test_precompiles_of_an_evm_are_shown(fake_engine, capsys):
    fake_engine("evm")
    assert main(["engine", "run", "revm", "--algorithm", "ML-DSA-44", "--runs", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["precompiles"]
    assert [row["precompile"] for row in rows] == ["ecrecover", "verify ML-DSA-44"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("run simplx", "unknown engine"),
        ("run simplex --algorithm Hawk-512", "Hawk-512"),
        ("run simplex --timeout 0", "--timeout"),
        ("run revm --block-bytes 2000", "an EVM without validators"),
        ("prices revm", "must be a consensus engine"),
        ("build none", "unknown engine"),
        ("certificates --nodes 3", "nodes must be a whole number from 4"),
    ],
)
def test_wrong_use_is_rejected(words, reason, refused, fake_engine):
    fake_engine("evm")
    refused(["engine", *words.split()], reason)


def test_a_failed_build_exits_1(monkeypatch, capsys):
    monkeypatch.setattr(registry, "build", lambda names: {"simplex": ("failed", "no memory")})
    assert main(["engine", "build"]) == 1
    assert "no memory" in capsys.readouterr().out
    monkeypatch.setattr(registry, "build", lambda names: {"simplex": ("unsupported", "no cargo")})
    assert main(["engine", "build"]) == 0
    assert main(["engine", "build", "simplex"]) == 1


def test_certificates_are_shown_and_saved(tmp_path, capsys):
    path = tmp_path / "certificates.csv"
    arguments = ["engine", "certificates", "--nodes", "4,16", "--output", str(path)]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["certificates"]
    assert {row["nodes"] for row in rows if row["form"] != "proof"} == {4, 16}
    assert len(results.load(path)) == len(rows)


@pytest.mark.parametrize("engine", registry.engines().values(), ids=registry.engines())
def test_lock_files_pin_the_stated_version_with_checksums(engine):
    lock = (engine.source.sources / engine.locks).read_text(encoding="utf-8")
    if engine.locks == "Cargo.lock":
        assert f'name = "{engine.package}"\nversion = "{engine.version}"' in lock
        packages = [part for part in lock.split("[[package]]")[1:] if "source =" in part]
        assert len(packages) > 50
        assert all("checksum =" in part for part in packages)
    else:
        assert f"{engine.package} v{engine.version} h1:" in lock


@pytest.mark.parametrize("engine", registry.engines().values(), ids=registry.engines())
def test_an_engine_that_is_missing_is_named_with_its_remedy(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))
    for program, message in (
        ("/usr/bin/tool", f"run `pqchain engine build {engine.name}`"),
        (None, r"no .* on the path; install "),
    ):
        monkeypatch.setattr(source_builds.shutil, "which", lambda tool, at=program: at)
        with pytest.raises(Unsupported, match=message):
            engine.executable()
    status, reason = registry.build([engine.name])[engine.name]
    assert (status, reason.count("\n")) == ("unsupported", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_build_is_used_without_its_toolchain(tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    (sources / "simplex").mkdir(parents=True)
    (sources / "simplex" / "build.sh").write_text("touch engine-simplex\n")
    monkeypatch.setattr(registry, "SOURCES", sources)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    assert registry.build(["simplex"]) == {"simplex": ("built", "")}
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: None)
    engine = registry.get("Simplex")
    assert engine.executable().is_file()
    cometbft = registry.get("cometbft")
    assert set(cometbft.programs) <= set(cometbft.algorithms)
    assert registry.build(["simplex"]) == {"simplex": ("cached", "")}


NODES = (4, 5, 6, 7, 100)


def test_lists_and_aggregates_have_their_closed_forms() -> None:
    prices = results.load(installation.data("engines") / "prices" / "simplex.csv")
    price = prices.set_index("algorithm")
    frame = certificate_sizes(NODES)
    votes = frame[frame["form"] != "proof"]
    assert len(votes) == len(price) * len(NODES)
    for row in votes.to_dict("records"):
        signatures = {4: 3, 5: 4, 6: 5, 7: 5, 100: 67}[row["nodes"]]
        bitmap = math.ceil(row["nodes"] / 8)
        size = algorithms.get(row["algorithm"]).signature_bytes
        cost = price.loc[row["algorithm"]]
        assert row["signatures"] == signatures
        if row["algorithm"] == "BLS12-381":
            seconds = cost["verify_seconds"] + signatures * cost["aggregate_seconds"]
            expected = ("aggregate", 96 + bitmap)
        else:
            seconds = signatures * cost["verify_seconds"]
            expected = ("list", signatures * size + bitmap)
        assert (row["form"], row["certificate_bytes"]) == expected
        assert row["verify_seconds"] == pytest.approx(seconds)
        assert row["kind"] == "modelled"


def test_proofs_are_those_of_their_sources_and_of_the_least_quorum() -> None:
    frame = certificate_sizes([4])
    proofs = frame[frame["form"] == "proof"].to_dict("records")
    stated = {
        (name, n): size for name in names() for n, size in provers.prover(name).proofs if n >= 3
    }
    sizes = {(row["source"], row["signatures"]): row["certificate_bytes"] for row in proofs}
    assert sizes == stated
    for row in proofs:
        assert quorum(row["nodes"]) == row["signatures"]
        assert quorum(row["nodes"] - 1) < row["signatures"]
        by = provers.prover(row["source"])
        assert row["kind"] == ("cited" if by.evidence.startswith("cited") else "measured")
        expected = by.verify_seconds(row["signatures"])
        assert row["verify_seconds"] == pytest.approx(expected, nan_ok=True)
        assert math.isnan(expected) or row["source"] != "leanmultisig"  # publishes no time


def test_the_frame_is_shown() -> None:
    frame = certificate_sizes(NODES)
    by_bytes, by_time, proofs = tables(frame)
    assert len(by_bytes.rows) == len(by_time.rows) == len(NODES)
    assert len(proofs.rows) == (frame["form"] == "proof").sum()
    assert "ML-DSA-65" in by_bytes.text(150)


@pytest.mark.parametrize("nodes", [[], [3], [MAX_NODES + 1], [True], ["4"]])
def test_numbers_of_validators_out_of_range_are_rejected(nodes) -> None:
    with pytest.raises(UsageError, match="nodes"):
        certificate_sizes(nodes)
