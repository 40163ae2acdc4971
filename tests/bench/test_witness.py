"""Verification time per byte of witness, with verifiers of known times."""

import json

import pytest

import pqchain as pq
from pqchain import results
from pqchain.bench import verification, witness
from pqchain.commands.main import main
from pqchain.errors import UnknownAlgorithm, UsageError
from tests import frames

MICROSECONDS = {"coincurve/libsecp256k1": 40.0, "liboqs-0.13/avx2": 20.0, "liboqs-0.13/ref": 80.0}


class Known:
    """A verifier whose times grow from round to round, as on a machine whose clock slows down."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rounds = 0

    def round(self) -> verification.Times:
        self.rounds += 1
        return verification.Times(self.seconds * (1 + self.rounds))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        witness, "_verifier", lambda algorithm, name: Known(MICROSECONDS[name] * 1e-6)
    )
    monkeypatch.setattr(
        witness.crypto,
        "unavailable_reason",
        lambda name: "" if name in MICROSECONDS else f"{name} is not built",
    )
    monkeypatch.setattr(witness.machine, "provenance", lambda: dict(frames.PROVENANCE))


@pytest.mark.native
@pytest.mark.long
def test_real_verifiers_accept_their_signatures_of_all_kinds() -> None:
    frame = witness.measure_witness(["SHRINCS", "SHRINCS-stateless", "Falcon-512"], rounds=6)
    timed = frame[frame["status"] == "ok"]
    assert {"coincurve/libsecp256k1", "liboqs-0.13/ref"} <= set(timed["implementation"])
    assert (timed["verify_seconds"] > 1e-7).all()
    assert (timed["low_ratio"] <= timed["high_ratio"]).all()
    rows = frame[frame["implementation"] == "slhdsa/ref"].set_index("algorithm")
    assert dict(rows["status"]) == {"SHRINCS": "ok", "SHRINCS-stateless": "ok"}
    # The first signature of 548 bytes, and one of 5777 bytes.
    witnesses = rows["witness_bytes"]
    assert witnesses["SHRINCS-stateless"] - witnesses["SHRINCS"] == 5777 - 548
    assert rows["byte_ratio"].gt(0).all()


def test_a_ratio_compares_times_of_one_round(known: None) -> None:
    frame = witness.measure_witness(["ML-DSA-44"], rounds=6)
    rows = {row["implementation"]: row for row in frame.to_dict("records")}
    assert rows["coincurve/libsecp256k1"]["witness_bytes"] == 103 + 32  # as in BIP-360
    assert rows["coincurve/libsecp256k1"]["byte_ratio"] == 1
    fast = rows["liboqs-0.13/avx2"]
    # 20 and 40 microseconds, whatever the round multiplies them by.
    ratio = 0.5 * 135 / fast["witness_bytes"]
    ends = [fast[name] for name in ("byte_ratio", "low_ratio", "high_ratio")]
    assert ends == pytest.approx([ratio] * 3)
    assert fast["verify_seconds"] == pytest.approx(20e-6 * 4.5)
    assert fast["block_seconds"] == pytest.approx(20e-6 * 4.5 / fast["witness_bytes"] * 4e6)
    assert rows["liboqs-0.13/ref"]["byte_ratio"] == pytest.approx(4 * ratio)
    assert fast["cpu_flags"] == "avx2 bmi2 popcnt"


def test_what_cannot_run_is_a_row_with_the_reason(known, monkeypatch):
    frame = witness.measure_witness(["ML-DSA-44", "leanXMSS"], rounds=2)
    reasons = {
        (row["algorithm"], row["implementation"]): row["reason"]
        for row in frame.to_dict("records")
        if row["status"] == "unsupported"
    }
    assert reasons["ML-DSA-44", "liboqs-0.13/dispatch"] == "liboqs-0.13/dispatch is not built"
    assert "sizes and status only" in reasons["leanXMSS", ""]
    monkeypatch.delitem(MICROSECONDS, "coincurve/libsecp256k1")  # then there is no ratio
    frame = witness.measure_witness(["ML-DSA-44"], rounds=2)
    assert set(frame["status"]) == {"unsupported"}
    assert frame["reason"].str.contains("coincurve/libsecp256k1 is not built").any()


@pytest.mark.parametrize("rounds", [1, 1001, 2.5])
def test_wrong_use_is_rejected(rounds: float) -> None:
    with pytest.raises(UsageError, match="rounds must be"):
        witness.measure_witness(["ML-DSA-44"], rounds=rounds)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be a signature scheme; got ML-KEM-768"):
        witness.measure_witness(["ML-KEM-768"])
    with pytest.raises(UnknownAlgorithm):
        witness.measure_witness(["ML-DSA-45"])


def test_a_given_scheme_has_no_ratio_because_its_code_cannot_be_timed(known: None) -> None:
    costs = pq.Costs.given(
        "Mine", public_key_bytes=1312, signature_bytes=2420, sign_seconds=1e-3, verify_seconds=5e-5,
        source="a paper",
    )  # fmt: skip
    with pq.algorithms.temporary_registrations():
        frame = witness.measure_witness(pq.register(costs), rounds=2).set_index("algorithm")
    assert frame.loc["Mine", "status"] == "unsupported"
    assert frame.loc["Mine", "reason"].startswith("given: a paper; time of another machine")
    assert frame.loc[["Mine"], "byte_ratio"].isna().all()


def test_the_command_shows_and_saves(known, tmp_path, capsys):
    file = tmp_path / "witness.csv"
    command = ["gas", "--witness", "--algorithm", "ML-DSA-44", "--rounds", "2"]
    assert main([*command, "--output", str(file)]) == 0
    assert "relative" in capsys.readouterr().out
    rows = 1 + len(pq.algorithms.get("ML-DSA-44").implementations)
    assert len(results.load(file)) == rows
    assert main([*command, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["witness"]) == rows
    assert main([*command, "--verifier", "circl"]) == 2
    assert "--witness cannot be combined" in capsys.readouterr().err
