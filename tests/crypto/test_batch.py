"""Batch verification gives the verdicts of single verification for any thread count."""

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain import crypto
from pqchain.crypto import RecoverableSigner, obstacle, open_signer
from pqchain.errors import BadLength, BadType, CryptoFailure, UsageError
from tests.crypto.builds import need

OFFERED = [
    pytest.param("Falcon-512", "liboqs-0.13/avx2", marks=pytest.mark.native),
    pytest.param("Falcon-512", "liboqs-0.13/ref", marks=pytest.mark.native),
    pytest.param("Falcon-512", "liboqs-0.13/dispatch", marks=pytest.mark.native),
    pytest.param("ML-DSA-44", "liboqs-0.13/avx2", marks=pytest.mark.native),
    pytest.param("SLH-DSA-SHA2-128f", "slhdsa/sha-ni", marks=pytest.mark.native),
    pytest.param("SLH-DSA-SHAKE-128f", "slhdsa/avx2", marks=pytest.mark.native),
    ("ECDSA-secp256k1", "coincurve/libsecp256k1"),
    ("Schnorr-secp256k1", "coincurve/libsecp256k1"),
    ("ECDSA-P256", "cryptography/openssl"),
    ("Ed25519", "cryptography/openssl"),
]

COUNT = 23


@cache
def batch(name: str, *, one_key: bool) -> tuple[list[bytes], list[bytes], list[bytes]]:
    signer = open_signer(name)
    pairs = [signer.generate_keypair() for _ in range(1 if one_key else COUNT)]
    messages = [bytes([i]) * i for i in range(COUNT)]
    signatures = [signer.sign(m, pairs[i % len(pairs)][1]) for i, m in enumerate(messages)]
    return messages, signatures, [pairs[i % len(pairs)][0] for i in range(COUNT)]


@pytest.mark.parametrize("one_key", [True, False])
@pytest.mark.parametrize(("name", "implementation"), OFFERED)
def test_batch_verdicts_equal_single_verdicts(name, implementation, one_key):
    need(implementation, name)
    signer = open_signer(name, implementation)
    messages, signatures, public_keys = batch(name, one_key=one_key)
    rng = random.Random(f"{name} {one_key}")
    for threads in (1, 2, 3, COUNT, COUNT + 5):
        damaged = list(signatures)
        for i in rng.sample(range(COUNT), rng.randrange(5)):
            kind = rng.randrange(3)
            flipped = bytes([damaged[i][0], damaged[i][1] ^ 4]) + damaged[i][2:]
            damaged[i] = (flipped, b"", damaged[i] + bytes(800))[kind]
        expected = [
            i
            for i in range(COUNT)
            if not signer.verify(messages[i], damaged[i], public_keys[i])
        ]  # fmt: skip
        arguments = (messages, damaged, public_keys)
        assert signer.verify_batch(*arguments, threads=threads) == expected
        first = signer.verify_batch(*arguments, threads=threads, stop_at_first=True)
        assert first == expected[:1]


GROUPED = {
    "SLH-DSA-SHA2-128f": ("slhdsa/sha-ni", "slhdsa/avx2", "slhdsa/ref"),
    "SLH-DSA-SHAKE-128f": ("slhdsa/avx2", "slhdsa/ref"),
    "ML-DSA-44": ("pqcp/avx2", "pqcp/avx512"),
    "ML-DSA-65": ("pqcp/avx2", "pqcp/avx512"),
    "Falcon-512": ("fn-dsa/avx2",),
    "Falcon-padded-1024": ("fn-dsa/avx2",),
}
"""Implementations that verify the signatures of a batch in groups."""


