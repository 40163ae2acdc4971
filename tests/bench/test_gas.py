"""Prices of verifications: arithmetic of ratios, missing clients, and one real run."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from pqchain.bench import gas, tables, verification
from pqchain.bench.gas_units import OWN, clients, statements, units
from pqchain.bench.verification import Case, Times
from pqchain.errors import CryptoFailure, PackageMissing, Unsupported, UsageError


@dataclass
class Fake:
    """A verifier whose rounds take the given seconds."""

    seconds: list[float]
    name: str = "fake"
    version: str = "1"
    source: str = ""
    in_process: bool = False
    anchor_seconds: float = 0.0
    parts: dict = field(default_factory=dict)

    def round(self) -> Times:
        return Times(self.seconds.pop(0), **self.parts)


@dataclass
class FakeClient:
    """A client that takes the given seconds for each algorithm, or cannot run."""

    name: str
    seconds: dict
    reason: str = ""
    version: str = "2.0"
    jit: bool = False
    closed: bool = False

    def supports(self, algorithm: str) -> bool:
        if self.reason:
            raise Unsupported(self.reason)
        return algorithm in self.seconds

    def times(self, algorithm: str, case: Case, repeat: int):
        total = self.seconds[algorithm]
        return {"verify": [total] * repeat, "decode_key": [total / 4] * repeat}

    def close(self) -> None:
        self.closed = True


def priced(monkeypatch, seconds, *, names=("ECDSA-P256",), **options):
    """Return the rows of a run whose own verifiers take these seconds, by algorithm and unit."""
    rounds = len(next(iter(seconds.values())))
    given = {"Ed25519": [1.0] * rounds, "ecrecover": [1.0] * rounds} | seconds
    monkeypatch.setattr(gas, "own", lambda name: Fake(list(given[name]), name=f"own {name}"))
    frame = gas.measure_gas(names, rounds=rounds, **options)
    return frame, frame.set_index(["algorithm", "verifier", "unit"])


def test_price_is_the_ratio_of_times_times_the_price_in_force(monkeypatch):
    seconds = {"ECDSA-P256": [2.0, 4.0, 6.0] * 2, "ecrecover": [1.0, 2.0, 3.0] * 2}
    _, rows = priced(monkeypatch, seconds)
    row = rows.loc[("ECDSA-P256", "own ECDSA-P256", "evm")]
    assert (row["low"], row["gas"], row["high"]) == pytest.approx((6000, 6000, 6000))
    assert row["anchor_gas"] == 3000
    assert row["benchmark_gas"] == pytest.approx(2 * 841)
    assert row["calldata_gas"] == 16 * row["input_bytes"]
    # That of Stellar includes the bytes of the message.
    stellar = rows.loc[("ECDSA-P256", "own ECDSA-P256", "stellar")]
    assert stellar["gas"] == pytest.approx(4 * (377_524 + 100 * 4068 / 128))


@pytest.mark.parametrize("here", [61.8e-6, 95.0e-6])
def test_given_time_is_priced_by_its_own_anchor_only(monkeypatch, here):
    """The price is the same however fast this machine is; without an anchor there is none."""
    mine = {
        name: Fake([46.1e-6] * 6, name="given", source="given: a paper", anchor_seconds=anchor)
        for name, anchor in (("ML-DSA-44", 107.2e-6), ("ML-DSA-65", 0.0))
    }
    monkeypatch.setattr(gas, "own", lambda name: mine.get(name) or Fake([here] * 6))
    rows = gas.measure_gas(mine, rounds=6).set_index(["algorithm", "unit"])
    priced_row = rows.loc[("ML-DSA-44", "evm")]
    assert priced_row[["gas", "low", "high"]].tolist() == pytest.approx([3000 * 46.1 / 107.2] * 3)
    assert (priced_row["status"], priced_row["anchor_verifier"]) == ("ok", "given")
    for key, remedy in (
        (("ML-DSA-65", "evm"), "give its anchor, such as anchor=107us"),
        (("ML-DSA-44", "solana"), "an anchor prices EVM gas only"),
    ):
        row = rows.loc[key]
        assert np.isnan(row["gas"])
        assert (row["status"], row["verify_seconds"]) == ("unsupported", 46.1e-6)
        assert row["reason"] == f"given: a paper; time of another machine: {remedy}"


def test_clients_are_rows_with_parts_and_anchor_the_units_of_their_chains(monkeypatch):
    monkeypatch.setattr(verification, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(verification, "signed_cases", lambda name: ((Case(b"", b"", b""),), None))
    clients = [
        FakeClient("circl", {"ECDSA-P256": 4.0}),
        FakeClient("Bouncy Castle", {"ecrecover": 20.0}),
        FakeClient("ed25519-dalek", {"Ed25519": 0.5}),
    ]
    _, rows = priced(monkeypatch, {"ECDSA-P256": [2.0, 2.0]}, clients=clients)
    row = rows.loc[("ECDSA-P256", "circl", "evm")]
    assert (row["gas"], row["verify_seconds"]) == (4 * 3000, 4.0)
    assert (row["decode_key_seconds"], row["version"]) == (1.0, "2.0")
    assert all(client.closed for client in clients)
    for unit, gas_of, anchor in (
        ("evm", 2 * 3000, "own ecrecover"),
        ("tron", 3000 * 2 / 20, "Bouncy Castle"),
        ("near", 4 * 70e9, "ed25519-dalek"),
    ):
        row = rows.loc[("ECDSA-P256", "own ECDSA-P256", unit)]
        assert row["gas"] == pytest.approx(gas_of, rel=5e-3)
        assert row["anchor_verifier"] == anchor


def test_missing_clients_are_rows_with_their_remedy(monkeypatch):
    absent = FakeClient("Bouncy Castle", {}, reason="not built; run `pqchain conform build`")
    other = FakeClient("circl", {"ML-DSA-44": 1.0})
    frame, rows = priced(monkeypatch, {"ECDSA-P256": [2.0, 2.0]}, clients=[absent, other])
    missing = frame[frame["algorithm"] == ""].set_index("verifier")
    assert missing.loc["Bouncy Castle", "reason"] == absent.reason
    assert missing.loc["circl", "reason"] == "it verifies none of these schemes"
    assert set(missing["status"]) == {"unsupported"}
    tron = rows.loc[("ECDSA-P256", "own ECDSA-P256", "tron")]
    assert tron["status"] == "unsupported"
    assert tron["reason"] == f"ecrecover by Bouncy Castle was not timed: {absent.reason}"


def test_schemes_that_cannot_be_timed_are_rows(monkeypatch):
    class Late(Fake):
        def round(self) -> Times:
            raise CryptoFailure("too late")

    def own(name):
        if name == "ML-DSA-44":
            return Late([])
        raise {"ecrecover": PackageMissing, "Ed25519": CryptoFailure}[name](f"no {name}")

    monkeypatch.setattr(gas, "own", own)
    rows = gas.measure_gas(["ML-DSA-44"], rounds=6).set_index(["algorithm", "unit"])
    for name, status, reason, verifier in (
        ("ecrecover", "unsupported", "no ecrecover", OWN),
        ("Ed25519", "failed", "no Ed25519", OWN),
        ("ML-DSA-44", "failed", "too late", "fake"),
    ):
        row = rows.loc[(name, "evm")]
        assert (row["status"], row["reason"], row["verifier"]) == (status, reason, verifier)


@pytest.mark.native
def test_every_scheme_has_a_price_in_every_unit_that_has_an_anchor():
    frame = gas.measure_gas(["ECDSA-P256"], rounds=6)
    assert set(frame["unit"]) == set(units())
    timed = frame[frame["unit"] != "tron"]  # whose anchor only a client times
    assert (timed["status"] == "ok").all()
    rows = timed.set_index(["algorithm", "unit"])
    assert rows.loc[("ecrecover", "evm"), "gas"] == pytest.approx(3000)
    assert rows.loc[("ecrecover", "evm"), "benchmark_gas"] == pytest.approx(841)
    assert rows.loc[("Ed25519", "solana"), "gas"] == pytest.approx(720)
    # A difference of two times, whose sign noise decides; the last test has given times.
    assert np.isfinite(rows.loc[("Ed25519", "evm"), "word_seconds"])
    assert (timed["low"] <= timed["high"]).all()


@pytest.mark.parametrize(("rounds", "is_said"), [(5, True), (6, False)])
def test_few_rounds_have_no_interval(monkeypatch, rounds, is_said):
    frame, _ = priced(monkeypatch, {"ECDSA-P256": [2.5] * rounds})
    timed = frame[frame["status"] == "ok"]
    assert (timed[["low", "high"]].isna() == is_said).all(axis=None)
    assert ("No intervals: fewer than 6 rounds" in tables.gas_tables(frame)[0].text(200)) == is_said


def test_wrong_use_is_rejected():
    for rounds in (1, 1001, 2.5):
        with pytest.raises(UsageError, match=f"rounds must be a whole number.* got {rounds}"):
            gas.measure_gas(["ECDSA-P256"], rounds=rounds)


def test_time_of_a_word_is_the_median_of_the_rounds(monkeypatch):
    class Rounds(Fake):
        def round(self) -> Times:
            seconds = self.seconds.pop(0)
            return Times(seconds, word=seconds / 1000)

    given = {"Ed25519": [1.0] * 3, "ecrecover": [1.0] * 3, "ECDSA-P256": [4.0, 9.0, 2.0]}
    monkeypatch.setattr(gas, "own", lambda name: Rounds(list(given[name])))
    rows = gas.measure_gas(["ECDSA-P256"], rounds=3).set_index(["algorithm", "unit"])
    assert rows.loc[("ECDSA-P256", "evm"), "word_seconds"] == pytest.approx(0.004)


def test_statements_and_units_name_their_source():
    assert all(row["source"] and row["date"] and row["gas"] > 0 for row in statements())
    assert {row["unit"] for row in statements()} == set(units())
    assert all(unit.source and unit.date and unit.rule for unit in units().values())
    assert all(row["source"] and row["date"] for row in clients().values() if "chain" in row)
    stated = {(row["algorithm"], row["unit"], row["gas"]) for row in statements()}
    # EIP-7904 measures 841 gas for ecrecover and proposes no price; 3000 is charged.
    assert (units()["evm"].anchor_price, units()["evm"].benchmark) == (3000, 841)
    assert {("ecrecover", "evm", 841), ("ECDSA-P256", "evm", 6900)} <= stated
    for name in ("evm", "tron"):
        assert ("ecrecover", name, units()[name].anchor_price) in stated
