"""Properties of every algorithm of the default build."""

from contextlib import nullcontext
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import algorithms
from pqchain.crypto import Kem, Signer, native, open_kem, open_signer
from pqchain.crypto.native import DEFAULT
from pqchain.installation import omission_reason
from tests.crypto.builds import ROUND3_BUILDS, has_small_signatures, need

pytestmark = pytest.mark.native

SIGNATURES = [
    name
    for name in algorithms.names("signature")
    if any(
        not omission_reason(algorithms.implementation(each).library)
        for each in algorithms.get(name).implementations
    )
]
"""Those with an implementation that the build did not leave out."""
KEMS = [n for n in algorithms.names("kem") if algorithms.get(n).implementations]
CONTEXTS = [name for name in SIGNATURES if algorithms.get(name).family_facts.context_bytes]

HIGHER = [
    name
    for name in SIGNATURES
    if name.startswith(("SLH-DSA", "SPHINCS+")) and not any(s in name for s in ("128", "SHA2-192f"))
]
"""Hash-based sets in `make test-long`: the others have their code (SHA-512 is in SHA2-192f)."""

NORMAL = [
    pytest.param(name, marks=pytest.mark.long) if name in HIGHER else name for name in SIGNATURES
]

SMALL = [name for name in SIGNATURES if has_small_signatures(name)]

SLOWEST = [name for name in SMALL if "128" not in name]
"""Mostly in `make test-long`; the fast sets of their level have the same code."""

EDGES = (b"c", bytes(1), bytes(range(255)))
"""Contexts."""

MESSAGE = bytes(range(64))
MEBIBYTE = bytes(1 << 20)

EXHAUSTIVE_BYTES = 200
"""Up to this length every position is tried, however slow the scheme."""

FAST = ("Dilithium", "ML-DSA", "Falcon", "MAYO-1", "MAYO-2", "MAYO-3", "Kyber", "ML-KEM")
"""Schemes so fast that every position of anything is tried; of the others, a choice."""

LARGE = ("Dilithium3", "Dilithium5", "ML-DSA-65", "ML-DSA-87", "Falcon-1024",
         "Falcon-padded-1024", "MAYO-3")  # fmt: skip
"""Larger sets of fast schemes: every position only in `make test-long`."""

FLIPPED = [
    *(
        pytest.param(
            name,
            None,
            name.startswith(FAST) and name not in LARGE,
            marks=pytest.mark.long if name in HIGHER else [],
        )
        for name in SIGNATURES
    ),
    *(
        pytest.param(name, None, True, marks=pytest.mark.long)
        for name in SIGNATURES
        if name in LARGE
    ),
]
"""Signature schemes, and whether to try every position."""

OLDER = [
    (name, build, True)
    for name in ("Dilithium2", "Falcon-512", "Rainbow-I-Classic")
    for build in ROUND3_BUILDS
] + [
    ("Hawk-512", "hawk/ref", True),
    pytest.param("Hawk-1024", "hawk/ref", True, marks=pytest.mark.long),
]
"""Rows of the same test for the older version of liboqs and the other build of Hawk."""


class Signed(NamedTuple):
    """One key pair of an algorithm and one signature by it."""

    signer: Signer
    public_key: bytes
    secret_key: bytes
    signature: bytes


class Encapsulated(NamedTuple):
    """One key pair of a KEM and one ciphertext for it."""

    kem: Kem
    public_key: bytes
    secret_key: bytes
    ciphertext: bytes
    shared_secret: bytes


def reproducible(implementation: str):
    """Return a context in which a native library draws fixed randomness."""
    if not algorithms.implementation(implementation).library:
        return nullcontext()
    return native.library(implementation).randomness(NistDrbg(b"reproducible".ljust(48)))


@cache
def signed(name: str, implementation: str | None = None) -> Signed:
    """Return a key pair and a signature of MESSAGE, made once."""
    signer = open_signer(name, implementation)
    if implementation is None and DEFAULT in algorithms.get(name).implementations:
        assert signer.implementation == DEFAULT
    with reproducible(signer.implementation):
        public_key, secret_key = signer.generate_keypair()
        signature = signer.sign(MESSAGE, secret_key)
    assert signer.verify(MESSAGE, signature, public_key)
    return Signed(signer, public_key, secret_key, signature)


@cache
def encapsulated(name: str) -> Encapsulated:
    """Return a key pair and a ciphertext, made once."""
    kem = open_kem(name)
    with reproducible(kem.implementation):
        public_key, secret_key = kem.generate_keypair()
        ciphertext, shared_secret = kem.encapsulate(public_key)
    assert kem.decapsulate(ciphertext, secret_key) == shared_secret
    return Encapsulated(kem, public_key, secret_key, ciphertext, shared_secret)