@pytest.mark.native
@pytest.mark.parametrize("name", GROUPED)
@settings(max_examples=12)
@given(data=st.data())
def test_any_batch_has_the_verdicts_of_single_calls(name: str, data: st.DataObject) -> None:
    """Mixed keys, some often; damaged messages, signatures and keys; other lengths of messages."""
    columns = batch(name, one_key=False)
    signed = list(zip(*columns, strict=True))
    part = st.tuples(st.integers(0, COUNT - 1), st.integers(0, 5), st.integers(0, 2**16))
    cases = data.draw(st.lists(part, min_size=1, max_size=70))
    items = []
    for source, kind, place in cases:
        item = list(signed[source % (3 if kind == 4 else COUNT)])
        if kind < 3 and item[kind]:
            changed = bytearray(item[kind])
            changed[place % len(changed)] ^= 1 << place % 7
            item[kind] = bytes(changed)
        elif kind == 3:
            item[0] += bytes(place % 300)
        items.append(tuple(item))
    threads = data.draw(st.integers(1, 3))
    for implementation in GROUPED[name]:
        if obstacle(implementation):
            continue
        signer = open_signer(name, implementation)
        verdict = {item: signer.verify(*item) for item in set(items)}
        expected = [i for i, item in enumerate(items) if not verdict[item]]
        packed = list(map(list, zip(*items, strict=True)))
        assert signer.verify_batch(*packed, threads=threads) == expected
        first = signer.verify_batch(*packed, threads=threads, stop_at_first=True)
        assert first == expected[:1]


@pytest.mark.parametrize("name", ["Ed25519", pytest.param("Falcon-512", marks=pytest.mark.native)])
def test_empty_batch_is_valid(name: str) -> None:
    assert open_signer(name).verify_batch([], [], [], threads=4) == []


def test_bytes_like_arguments_are_accepted_and_others_rejected() -> None:
    signer = open_signer("Ed25519")
    messages, signatures, public_keys = batch("Ed25519", one_key=True)
    assert signer.verify_batch([bytearray(m) for m in messages], signatures, public_keys) == []
    with pytest.raises(BadType, match=r"message must be bytes.* got str"):
        signer.verify_batch(["a"], signatures[:1], public_keys[:1])  # type: ignore[list-item]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_invalid_thread_counts_are_rejected(threads: object) -> None:
    with pytest.raises(UsageError, match="threads must be"):
        open_signer("Ed25519").verify_batch([], [], [], threads=threads)  # type: ignore[arg-type]


def test_columns_of_unequal_length_and_short_keys_are_rejected() -> None:
    signer = open_signer("Ed25519")
    messages, signatures, public_keys = batch("Ed25519", one_key=True)
    with pytest.raises(UsageError, match="got 23, 22 and 23"):
        signer.verify_batch(messages, signatures[1:], public_keys)
    with pytest.raises(BadLength, match="got 31"):
        signer.verify_batch(messages, signatures, [*public_keys[1:], public_keys[0][1:]])


def recoverable() -> RecoverableSigner:
    signer = open_signer("ECDSA-secp256k1")
    assert isinstance(signer, RecoverableSigner)
    return signer


def test_key_is_recovered_from_the_signature_that_verifies() -> None:
    signer = recoverable()
    for i in range(50):
        public_key, secret_key = signer.generate_keypair()
        message = bytes([i])
        signature = signer.sign_recoverable(message, secret_key)
        assert len(signature) == 65
        assert signature[:-1] == signer.sign(message, secret_key)
        assert signer.recover(message, signature) == public_key
        assert signer.recover(message + b"x", signature) != public_key


def test_invalid_signatures_recover_no_key() -> None:
    signer = recoverable()
    _, secret_key = signer.generate_keypair()
    signature = signer.sign_recoverable(b"m", secret_key)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = order - int.from_bytes(signature[32:64], "big")
    assert signer.recover(b"m", signature[:32] + high.to_bytes(32, "big") + signature[64:]) is None
    assert signer.recover(b"m", signature[:64] + b"\x04") is None
    assert signer.recover(b"m", signature[:64]) is None
    assert signer.recover(b"m", bytes(65)) is None
    assert signer.recover(b"m", b"\xff" * 64 + b"\x00") is None


def test_recoverable_signature_needs_a_secret_key() -> None:
    signer = recoverable()
    with pytest.raises(BadLength):
        signer.sign_recoverable(b"m", bytes(31))
    with pytest.raises(CryptoFailure):
        signer.sign_recoverable(b"m", bytes(32))
    assert not isinstance(open_signer("Schnorr-secp256k1"), crypto.RecoverableSigner)
