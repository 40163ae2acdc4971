"""Times of verifiers: medians and ratios, and clients for prices of verifications."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pqchain.bench import verification
from pqchain.bench.verification import Case
from pqchain.errors import CryptoFailure, UnknownName, Unsupported
from pqchain_conform import registry, runner, timing
from pqchain_conform.generators import generate
from pqchain_conform.registry import VerifierSpec

FAKES = Path(__file__).with_name("fakes.py")

pytestmark = pytest.mark.native

CASE = Case(b"message", b"signature", b"key")


def fake(kind: str, *arguments: str, **fields) -> VerifierSpec:
    command = (sys.executable, str(FAKES), kind, *arguments)
    return VerifierSpec(name=kind, folder="", command=command, **fields)


def test_failed_verifier_is_not_timed_again():
    honest = [v for v in generate("ML-DSA-44") if v.key == "honest" and v.expected == "valid"]
    frame = timing.measure([fake("accept"), fake("crash")], honest, rounds=2)
    assert frame["implementation"].tolist() == ["accept"]


def test_times_are_medians_with_their_ratio_to_pqchain():
    baseline = VerifierSpec(
        name=timing.BASELINE, folder="", command=(sys.executable, str(FAKES), "accept")
    )
    honest = [v for v in generate("ML-DSA-44") if v.key == "honest" and v.expected == "valid"]
    frame = timing.measure([baseline, fake("accept"), fake("crash-always")], honest, rounds=2)
    assert frame["implementation"].tolist() == [timing.BASELINE, "accept"]
    assert frame["ratio"].tolist() == [1.0, 1.0]
    assert frame["verify_seconds"].tolist() == [1e-6, 1e-6]
    assert frame["samples"].tolist() == [40, 40]
    assert frame.attrs["provenance"]["machine_id"]


def test_parts_of_a_verification_are_read():
    spec = fake("parts", json.dumps({"decode_key": [300, 400], "other": ["x"]}))
    with spec.adapter() as adapter:
        answer = adapter.verify("ML-DSA-44", *3 * [b""], repeat=2)
    assert answer.nanoseconds == (1000, 1000)
    assert answer.parts == {"decode_key": (300, 400)}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"decode_key": [1]}, "1 durations of decode_key"),
        ({"decode_key": [-1, 2]}, "decode_key; expected numbers from 0"),
        ({"decode_signature": ["a", 2]}, "durations must be numbers"),
        ([], "expected one for each"),
    ],
)
def test_invalid_parts_are_malformed(parts, reason):
    with fake("parts", json.dumps(parts)).adapter() as adapter:
        answer = adapter.verify("ML-DSA-44", *3 * [b""], repeat=2)
    if parts == []:  # as without parts
        assert answer.verdict == "accept"
    else:
        assert (answer.verdict, reason in answer.reason) == ("malformed", True)


def test_client_times_verifications_by_part():
    client = timing.TimedClient(fake("parts", json.dumps({"decode_key": [300] * 3})))
    assert client.supports("ML-DSA-44")
    assert not client.supports("ECDSA-P256")
    times = client.times("ML-DSA-44", CASE, 3)
    assert times == {"verify": pytest.approx([1e-6] * 3), "decode_key": pytest.approx([3e-7] * 3)}
    client.close()
    client.close()
    assert client.times("ML-DSA-44", CASE, 3)  # starts it again
    client.close()


def test_client_that_does_not_accept_is_an_error():
    unsupported, refusing = (timing.TimedClient(fake(kind)) for kind in ("unsupported", "refuse"))
    assert unsupported.times("ML-DSA-44", CASE, 2) is None
    with pytest.raises(CryptoFailure, match=r"refuse must accept a valid signature.* got 'refuse'"):
        refusing.times("ML-DSA-44", CASE, 2)
    unsupported.close()
    refusing.close()


def test_default_clients_are_named_and_include_the_anchors(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    clients = {client.name: client for client in timing.clients()}
    assert {
        "circl",
        "ml-dsa (RustCrypto)",
        "fips204",
        "Bouncy Castle",
        "fn-dsa (original Falcon)",
    } < set(clients)
    assert {"libsecp256k1", "ed25519-dalek"} < set(clients)
    with pytest.raises(Unsupported, match=r"pqchain conform build|on the path"):
        clients["circl"].supports("ML-DSA-44")
    with pytest.raises(UnknownName):
        timing.clients(["no such verifier"])


def test_anchors_of_other_clients_are_not_asked_for_more(monkeypatch):
    monkeypatch.setattr(VerifierSpec, "unavailable_reason", lambda self: "")
    clients = {client.name: client for client in timing.clients(["circl"])}
    assert clients["circl"].supports("ML-DSA-44")
    assert clients["Bouncy Castle"].supports("ecrecover")
    assert not clients["Bouncy Castle"].supports("ML-DSA-44")


def test_anchors_are_not_asked_for_vectors():
    _, summary = runner.run(registry.select(["libsecp256k1"]), generate("Falcon-512")[:3])
    assert summary.empty


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
    damaged = Case(
        case.message, case.signature[:-1] + bytes([case.signature[-1] ^ 1]), case.public_key
    )
    client = timing.TimedClient(spec)
    try:
        times = client.times(algorithm, case, 3)
        assert set(times) == {"verify"} | parts
        for total, *of in zip(*times.values(), strict=True):
            assert 0 < sum(of) < total or not of
        other = Case(bytes(32), case.signature, case.public_key)
        for wrong in (other, damaged) if algorithm != "ecrecover" else (other,):
            with pytest.raises(CryptoFailure):
                client.times(algorithm, wrong, 3)
    finally:
        client.close()
