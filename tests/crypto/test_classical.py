"""The classical baseline: official vectors, agreement of implementations, malformed keys."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain import errors
from pqchain.algorithms import ALGORITHMS, IMPLEMENTATIONS, get
from pqchain.crypto import classical, open_signer, unavailable_reason
from pqchain.installation import install_command
from tests.crypto.builds import ORDERS

VECTORS = json.loads(
    (Path(__file__).parent.parent / "vectors" / "classical.json").read_text(encoding="utf-8")
)

PACKAGES = {
    "coincurve/libsecp256k1": "coincurve",
    "cryptography/openssl": "cryptography",
    "pycryptodome/python": "Crypto",
}

PAIRS = [
    (algorithm.name, implementation)
    for algorithm in ALGORITHMS.values()
    for implementation in algorithm.implementations
    if implementation in PACKAGES
]


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1].split('/')[0]}")
def signer(request):
    name, implementation = request.param
    pytest.importorskip(PACKAGES[implementation])
    return open_signer(name, implementation)


def openers(name):
    """Return the signers of one algorithm whose package or library is here."""
    for implementation in get(name).implementations:
        if not unavailable_reason(implementation):
            yield open_signer(name, implementation)


def test_registry_and_module_list_the_same_pairs():
    assert set(PAIRS) == set(classical.SIGNERS)
    assert set(PACKAGES) <= set(IMPLEMENTATIONS)


def test_threads_share_a_signer(signer):
    pairs = [signer.generate_keypair() for _ in range(4)]

    def sign_and_verify(index):
        public_key, secret_key = pairs[index % len(pairs)]
        message = index.to_bytes(4, "big")
        return signer.verify(message, signer.sign(message, secret_key), public_key)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(sign_and_verify, range(40)))


def test_secret_keys_out_of_range_are_rejected(signer):
    order = ORDERS[signer.algorithm.name]
    for scalar in (0, order, order + 1, 2**256 - 1):
        secret_key = scalar.to_bytes(32, "big")
        if signer.algorithm.name == "Ed25519":  # every seed is a valid secret key
            signer.sign(b"m", secret_key)
            continue
        with pytest.raises(errors.CryptoFailure, match="from 1 to"):
            signer.sign(b"m", secret_key)
    for scalar in (1, order - 1):
        signer.sign(b"m", scalar.to_bytes(32, "big"))


def test_public_keys_off_the_curve_verify_nothing(signer):
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"m", secret_key)
    length = len(public_key)
    malformed = [bytes(length), b"\xff" * length]
    if length == 33:
        prefixes = set(range(256)) - {2, 3}
        malformed += [bytes([prefix]) + public_key[1:] for prefix in sorted(prefixes)]
        # 5 is not an x coordinate on secp256k1, nor 1 on P-256.
        off_curve = 1 if signer.algorithm.name == "ECDSA-P256" else 5
        malformed += [prefix + off_curve.to_bytes(32, "big") for prefix in (b"\2", b"\3")]
        malformed += [b"\2" + b"\xff" * 32]
    for candidate in malformed:
        assert signer.verify(b"m", signature, candidate) is False


def test_degenerate_signatures_are_invalid(signer):
    public_key, secret_key = signer.generate_keypair()
    good = signer.sign(b"m", secret_key)
    order = ORDERS[signer.algorithm.name].to_bytes(32, "big")
    for bad in (bytes(64), bytes(32) + good[32:], good[:32] + bytes(32), b"\xff" * 64):
        assert signer.verify(b"m", bad, public_key) is False
    assert signer.verify(b"m", good[:32] + order, public_key) is False
    for bad in (b"", good[:-1], good + b"\0", good * 2):
        assert signer.verify(b"m", bad, public_key) is False


def test_high_s_signatures_are_handled_per_scheme(signer):
    """ECDSA has two s for each r; only libsecp256k1 requires the lower one."""
    public_key, secret_key = signer.generate_keypair()
    name = signer.algorithm.name
    order = ORDERS[name]
    for index in range(8):
        message = bytes([index])
        signature = signer.sign(message, secret_key)
        if name == "Ed25519":
            s = int.from_bytes(signature[32:], "little")
            mutant = signature[:32] + (s + order).to_bytes(32, "little")
        else:
            s = int.from_bytes(signature[32:], "big")
            mutant = signature[:32] + (order - s).to_bytes(32, "big")
        accepted = name == "ECDSA-P256"
        assert signer.verify(message, mutant, public_key) is accepted
        assert name != "ECDSA-secp256k1" or s <= order // 2


def signed_vectors():
    """Yield scheme, secret key, message, signature and public key (b"" if not stated)."""
    for _, secret_key, x, message, signature in VECTORS["bip340_signing"]:
        for parity in ("02", "03"):
            yield "Schnorr-secp256k1", secret_key, message, signature, parity + x
    for secret_key, public_key, message, signature in VECTORS["rfc8032"]:
        yield "Ed25519", secret_key, message, signature, public_key
    p256 = VECTORS["rfc6979"]
    for message, signature in p256["signatures"].items():
        public_key = p256["public_key"]
        yield "ECDSA-P256", p256["secret_key"], message.encode().hex(), signature, public_key
    for secret_key, message, signature in VECTORS["secp256k1"]:
        yield "ECDSA-secp256k1", secret_key, message.encode().hex(), signature, ""


@pytest.mark.parametrize("vector", list(signed_vectors()), ids=lambda vector: vector[0])
def test_published_signatures_are_reproduced(vector):
    name = vector[0]
    secret_key, message, signature, public_key = map(bytes.fromhex, vector[1:])
    for signer in openers(name):
        assert signer.sign(message, secret_key) == signature
        assert not public_key or signer.verify(message, signature, public_key)


@pytest.mark.parametrize("vector", VECTORS["bip340_verifying"], ids=lambda row: f"row-{row[0]}")
def test_bip340_verdicts_are_reproduced(vector):
    x, message, signature = map(bytes.fromhex, vector[1:4])
    (signer,) = openers("Schnorr-secp256k1")
    assert signer.verify(message, signature, b"\2" + x) is vector[4]


@settings(max_examples=10, deadline=None)
@given(message=st.binary(max_size=200), seed=st.binary(min_size=32, max_size=32))
@pytest.mark.parametrize("name", ["ECDSA-P256", "Ed25519"])
def test_implementations_of_one_scheme_agree(name, message, seed):
    secret_key = (int.from_bytes(seed, "big") % (ORDERS["ECDSA-P256"] - 1) + 1).to_bytes(32, "big")
    assert len({signer.sign(message, secret_key) for signer in openers(name)}) == 1


@pytest.mark.parametrize("name", ["ECDSA-P256", "Ed25519"])
def test_implementations_verify_each_other(name):
    signers = list(openers(name))
    for signs in signers:
        public_key, secret_key = signs.generate_keypair()
        signature = signs.sign(b"m", secret_key)
        assert all(verifies.verify(b"m", signature, public_key) for verifies in signers)


def test_unknown_pairs_of_scheme_and_implementation_are_rejected():
    with pytest.raises(errors.UnknownAlgorithm, match="Ed25519"):
        open_signer("Ed2551", "cryptography/openssl")
    with pytest.raises(
        errors.Unsupported, match=r"of Ed25519 must be .* got coincurve/libsecp256k1"
    ):
        open_signer("Ed25519", "coincurve/libsecp256k1")
    with pytest.raises(errors.UsageError, match="it is a kem"):
        classical._OpensslEd25519(get("ML-KEM-512"), "cryptography/openssl")


@pytest.mark.parametrize(("name", "implementation"), PAIRS)
def test_missing_package_names_the_install_command(name, implementation, monkeypatch):
    package = PACKAGES[implementation]
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        errors.Unsupported, match=f"{name} by {implementation} needs .* {install_command(package)}"
    ):
        open_signer(name, implementation)
    assert unavailable_reason(implementation) == (
        f"the Python package {package} is not installed: {install_command(package)}"
    )
