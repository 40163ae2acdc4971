"""The classical baseline: official vectors, agreement of implementations, malformed keys."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain.algorithms import ALGORITHMS, IMPLEMENTATIONS, get
from pqchain.crypto import classical, open_signer, unavailable_reason
from pqchain.errors import (
    BadLength,
    BadType,
    CryptoFailure,
    UnknownAlgorithm,
    Unsupported,
    UsageError,
)
from pqchain.installation import install_command
from tests.crypto.classical_vectors import (
    BIP340_SIGNING,
    BIP340_VERIFYING,
    ORDERS,
    RFC6979,
    RFC6979_PUBLIC,
    RFC6979_SECRET,
    RFC8032,
    SECP256K1,
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


hexadecimal = bytes.fromhex


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1].split('/')[0]}")
def signer(request):
    name, implementation = request.param
    pytest.importorskip(PACKAGES[implementation])
    return open_signer(name, implementation)


def openers(name):
    """Return the signers of one algorithm whose package is installed."""
    for implementation in get(name).implementations:
        pytest.importorskip(PACKAGES[implementation])
        yield open_signer(name, implementation)


def test_registry_and_module_list_the_same_pairs():
    assert set(PAIRS) == set(classical.SIGNERS)
    assert set(PACKAGES) <= set(IMPLEMENTATIONS)


def test_sizes_and_round_trip(signer):
    row = signer.algorithm
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"message", secret_key)
    lengths = (len(public_key), len(secret_key), len(signature))
    assert lengths == (row.public_key_bytes, row.secret_key_bytes, row.signature_bytes)
    assert {type(value) for value in (public_key, secret_key, signature)} == {bytes}
    assert signer.verify(b"message", signature, public_key) is True
    assert signer.verify(b"massage", signature, public_key) is False
    other_public_key, other_secret_key = signer.generate_keypair()
    assert other_secret_key != secret_key
    assert signer.verify(b"message", signature, other_public_key) is False


def test_switching_between_secret_keys_never_uses_the_wrong_one(signer):
    """The OpenSSL signers keep the last secret key loaded."""
    pairs = [signer.generate_keypair() for _ in range(3)]
    for _ in range(2):
        for public_key, secret_key in pairs:
            assert signer.verify(b"m", signer.sign(b"m", secret_key), public_key)
            equal_but_not_same = bytes(bytearray(secret_key))
            assert signer.verify(b"m", signer.sign(b"m", equal_but_not_same), public_key)


def test_threads_share_a_signer(signer):
    pairs = [signer.generate_keypair() for _ in range(4)]

    def sign_and_verify(index):
        public_key, secret_key = pairs[index % len(pairs)]
        message = index.to_bytes(4, "big")
        return signer.verify(message, signer.sign(message, secret_key), public_key)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(sign_and_verify, range(40)))


def test_signing_is_deterministic(signer):
    _, secret_key = signer.generate_keypair()
    assert signer.sign(b"m", secret_key) == signer.sign(b"m", secret_key)


def test_secret_keys_out_of_range_are_rejected(signer):
    order = ORDERS[signer.algorithm.name]
    for scalar in (0, order, order + 1, 2**256 - 1):
        secret_key = scalar.to_bytes(32, "big")
        if signer.algorithm.name == "Ed25519":  # every seed is a valid secret key
            signer.sign(b"m", secret_key)
            continue
        with pytest.raises(CryptoFailure, match="from 1 to"):
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


def test_types_and_lengths_are_checked(signer):
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"m", secret_key)
    for wrong in ("m", None, 7, [1]):
        with pytest.raises(BadType, match="message"):
            signer.sign(wrong, secret_key)
        with pytest.raises(BadType, match="secret key"):
            signer.sign(b"m", wrong)
        with pytest.raises(BadType, match="signature"):
            signer.verify(b"m", wrong, public_key)
        with pytest.raises(BadType, match="public key"):
            signer.verify(b"m", signature, wrong)
        with pytest.raises(BadType, match="context"):
            signer.verify(b"m", signature, public_key, wrong)
    with pytest.raises(BadLength, match=rf"{signer.algorithm.name} must have 32 bytes .* got 31"):
        signer.sign(b"m", secret_key[:-1])
    with pytest.raises(BadLength, match="public key"):
        signer.verify(b"m", signature, public_key + b"\0")
    with pytest.raises(BadLength, match="must have at most 0 bytes"):
        signer.sign(b"m", secret_key, b"c")
    with pytest.raises(BadLength, match="must have at most 0 bytes"):
        signer.verify(b"m", signature, public_key, b"c")
    views = [bytearray(b"m"), memoryview(b"m")]
    assert all(signer.sign(view, bytearray(secret_key)) == signature for view in views)
    assert signer.verify(memoryview(b"m"), bytearray(signature), memoryview(public_key))


@pytest.mark.parametrize("vector", BIP340_SIGNING, ids=lambda vector: f"row-{vector[0]}")
def test_bip340_signatures_are_reproduced(vector):
    _, secret_key, x, message, expected = vector
    (signer,) = openers("Schnorr-secp256k1")
    signature = signer.sign(hexadecimal(message), hexadecimal(secret_key))
    assert signature == hexadecimal(expected)
    for parity in (b"\2", b"\3"):
        assert signer.verify(hexadecimal(message), signature, parity + hexadecimal(x))


@pytest.mark.parametrize("vector", BIP340_VERIFYING, ids=lambda vector: f"row-{vector[0]}")
def test_bip340_verdicts_are_reproduced(vector):
    _, x, message, signature, valid = vector
    (signer,) = openers("Schnorr-secp256k1")
    public_key = b"\2" + hexadecimal(x)
    assert signer.verify(hexadecimal(message), hexadecimal(signature), public_key) is valid


@pytest.mark.parametrize("vector", RFC8032, ids=["empty", "one-byte", "two-bytes"])
def test_rfc8032_vectors_are_reproduced(vector):
    secret_key, public_key, message, signature = map(hexadecimal, vector)
    for signer in openers("Ed25519"):
        assert signer.sign(message, secret_key) == signature
        assert signer.verify(message, signature, public_key)


@pytest.mark.parametrize("message", RFC6979)
def test_rfc6979_vectors_on_p256_are_reproduced(message):
    signature = hexadecimal(RFC6979[message])
    for signer in openers("ECDSA-P256"):
        assert signer.sign(message, hexadecimal(RFC6979_SECRET)) == signature
        assert signer.verify(message, signature, hexadecimal(RFC6979_PUBLIC))


@pytest.mark.parametrize(("secret_key", "message", "signature"), SECP256K1)
def test_rfc6979_vectors_on_secp256k1_are_reproduced(secret_key, message, signature):
    (signer,) = openers("ECDSA-secp256k1")
    assert signer.sign(message, secret_key.to_bytes(32, "big")) == hexadecimal(signature)


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
    with pytest.raises(UnknownAlgorithm, match="Ed25519"):
        open_signer("Ed2551", "cryptography/openssl")
    with pytest.raises(Unsupported, match=r"of Ed25519 must be .* got coincurve/libsecp256k1"):
        open_signer("Ed25519", "coincurve/libsecp256k1")
    with pytest.raises(UsageError, match="it is a kem"):
        classical._OpensslEd25519(get("ML-KEM-512"), "cryptography/openssl")


@pytest.mark.parametrize(("name", "implementation"), PAIRS)
def test_missing_package_names_the_install_command(name, implementation, monkeypatch):
    package = PACKAGES[implementation]
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        Unsupported, match=f"{name} by {implementation} needs .* {install_command(package)}"
    ):
        open_signer(name, implementation)
    assert unavailable_reason(implementation) == (
        f"the Python package {package} is not installed: {install_command(package)}"
    )


def test_importing_loads_no_native_code():
    code = (
        "import sys, pqchain.crypto.classical, pqchain.chain.state;"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('coincurve', 'cryptography', 'Crypto')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