def for_each_flip(data: bytes, check, *, every: bool) -> None:
    """Call check(position, changed data) for every position, or for many of long data."""

    def flip(position: int, mask: int) -> None:
        changed = bytearray(data)
        changed[position] ^= mask
        check(position, bytes(changed))

    if len(data) <= EXHAUSTIVE_BYTES or every:
        for position in range(len(data)):
            flip(position, 1 << position % 8)
        return
    for position in (0, 1, len(data) - 1):
        flip(position, 1)
    random = Random(len(data))
    for _ in range(60):
        flip(random.randrange(len(data)), random.randint(1, 255))


@pytest.mark.parametrize(("name", "implementation", "every"), [*FLIPPED, *OLDER])
def test_changed_signature_is_invalid(name, implementation, every):
    if implementation:
        need(implementation, name)
    case = signed(name, implementation)

    def check(position, changed):
        assert case.signer.verify(MESSAGE, changed, case.public_key) is False, position

    for_each_flip(case.signature, check, every=every)


@pytest.mark.parametrize("name", NORMAL)
def test_changed_message_is_invalid(name):
    case = signed(name)

    def check(position, changed):
        assert case.signer.verify(changed, case.signature, case.public_key) is False, position

    for_each_flip(MESSAGE, check, every=True)
    for other in (b"", MESSAGE[:-1], MESSAGE + b"\0"):
        assert case.signer.verify(other, case.signature, case.public_key) is False


@pytest.mark.parametrize(("name", "implementation", "every"), FLIPPED)
def test_changed_public_key_is_invalid(name, implementation, every):
    case = signed(name, implementation)

    def check(position, changed):
        # BIP 340 keys are x-only: the parity in the first byte does not matter.
        ignored = name == "Schnorr-secp256k1" and position == 0
        valid = case.signer.verify(MESSAGE, case.signature, changed)
        # A coefficient of Rainbow's polynomials does not matter where the signature has a zero.
        assert valid is ignored or name == "Rainbow-I-Classic", position

    for_each_flip(case.public_key, check, every=every)


@pytest.mark.parametrize("name", NORMAL)
def test_signature_of_another_length_is_invalid(name):
    signer, public_key, _, signature = signed(name)
    padded = {"Falcon-512": 666, "Falcon-1024": 1280}.get(name, 0)
    maximum = signer.algorithm.signature_max_bytes
    for length in {0, 1, len(signature) - 1, len(signature) // 2}:
        assert signer.verify(MESSAGE, signature[:length], public_key) is False
    longer = {*range(len(signature) + 1, len(signature) + 40), maximum + 1, 2 * maximum}
    assert padded in {0, *longer}
    for length in longer:
        # liboqs accepts padded Falcon signatures in the unpadded scheme as well.
        expected = length == padded
        assert signer.verify(MESSAGE, signature.ljust(length, b"\0"), public_key) is expected
        assert signer.verify(MESSAGE, signature.ljust(length, b"\1"), public_key) is False


@pytest.mark.parametrize("message", [b"", MEBIBYTE], ids=["empty", "1-MiB"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in HIGHER else []) for name in SIGNATURES],
)
def test_empty_and_long_messages_round_trip(name, message):
    signer, public_key, secret_key, _ = signed(name)
    signature = signer.sign(message, secret_key)
    assert signer.verify(message, signature, public_key) is True
    assert signer.verify(message + b"\0", signature, public_key) is False
    assert signer.verify(message[:-1] + b"\1", signature, public_key) is False


# Small sets prepare a message as the fast sets do.
@pytest.mark.parametrize(
    ("name", "contexts"),
    [
        *(
            (name, EDGES[1:2] if name in SMALL else EDGES)
            for name in CONTEXTS
            if name not in SLOWEST
        ),
        *(pytest.param(name, EDGES, marks=pytest.mark.long) for name in CONTEXTS if name in SMALL),
    ],
)
def test_context_is_bound_to_the_signature(name, contexts):
    signer, public_key, secret_key, without = signed(name)
    for context in contexts:
        signature = signer.sign(MESSAGE, secret_key, context)
        assert signer.verify(MESSAGE, signature, public_key, context) is True
        assert signer.verify(MESSAGE, signature, public_key, bytearray(context)) is True
        for other in (b"", context[:-1], context[:-1] + b"\xff"):
            assert signer.verify(MESSAGE, signature, public_key, other) is False
        assert signer.verify(MESSAGE, without, public_key, context) is False


@pytest.mark.parametrize("name", KEMS)
def test_changed_ciphertext_gives_another_secret(name):
    case = encapsulated(name)

    def check(position, changed):
        secret = case.kem.decapsulate(changed, case.secret_key)
        assert len(secret) == len(case.shared_secret)
        assert secret != case.shared_secret, position

    for_each_flip(case.ciphertext, check, every=name.startswith(FAST))


@pytest.mark.parametrize("name", KEMS)
def test_encapsulation_is_randomised(name):
    case = encapsulated(name)
    again = [case.kem.encapsulate(bytearray(case.public_key)) for _ in range(2)]
    assert len({case.ciphertext, *(ciphertext for ciphertext, _ in again)}) == 3
    for ciphertext, shared_secret in again:
        assert case.kem.decapsulate(memoryview(ciphertext), case.secret_key) == shared_secret
