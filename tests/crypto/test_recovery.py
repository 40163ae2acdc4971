"""Falcon with key recovery: its key hashes the liboqs key, its second half verifies there."""

import math
from hashlib import shake_256
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import algorithms, open_signer
from pqchain.crypto import RecoverableSigner, native
from pqchain.falcon import kernel
from tests.crypto.builds import BUILDS

pytestmark = pytest.mark.native

HEAD = 41
"""Header and nonce."""

FORM, WHOLE = 2, 0
"""FALCON_RECOVERABLE and FALCON_WHOLE of falcon_signer.h."""


@pytest.fixture(params=[512, 1024])
def degree(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def opened(degree: int) -> RecoverableSigner:
    signer = open_signer(f"Falcon-recovery-{degree}")
    assert isinstance(signer, RecoverableSigner)
    return signer


def plain_key(degree: int, secret_key: bytes) -> bytes:
    """Return the plain Falcon public key of a secret key."""
    return kernel.public_key(algorithms.get(f"Falcon-{degree}"), secret_key)


def half_bytes(degree: int) -> int:
    return algorithms.get(f"Falcon-padded-{degree}").signature_bytes - HEAD


def test_recovered_key_hashes_the_falcon_public_key(degree: int) -> None:
    signer, random = opened(degree), Random(degree)
    for _ in range(5):
        public_key, secret_key = signer.generate_keypair()
        plain = plain_key(degree, secret_key)
        assert public_key == shake_256(plain).digest(32 if degree == 512 else 64)
        for _ in range(10):
            message = random.randbytes(random.choice((0, 1, 100, 1000)))
            signature = signer.sign_recoverable(message, secret_key)
            assert signer.recover(message, signature) == public_key
            assert signer.recover(message + b"x", signature) != public_key
            assert signer.verify(message, signature, public_key)


def test_second_half_is_a_valid_padded_liboqs_signature(degree: int) -> None:
    """Plain Falcon has header, nonce and s2; recovery adds only s1."""
    signer, theirs = opened(degree), open_signer(f"Falcon-padded-{degree}", BUILDS[1])
    _, secret_key = signer.generate_keypair()
    plain = plain_key(degree, secret_key)
    for message in (b"", b"message", bytes(1000)):
        signature = signer.sign(message, secret_key)
        header, nonce = signature[:1], signature[1:HEAD]
        assert header[0] == 0x70 + int(math.log2(degree))
        second = signature[HEAD + half_bytes(degree) :]
        rebuilt = bytes([header[0] - 0x40]) + nonce + second
        assert theirs.verify(message, rebuilt, plain)
        assert not theirs.verify(message + b"x", rebuilt, plain)


def attempts(secret_key: bytes, random: Random, degree: int) -> int:
    """Sign with fixed randomness; return the number of attempts."""
    signature = bytearray(HEAD + 2 * half_bytes(degree))
    facts = memoryview(bytearray(16)).cast("Q")
    nonce, seed, message = random.randbytes(40), random.randbytes(48), b"message"
    arguments = (secret_key, nonce, seed, message, len(message), FORM, WHOLE)
    log_degree = kernel.check_degree(degree)
    length = native.library(kernel.IMPLEMENTATION).call(
        "falcon_sign_seeded", signature, len(signature), *arguments, log_degree, facts
    )
    assert length == len(signature)
    assert opened(degree).recover(message, bytes(signature)) is not None
    return facts[0]


def test_non_invertible_halves_are_resampled(degree: int) -> None:
    """All n values of s2 under the transform must differ from 0: (1 - 1 / q)^n of attempts."""
    with native.library(kernel.IMPLEMENTATION).randomness(NistDrbg(bytes(48))):
        _, secret_key = opened(degree).generate_keypair()
    random, signatures = Random(degree), 300
    total = sum(attempts(secret_key, random, degree) for _ in range(signatures))
    expected = (1 - 1 / 12289) ** degree
    spread = math.sqrt(expected * (1 - expected) / total)
    # A thousandth of attempts or fewer also fail because they are not short or too long.
    assert signatures / total == pytest.approx(expected, abs=4 * spread + 0.001)
    assert total > signatures


def test_zero_half_recovers_no_key(degree: int) -> None:
    """(0, 0) is short; were it taken, it would be a signature of every message."""
    signer = opened(degree)
    bits = "000000001" * degree
    zero = int(bits, 2).to_bytes(len(bits) // 8, "big").ljust(half_bytes(degree), b"\0")
    forged = bytes([0x70 + int(math.log2(degree))]) + bytes(40) + zero + zero
    assert len(forged) == signer.algorithm.signature_bytes
    assert signer.recover(b"message", forged) is None
    assert not signer.verify(b"message", forged, bytes(signer.algorithm.public_key_bytes))


def test_signature_has_one_encoding(degree: int) -> None:
    signer = opened(degree)
    # Fixed randomness, since one in some hundred halves of degree 1024 has no padding.
    with native.library(kernel.IMPLEMENTATION).randomness(NistDrbg(bytes(range(48)))):
        _, secret_key = signer.generate_keypair()
        signature = signer.sign(b"m", secret_key)
    for end in (HEAD + half_bytes(degree), len(signature)):
        padding = bytearray(signature)
        assert padding[end - 1] == 0
        padding[end - 1] = 1
        assert signer.recover(b"m", bytes(padding)) is None
    assert signer.recover(b"m", signature + b"\0") is None
    assert signer.recover(b"m", signature[:-1]) is None
    assert signer.recover(b"m", b"") is None
    for header in range(256):
        if header != signature[0]:
            assert signer.recover(b"m", bytes([header]) + signature[1:]) is None


@settings(max_examples=300, database=None, deadline=None)
@given(
    degree=st.sampled_from([512, 1024]),
    edits=st.lists(st.tuples(st.integers(0, 2518), st.integers(1, 255)), min_size=1, max_size=40),
    cut=st.integers(0, 3) | st.just(2519),
)
def test_damaged_signatures_never_recover_the_key(degree, edits, cut):
    signer = opened(degree)
    public_key, signature = _signed(degree)
    changed = bytearray(signature)
    for position, mask in edits:
        changed[position % len(changed)] ^= mask
    damaged = bytes(changed) if cut == 2519 else bytes(changed[: len(changed) - cut])
    if damaged != signature:
        assert signer.recover(b"m", damaged) != public_key


_MADE: dict[int, tuple[bytes, bytes]] = {}


def _signed(degree: int) -> tuple[bytes, bytes]:
    """Return a public key and a signature of b"m", made once."""
    if degree not in _MADE:
        signer = opened(degree)
        public_key, secret_key = signer.generate_keypair()
        _MADE[degree] = public_key, signer.sign(b"m", secret_key)
    return _MADE[degree]
