"""Gas prices of verifications: arithmetic of ratios, and one real run."""

import pytest

from pqchain.bench import gas
from pqchain.bench.gas import _rounds, _row, _Timed
from pqchain.errors import CryptoFailure, PackageMissing, UsageError


def priced(worst, anchor_gas=None):
    prepared = {name: _Timed((), 100) for name in worst}
    return _row("X", gas.ANCHORS[0], worst, prepared, {}, anchor_gas)


def test_gas_equals_the_time_ratio_times_the_anchor():
    row = priced({"X": [2.0, 4.0, 6.0], "ecrecover": [1.0, 2.0, 3.0]})
    assert (row["low"], row["gas"], row["high"]) == pytest.approx((1682, 1682, 1682))
    assert row["calldata_gas"] == 1600
    dear = priced({"X": [2.0, 4.0], "ecrecover": [1.0, 2.0]}, 3000.0)
    assert dear["gas"] == 6000
    spread = priced({"X": [1.0, 2.0, 3.0], "ecrecover": [1.0, 1.0, 1.0]})
    assert spread["low"] < spread["gas"] < spread["high"]


def test_slowest_signature_counts():
    calls = (lambda: True, lambda: sum(range(20_000)) >= 0)
    both = _rounds({"X": _Timed(calls, 1), "fast": _Timed(calls[:1], 1)}, 3, {})
    assert min(both["X"]) > max(both["fast"])


def test_unsupported_schemes_are_rows():
    errors = {"ecrecover": PackageMissing("no coincurve")}
    row = _row("X", gas.ANCHORS[0], {}, {}, errors, None)
    assert (row["status"], row["reason"]) == ("unsupported", "no coincurve")
    row = _row("X", gas.ANCHORS[0], {}, {}, errors | {"X": CryptoFailure("no signature")}, None)
    assert (row["status"], row["reason"]) == ("failed", "no signature")


@pytest.mark.native
def test_every_scheme_has_gas_in_every_unit():
    frame = gas.measure_gas(["ECDSA-P256"], rounds=2)
    assert set(frame["unit"]) == {"evm", "near", "solana"}
    assert (frame["status"] == "ok").all()
    rows = frame.set_index(["algorithm", "unit"])
    assert rows.loc[("ecrecover", "evm"), "gas"] == pytest.approx(841)
    assert rows.loc[("Ed25519", "solana"), "gas"] == pytest.approx(720)
    assert (frame["low"] <= frame["high"]).all()
    assert "EIP-7904" in gas.check_anchor(frame)
    assert "not measured" in gas.check_anchor(frame[frame["algorithm"] == "Ed25519"])


def test_missed_anchor_check_states_the_reason():
    frame = gas.GAS.frame(
        {
            "algorithm": name, "unit": "evm", "anchor": "ecrecover", "anchor_gas": 841.0,
            "gas": value, "low": value, "high": high, "verify_seconds": 1.0, "input_bytes": 1.0,
            "calldata_gas": 16.0, "status": "ok", "reason": "",
        }
        for name, value, high in (("ecrecover", 841.0, 841.0), ("ECDSA-P256", 2000.0, 2100.0))
    )  # fmt: skip
    assert "outside: OpenSSL" in gas.check_anchor(frame)
    frame.loc[1, "high"] = 4000.0
    assert gas.check_anchor(frame).endswith("within the interval.")
    frame.loc[1, ["low", "gas", "high"]] = 9000.0
    assert "decompresses" in gas.check_anchor(frame)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"anchor_gas": 0.0}, "anchor_gas must be above 0"),
        ({"rounds": 1}, "rounds must be a whole number from 2 to 1000.* got 1"),
        ({"rounds": 1001}, "rounds must be .* got 1001"),
        ({"rounds": 2.5}, "rounds must be .* got 2.5"),
    ],
)
def test_wrong_use_is_rejected(given, message):
    with pytest.raises(UsageError, match=message):
        gas.measure_gas(["ECDSA-P256"], **given)


def test_statements_name_their_source():
    assert all(row["source"] and row["date"] and row["gas"] > 0 for row in gas.STATEMENTS)
    assert {row["unit"] for row in gas.STATEMENTS} == {"evm", "near", "solana"}
