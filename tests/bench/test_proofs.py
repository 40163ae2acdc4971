"""The benchmark of leanXMSS proofs: sizes, rows, reasons, and a real run where it is installed."""

import json
import math

import pytest

from pqchain import results
from pqchain.bench import proofs
from pqchain.commands.main import main
from pqchain.errors import CryptoFailure, DataError, UsageError
from pqchain.study import provers
from tests import frames

SIGNED = {"sign_seconds": 0.35, "verify_signature_seconds": 7e-5, "signature_bytes": 2404.0}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Replace the child processes by closed forms; return their arguments."""
    calls: list[tuple[object, ...]] = []

    def child(step: str, folder: str, **counts: int) -> dict[str, float]:
        calls.append((step, *counts.values()))
        if step == "sign":
            return SIGNED
        signatures = counts["children"] * counts["count"]
        if signatures > 1000:
            raise CryptoFailure("py-lean-pq could not prove: exit code -9")
        return {
            "prove_seconds": signatures / 20, "prove_cpu_seconds": signatures / 10,
            "proof_bytes": 190_000 + 100.0 * signatures, "claims_bytes": 64.0 * signatures,
            "verify_seconds": 0.015, "setup_seconds": 2.8, "setup_peak_bytes": 4e8,
            "peak_bytes": 5e8 + 7e6 * signatures,
        }  # fmt: skip

    monkeypatch.setattr(proofs, "_child", child)
    monkeypatch.setattr(proofs, "unavailable_reason", lambda: "")
    monkeypatch.setattr(proofs, "version", lambda package: "0.7.0")
    monkeypatch.setattr(proofs.machine, "provenance", lambda: dict(frames.PROVENANCE))
    return calls


def test_sizes_are_signatures_or_merged_proofs() -> None:
    assert proofs.parse_sizes(["16", "1024", "2x64"]) == [(1, 16), (1, 1024), (2, 64)]
    for size in ("0", "-1", "1x64", "x64", "2x", "2x0", "99x1000", "64.0", "٣"):
        with pytest.raises(UsageError, match="a size must be"):
            proofs.parse_sizes([size])


def test_each_size_is_a_row_and_is_signed_for_once(installed):
    frame = proofs.measure_proofs([(1, 16), (2, 64), (1, 2000)])
    signed = [(start, end) for step, start, end in installed if step == "sign"]
    # The first signatures are timed alone; the order of the others is that of the processors.
    assert signed[0] == (0, 32)
    assert [leaf for part in sorted(signed) for leaf in range(*part)] == list(range(2000))
    assert installed[len(signed) :] == [("prove", 1, 16), ("prove", 2, 64), ("prove", 1, 2000)]
    assert list(frame["signatures"]) == [16, 128, 2000]
    assert list(frame["children"]) == [0, 2, 0]
    assert list(frame["status"]) == ["ok", "ok", "failed"]
    assert frame["reason"][2] == "py-lean-pq could not prove: exit code -9"
    assert math.isnan(frame["prove_seconds"][2])


def test_a_missing_package_or_instruction_is_named(monkeypatch, capsys):
    def missing(package: str) -> str:
        raise proofs.PackageNotFoundError(package)

    monkeypatch.setattr(proofs, "version", missing)
    assert main(["bench", "--proofs", "16"]) == 1
    assert "py-lean-pq is not installed: pip install py-lean-pq" in capsys.readouterr().out
    monkeypatch.setattr(proofs, "version", lambda package: "0.7.0")
    monkeypatch.setattr(proofs.machine, "cpu_flags", lambda: frozenset({"avx2"}))
    assert proofs.unavailable_reason() == "this processor lacks pclmulqdq, which py-lean-pq needs"


def test_the_command_shows_and_saves_proofs(installed, tmp_path, capsys):
    file = tmp_path / "proofs.csv"
    assert main(["bench", "--proofs", "16,2x64", "--output", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "leanXMSS by py-lean-pq 0.7.0" in shown
    assert "2404" in shown.replace(",", "")
    assert main(["bench", "--proofs", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proofs"][0]["proof_bytes"] == 191_600
    assert len(results.load(file)) == 2
    assert main(["bench", "--proofs", "16", "--algorithm", "Falcon-512"]) == 2
    assert "--proofs cannot be combined with --algorithm" in capsys.readouterr().err


def test_a_measured_prover_has_the_values_of_its_file(installed, tmp_path):
    file = tmp_path / "proofs.csv"
    results.save(proofs.measure_proofs([(1, 16), (2, 64), (4, 64), (1, 100)]), file)
    prover = provers.read_measured(file)
    assert prover.evidence == provers.MEASURED
    assert prover.rate_per_second(8) == 20
    assert prover.proof_bytes(58) == pytest.approx(195_800)
    assert prover.merge_seconds == 6.4
    assert prover.verify_seconds(4096) == 0.015
    assert prover.memory_bytes == pytest.approx(5e8 + 7e6 * 256)
    assert (prover.algorithm, prover.signature_bytes) == ("leanXMSS", 2404)
    results.save(proofs.measure_proofs([(2, 64)]), file)
    with pytest.raises(DataError, match="must have a proof of signatures"):
        provers.read_measured(file)


@pytest.mark.long
def test_a_real_proof_covers_its_signatures() -> None:
    pytest.importorskip("py_lean_pq", reason="extra lean: pip install py-lean-pq")
    if reason := proofs.unavailable_reason():
        pytest.skip(reason)
    frame = proofs.measure_proofs([(1, 2)])
    row = frame.to_dict("records")[0]
    assert (row["status"], row["claims_bytes"], row["signature_bytes"]) == ("ok", 128, 2404)
    assert 1e5 < row["proof_bytes"] < 1e6
    assert row["peak_bytes"] > row["setup_peak_bytes"] > 1e8
