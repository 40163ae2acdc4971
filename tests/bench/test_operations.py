"""The benchmark of operations: its frame, unsupported schemes and failures."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from pqchain import algorithms, plots
from pqchain.algorithms import ALGORITHMS, SIGNATURE_OPERATIONS
from pqchain.bench import operations as bench
from pqchain.bench import rounds
from pqchain.crypto import native, unavailable_reason
from pqchain.errors import CryptoFailure, UnknownAlgorithm, UnknownImplementation, UsageError
from pqchain.results import machine
from pqchain.results.measurements import MEASUREMENT

pytestmark = pytest.mark.skipif(
    bool(unavailable_reason("liboqs-0.13/ref")),
    reason=unavailable_reason("liboqs-0.13/ref") or "available",
)


def test_frame_matches_its_contract_and_has_provenance() -> None:
    frame = bench.measure("ML-DSA-44", implementations="liboqs-0.13/ref")
    assert list(frame.columns) == list(MEASUREMENT.columns)
    assert list(frame["operation"]) == ["generate_keypair", "sign", "verify"]
    assert (frame["status"] == "ok").all()
    assert (frame["min_seconds"] <= frame["median_seconds"]).all()
    assert (frame["median_seconds"] <= frame["p95_seconds"]).all()
    assert frame.attrs["provenance"]["preset"] == "quick"
    assert frame.attrs["provenance"]["machine_id"]


def test_statistics_are_those_of_the_samples_after_the_warm_up() -> None:
    seconds = np.random.default_rng(1).random(50)
    parts = pd.DataFrame({"seconds": [9.0, *seconds], "cycles": math.nan, "warmup": False})
    parts.loc[0, "warmup"] = True
    cell = rounds.TimedCell(
        algorithms.get("Ed25519"), "a/b", "sign", "ok", "", [parts[:20], parts[20:]]
    )
    row = bench._row(cell)
    assert row["samples"] == 50
    assert row["median_seconds"] == np.median(seconds)
    assert row["mad_seconds"] == np.median(np.abs(seconds - np.median(seconds)))
    assert (row["min_seconds"], row["p95_seconds"]) == (seconds.min(), np.quantile(seconds, 0.95))


def test_rows_have_notes_on_their_implementation() -> None:
    frame = bench.measure(["ML-KEM-512", "Ed25519"], "generate_keypair")
    rows = frame.set_index(["algorithm", "implementation"])
    assert rows.loc[("ML-KEM-512", "liboqs-0.13/ref"), "status"] == "ok"
    openssl = rows.loc[("Ed25519", "cryptography/openssl")]
    assert openssl["reason"] == rounds.TIMED_IN_PYTHON
    assert np.isnan(openssl["median_cycles"])
    # The default implementation can be measured by its name.
    frame = bench.measure("ML-DSA-44", implementations="liboqs-0.13/dispatch", rounds=1)
    assert [*frame["status"].unique(), *frame["reason"].unique()] == ["ok", rounds.TIMED_IN_PYTHON]
    build = "liboqs-0.7.1/ref"
    frame = bench.measure("NTRU-HPS-2048-509", "decapsulate", build)
    assert list(frame["reason"]) == [ALGORITHMS["NTRU-HPS-2048-509"].note(build)]
    assert "PQClean" in frame["reason"][0]


def test_unsupported_schemes_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset())
    lacking = dataclasses.replace(ALGORITHMS["Hawk-512"], implementations=())
    monkeypatch.setitem(ALGORITHMS, "Hawk-512", lacking)
    frame = bench.measure(["ML-DSA-44", "Hawk-512"], "verify")
    rows = {(r.algorithm, r.implementation): r for r in frame.itertuples()}
    avx2 = rows[("ML-DSA-44", "liboqs-0.13/avx2")]
    assert avx2.status == "unsupported"
    assert "this processor lacks" in avx2.reason
    assert np.isnan(avx2.median_seconds)
    assert rows[("ML-DSA-44", "liboqs-0.13/ref")].status == "ok"
    assert rows[("Hawk-512", "")].status == "unsupported"


def test_failed_operation_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: native.Library, name: str, plan: native.TimingPlan) -> None:
        raise CryptoFailure("an operation gave a wrong result")

    monkeypatch.setattr(native.Library, "measure", fail)
    frame = bench.measure("ML-DSA-44", "verify", "liboqs-0.13/ref")
    assert list(frame["status"]) == ["failed"]
    assert list(frame["reason"]) == ["an operation gave a wrong result"]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (["Falcon512"], {}, UnknownAlgorithm, "did you mean 'Falcon-512'"),
        (["Falcon-512", None, "liboqs"], {}, UnknownImplementation, "liboqs"),
        (["Falcon-512", "signing"], {}, UsageError, "unknown operation 'signing'"),
        (["Falcon-512"], {"preset": "fast"}, UsageError, "preset must be one of quick, paper"),
        (["Falcon-512"], {"rounds": 0}, UsageError, "rounds must be .* got 0"),
        ([[]], {}, UsageError, "at least one algorithm"),
        (["Ed25519", []], {}, UsageError, "at least one operation"),
        (["Ed25519", None, []], {}, UsageError, "at least one implementation"),
        (
            [["ML-KEM-512", "Falcon-512"], "encapsulate"], {}, UsageError,
            "Falcon-512 must be generate_keypair, sign, verify or decode_key; got encapsulate",
        ),
        (
            ["ML-KEM-512", ["sign", "decode_key"]], {}, UsageError,
            "operation of ML-KEM-512 must be generate_keypair, encapsulate or decapsulate",
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_rejected(arguments, options, error, message) -> None:
    with pytest.raises(error, match=message):
        bench.measure(*arguments, **options)


@pytest.mark.native
def test_each_round_covers_every_cell(monkeypatch):
    """A busy second must not slow down all rounds of one cell, which would shift its median."""
    turns = []
    run_round = bench.run_round

    def record(cell, preset, index, *others):
        turns.append((index, cell.algorithm.name, cell.operation))
        return run_round(cell, preset, index, *others)

    monkeypatch.setattr(bench, "run_round", record)
    bench.measure(["ML-DSA-44", "Falcon-512"], "verify", "liboqs-0.13/ref", rounds=2)
    assert turns == [
        (0, "ML-DSA-44", "verify"), (0, "Falcon-512", "verify"),
        (1, "ML-DSA-44", "verify"), (1, "Falcon-512", "verify"),
    ]  # fmt: skip


@pytest.mark.native
def test_decoding_a_key_is_a_cost_of_its_own() -> None:
    frame = bench.measure(["Hawk-512", "Ed25519"], ["verify", "decode_key"], rounds=1)
    rows = frame.set_index(["algorithm", "implementation", "operation"])
    row = rows.loc["Hawk-512", "hawk/ref", "decode_key"]
    assert (row["status"], "mean of 64 keys" in row["reason"]) == ("ok", True)
    assert row["samples"] > 0
    assert plots.plot_speed(frame).lines
    other = rows.loc["Ed25519", "cryptography/openssl", "decode_key"]
    assert (other["status"], other["samples"]) == ("unsupported", 0)
    assert "encoded public key only" in other["reason"]
    # Only where it is named, because few libraries separate it.
    assert set(bench.measure("Hawk-512", rounds=1)["operation"]) == set(SIGNATURE_OPERATIONS)
    assert frame.attrs["provenance"]["rounds"] == 1


def test_kept_rounds_are_measured_once_unless_they_must_be_fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "kept"))
    how = {"preset": "quick", "rounds": 2, "keep_rounds": True, "warn": False}
    first = bench.measure("Ed25519", "verify", "cryptography/openssl", **how)
    count, samples = [], rounds._measured_round
    monkeypatch.setattr(
        rounds, "_measured_round", lambda *given: count.append(given) or samples(*given)
    )
    kept = bench.measure("Ed25519", "verify", "cryptography/openssl", fresh=False, **how)
    assert not count and kept.equals(first)
    assert kept.attrs["rounds"][1].equals(first.attrs["rounds"][1])
    assert kept.attrs["provenance"]["resumed_rounds"] == 2 * len(first)
    # Another preset, code or round is another measurement.
    bench.measure("Ed25519", "verify", "cryptography/openssl", fresh=False, **how | {"rounds": 3})
    assert len(count) == len(first)
    monkeypatch.setattr(rounds.installation, "package_version", lambda package: "0")
    bench.measure("Ed25519", "verify", "cryptography/openssl", fresh=False, **how)
    assert len(count) > len(first)
    before = len(count)
    bench.measure("Ed25519", "verify", "cryptography/openssl", **how)
    assert len(count) == before + 2 * len(first)


def test_each_round_is_a_frame():
    named = {"Ed25519": "cryptography/openssl", "ML-DSA-44": ["liboqs-0.13/ref"]}
    frame = bench.measure(None, ["verify"], named, rounds=2, keep_rounds=True, warn=False)
    several = frame.attrs["rounds"]
    assert len(several) == 2 and all(set(row["status"]) == {"ok"} for row in several)
    one, other = (frame["median_seconds"] for frame in several)
    assert not one.equals(other)
    assert [*several[0]["algorithm"].unique()] == ["Ed25519", "ML-DSA-44"]
