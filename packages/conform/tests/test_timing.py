"""Verifiers of other projects as clients of `pqchain gas`."""

from __future__ import annotations

import json
import math
from contextlib import closing

import pytest

from packages.conform.tests.fakes import fake
from pqchain.bench import gas_units, verification
from pqchain.bench.gas_units import OWN
from pqchain.bench.verification import Case
from pqchain.commands.main import main
from pqchain.errors import CryptoFailure, UnknownName, Unsupported
from pqchain_conform import registry, timing
from pqchain_conform.registry import VerifierSpec

pytestmark = pytest.mark.native

CASE = Case(b"message", b"signature", b"key")


def test_client_times_verifications_by_part():
    parts = json.dumps({"decode_key": [300] * 3, "other": ["x"]})
    with closing(timing.TimedClient(fake("parts", parts))) as client:
        assert client.supports("ML-DSA-44")
        assert not client.supports("ECDSA-P256")
        expected = {"verify": [1e-6] * 3, "decode_key": [3e-7] * 3}
        for _ in range(2):  # starts it again after the end
            times = client.times("ML-DSA-44", CASE, 3)
            assert times == {name: pytest.approx(values) for name, values in expected.items()}
            client.close()


def test_client_that_does_not_accept_is_an_error():
    with closing(timing.TimedClient(fake("unsupported"))) as client:
        assert client.times("ML-DSA-44", CASE, 2) is None
    message = r"refuse must accept a valid signature.* got 'refuse'"
    with (
        closing(timing.TimedClient(fake("refuse"))) as client,
        pytest.raises(CryptoFailure, match=message),
    ):
        client.times("ML-DSA-44", CASE, 2)


def test_default_clients_are_named_and_include_the_anchors(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    clients = {client.name: client for client in timing.clients()}
    assert {"circl", "fips204", "Bouncy Castle", "libsecp256k1", "ed25519-dalek"} < set(clients)
    with pytest.raises(Unsupported, match=r"pqchain conform build|on the path"):
        clients["circl"].supports("ML-DSA-44")
    with pytest.raises(UnknownName, match="did you mean 'circl'"):
        timing.clients(["circle"])
    monkeypatch.setattr(VerifierSpec, "unavailable_reason", lambda self: "")
    clients = {client.name: client for client in timing.clients(["circl"])}
    assert clients["circl"].supports("ML-DSA-44")
    assert clients["Bouncy Castle"].supports("ecrecover")
    assert not clients["Bouncy Castle"].supports("ML-DSA-44")


BUILT = [
    ("ml-dsa (RustCrypto)", "ML-DSA-44", {"decode_key", "decode_signature"}),
    ("fips204", "ML-DSA-44", {"decode_key"}),
    ("aws-lc-rs", "ML-DSA-44", {"decode_key"}),
    ("circl", "ML-DSA-44", {"decode_key"}),
    ("fn-dsa (original Falcon)", "Falcon-padded-512", {"decode_key"}),
    ("pqcrypto-falcon", "Falcon-512", set()),
    ("Bouncy Castle", "Falcon-512", set()),
    ("Bouncy Castle", "ecrecover", set()),
    ("ed25519-dalek", "Ed25519", {"decode_key"}),
    ("libsecp256k1", "ecrecover", set()),
]


@pytest.mark.parametrize(("name", "algorithm", "parts"), BUILT)
def test_adapters_time_the_parts_that_their_library_has(name, algorithm, parts):
    (spec,) = registry.select([name])
    if reason := spec.unavailable_reason():
        pytest.skip(reason)
    case = verification.signed_cases(algorithm)[0][0]
    with closing(timing.TimedClient(spec)) as client:
        times = client.times(algorithm, case, 3)
        assert set(times) == {"verify"} | parts
        for total, *of in zip(*times.values(), strict=True):
            assert 0 < sum(of) < total or not of
        other = Case(bytes(32), case.signature, case.public_key)
        with pytest.raises(CryptoFailure):
            client.times(algorithm, other, 3)


@pytest.fixture
def nothing_built(monkeypatch, tmp_path):
    """Make every adapter unavailable that needs a build."""
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))


def test_missing_clients_state_the_remedy_and_do_not_fail(capsys, nothing_built):
    words = ["gas", "--algorithm", "Ed25519", "--rounds", "2"]
    assert main([*words, "--verifier", "circl"]) == 0
    text = capsys.readouterr().out
    assert "circl: " in text
    assert "pqchain conform build" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text


def test_other_verifiers_are_rows_beside_pqchains(capsys, nothing_built):
    name = "pqchain liboqs-0.13/ref"
    words = ["gas", "--algorithm", "ML-DSA-44", "--verifier", name, "--rounds", "2", "--json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["gas"]
    chosen = [row for row in rows if (row["algorithm"], row["unit"]) == ("ML-DSA-44", "evm")]
    assert [row["verifier"] for row in chosen][1:] == [name]
    assert chosen[1]["gas"] > 0
    # The slope of two rounds may be below zero on a busy machine.
    assert math.isfinite(chosen[1]["word_seconds"])


def test_verifiers_of_the_units_are_registered():
    known = registry.verifiers()
    assert set(gas_units.clients()) <= set(known)
    for unit in gas_units.units().values():
        for name in unit.anchor_verifiers:
            assert name == OWN or unit.anchor in known[name].anchors
