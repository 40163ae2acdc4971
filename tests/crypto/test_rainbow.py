"""Rainbow: known answers, and equality with the portable code of liboqs."""

import ctypes
from functools import cache
from random import Random

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.crypto import native, open_signer
from pqchain.errors import CryptoFailure
from tests.crypto.builds import ROUND3_BUILDS, need
from tests.crypto.test_known_answers import ANSWERS, digest, signature_response

pytestmark = pytest.mark.native

NAME, OURS, PORTABLE = "Rainbow-I-Classic", "rainbow/avx2", "liboqs-0.7.1/ref"


@pytest.fixture(autouse=True)
def runs_here() -> None:
    """Skip on a processor that cannot run it."""
    need(OURS, NAME)


@cache
def pair(number: int) -> tuple[bytes, bytes]:
    """Return a fixed key pair."""
    with native.library(PORTABLE).randomness(NistDrbg(bytes([number]) * 48)):
        return open_signer(NAME, PORTABLE).generate_keypair()


def test_rainbow_known_answers_are_reproduced() -> None:
    expected = ANSWERS[ROUND3_BUILDS]["signature"][NAME]["single"]
    assert digest(signature_response(NAME, OURS, 1)) == expected


def test_key_pairs_are_those_of_the_portable_code() -> None:
    with native.library(OURS).randomness(NistDrbg(bytes([0]) * 48)):
        assert open_signer(NAME, OURS).generate_keypair() == pair(0)


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 2))]
)
def test_signatures_and_verdicts_are_those_of_the_portable_code(number: int) -> None:
    public_key, secret_key = pair(number)
    ours, portable = open_signer(NAME, OURS), open_signer(NAME, PORTABLE)
    rng = Random(number)
    for size in [*range(70), *rng.choices(range(5000), k=80)]:
        message = rng.randbytes(size)
        signature = ours.sign(message, secret_key)
        assert signature == portable.sign(message, secret_key)
        assert ours.verify(message, signature, public_key)
        changed = bytearray(signature)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        assert not ours.verify(message, changed, public_key)
        assert not portable.verify(message, changed, public_key)


def test_public_key_bits_matter_where_the_signature_is_not_zero() -> None:
    public_key, secret_key = pair(1)
    ours, portable = open_signer(NAME, OURS), open_signer(NAME, PORTABLE)
    signature = ours.sign(b"key", secret_key)
    x = [signature[i // 2] >> (i % 2 * 4) & 15 for i in range(100)]
    pairs = [(i, j) for i in range(100) for j in range(i, 100)]
    rng = Random(5)
    for at in rng.sample(range(len(public_key)), 400):
        changed = bytearray(public_key)
        changed[at] ^= 1 << rng.randrange(8)
        first, second = pairs[at // 32]
        matters = x[first] != 0 and x[second] != 0
        assert ours.verify(b"key", signature, bytes(changed)) is not matters
        if at % 20 == 0:
            assert portable.verify(b"key", signature, bytes(changed)) is not matters


def test_random_keys_and_signatures_get_the_portable_verdict() -> None:
    ours, portable = open_signer(NAME, OURS), open_signer(NAME, PORTABLE)
    sizes, rng = ours.algorithm, Random(9)
    zero = bytes(sizes.signature_bytes)
    for _ in range(20):
        public_key = rng.randbytes(sizes.public_key_bytes)
        signature = rng.randbytes(sizes.signature_bytes)
        for candidate in (signature, zero):
            assert ours.verify(b"m", candidate, public_key) is False
            assert portable.verify(b"m", candidate, public_key) is False
    for _ in range(10):  # both treat any bytes as a secret key in the same way
        secret_key = rng.randbytes(sizes.secret_key_bytes)
        assert ours.sign(b"m", secret_key) == portable.sign(b"m", secret_key)


def test_key_without_a_solution_is_an_error() -> None:
    signer = open_signer(NAME, OURS)
    with pytest.raises(CryptoFailure):
        signer.sign(b"m", bytes(signer.algorithm.secret_key_bytes))


def test_keys_need_no_alignment() -> None:
    public_key, secret_key = pair(2)
    signer = open_signer(NAME, OURS)
    library = native.library(OURS)
    handle = library.scheme(NAME)
    signature = signer.sign(b"m", secret_key)
    for shift in (1, 7, 31):
        memory = ctypes.create_string_buffer(bytes(shift) + public_key)
        code = library._handle.pq_verify(
            handle, b"m", 1, signature, len(signature), b"", 0, ctypes.addressof(memory) + shift
        )
        assert code == 0
