"""`FalconSigner`: equal signatures from every back end, and errors."""

import random
from hashlib import sha256
from typing import Any

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import open_signer
from pqchain.crypto import native
from pqchain.errors import BadLength, BadType, CryptoFailure, Unsupported, UsageError
from pqchain.falcon import FalconSigner, kernel, signer
from tests.falcon.rtl import SEED, signs_as_liboqs

pytestmark = pytest.mark.native


@pytest.fixture(params=[512, 1024])
def degree(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def split_signature(algorithm, secret_key, message, seed):
    """Sign through the split interface: one command per transform and sampler draw."""
    drbg = NistDrbg(seed)
    nonce, signature = drbg(40), bytearray(algorithm.signature_max_bytes)
    given = (secret_key, nonce, drbg(48), message, len(message))
    form = (0, 1, kernel.check_degree(512 if len(secret_key) == 1281 else 1024))
    length = native.library(kernel.IMPLEMENTATION).call(
        "falcon_sign_seeded", signature, len(signature), *given, *form, None
    )
    return bytes(signature[:length])


@pytest.mark.long
@pytest.mark.parametrize("degree", [512, pytest.param(1024, marks=pytest.mark.long)])
def test_thousand_signatures_equal_liboqs(degree: int) -> None:
    """100 keys, 10 messages each, with different randomness; both interfaces of the kernel."""
    rng = random.Random(degree)
    reference = FalconSigner(degree, "reference")
    library = native.library(reference._reference.implementation)
    differing = split = 0
    for _ in range(100):
        with library.randomness(NistDrbg(rng.randbytes(48))):
            public_key, secret_key = reference._reference.generate_keypair()
        assert kernel.public_key(reference.algorithm, secret_key) == public_key
        for index in range(10):
            seed, message = rng.randbytes(48), rng.randbytes(rng.choice((0, 1, 33, 136, 1000)))
            with library.randomness(NistDrbg(seed)):
                expected = reference._reference.sign(message, secret_key)
            given = FalconSigner(degree, "kernel", random_bytes=NistDrbg(seed))
            differing += given.sign(message, secret_key) != expected
            if index == 0:
                split += split_signature(reference.algorithm, secret_key, message, seed) != expected
    assert (differing, split) == (0, 0)


def test_padded_signatures_equal_liboqs(degree: int) -> None:
    rng = random.Random(degree + 1)
    signs_as_liboqs("kernel", degree, (rng.randbytes(100) for _ in range(100)), padded=True)


def test_verifier_agrees_with_liboqs_on_every_flipped_byte(degree: int) -> None:
    ours = open_signer(f"Falcon-{degree}", "falcon/kernel")
    theirs = open_signer(f"Falcon-{degree}", "liboqs-0.13/ref")
    public_key, secret_key = theirs.generate_keypair()
    signature, changes = theirs.sign(b"message", secret_key), []
    for at in range(0, len(signature), 3):
        changed = signature[:at] + bytes([signature[at] ^ 1 << at % 8]) + signature[at + 1 :]
        changes.append(changed)
    changes += [signature + tail for tail in (b"\0", b"\0" * 11, b"\1")]
    for changed in changes:
        ours_says = ours.verify(b"message", changed, public_key)
        assert ours_says == theirs.verify(b"message", changed, public_key)
    for cut in (1, 41, 42, len(signature) - 1):
        assert not ours.verify(b"message", signature[:cut], public_key)
    for at in range(0, len(public_key), 97):
        changed = public_key[:at] + b"\xff\xff"[: len(public_key) - at] + public_key[at + 2 :]
        assert not ours.verify(b"message", signature, changed)


def test_messages_may_be_empty_and_large(degree: int) -> None:
    one = FalconSigner(degree, "kernel")
    public_key, secret_key = one.generate_keypair()
    for message in (b"", bytes(10_000_000), bytearray(b"text"), memoryview(b"text")):
        assert one.verify(message, one.sign(message, secret_key), public_key)


def test_auto_selects_the_kernel_without_a_board() -> None:
    one = FalconSigner()
    assert (one.degree, one.backend) == (512, "kernel") and "kernel" in repr(one)
    assert one.reason.startswith("overlay: ")


def test_auto_selects_liboqs_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {"falcon/kernel": "not here"}
    monkeypatch.setattr(signer, "unavailable_reason", lambda name: reasons.get(name, ""))
    one = FalconSigner(1024)
    assert one.backend == "reference"
    assert "not here" in one.reason
    with pytest.raises(Unsupported, match="not here"):
        FalconSigner(1024, "kernel")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"degree": degree}, "must be 512 or 1024") for degree in (256, "512", True, None)),
        ({"backend": "board"}, "must be 'auto', 'reference'"),
        *(({"backend": "serial", "device": each}, "must be the path") for each in (None, "", 3)),
    ],
)
def test_impossible_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FalconSigner(**options)


@pytest.mark.parametrize("backend", ["reference", "kernel"])
def test_key_of_the_other_size_is_named(backend: str) -> None:
    _, small = FalconSigner(512).generate_keypair()
    _, large = FalconSigner(1024).generate_keypair()
    for degree, message, key, error, said in (
        (512, b"", large, BadLength, "is a key of Falcon-1024"),
        (1024, b"", small, BadLength, "is a key of Falcon-512"),
        (512, b"", small[:-1], BadLength, "unpadded and uncut"),
        (512, "text", small, BadType, "bytes"),
    ):
        with pytest.raises(error, match=said):
            FalconSigner(degree, backend).sign(message, key)  # type: ignore[arg-type]


def test_damaged_keys_are_rejected(degree: int) -> None:
    one = FalconSigner(degree, "kernel")
    _, secret_key = one.generate_keypair()
    head = secret_key[:1]
    damaged = [bytes([secret_key[0] ^ 1]) + secret_key[1:], head + bytes(len(secret_key) - 1)]
    damaged += [head + b"\x82\x08\x20" + secret_key[4:], secret_key[:-1] + b"\x80"]
    # F with one bit changed: then G is large, or the lattice has no short vectors.
    for at in range(len(secret_key) - 200, len(secret_key), 20):
        damaged.append(secret_key[:at] + bytes([secret_key[at] ^ 0x10]) + secret_key[at + 1 :])
    for key in damaged:
        for work in (one.sign, one.profile):
            with pytest.raises(CryptoFailure):
                work(b"message", key)


def test_profile_covers_the_signer(degree: int) -> None:
    one = FalconSigner(degree, "kernel")
    _, secret_key = one.generate_keypair()
    frame = one.profile(b"message", secret_key)
    assert list(frame.columns) == ["step", "seconds", "calls", "where"]
    assert (frame["seconds"] > 0).all()
    calls = frame.set_index("step")["calls"]
    assert (calls["SamplerZ"], calls["transforms"]) == (2 * degree, 11)
    assert calls["LDL decompositions"] == degree - 1
    assert set(frame["where"]) == {"software", "engine"}
    whole = FalconSigner(degree, "reference").profile(b"message", secret_key)
    assert list(whole["step"]) == ["sign"]


def test_request_memory_is_wiped(degree: int) -> None:
    one = FalconSigner(degree)
    _, secret_key = one.generate_keypair()
    with kernel.request_of(
        one.algorithm, secret_key=secret_key, nonce=bytes(40), message=b"message"
    ) as request:
        assert any(request)
    assert request == bytes(kernel.request_bytes(kernel.check_degree(degree)))


def test_signatures_are_pinned(degree: int) -> None:
    """A pinned digest detects changes of the arithmetic on any machine."""
    one = FalconSigner(degree, "kernel", random_bytes=NistDrbg(SEED))
    _, secret_key = one.generate_keypair()
    text = b"".join(one.sign(bytes([k]), secret_key) for k in range(8))
    assert sha256(text).hexdigest() == GOLDEN[degree]


GOLDEN = {
    512: "272a0dc75729b805dbe4bfae332e69871ad6ea7b8eea4acf6aba25b3f26edfea",
    1024: "2011dab86aa971df7d4ba8ec4e04aa8f87113fbf528c7d0e254ca26ff3ee9e62",
}
"""SHA-256 of eight signatures in a row; the same as with the backend `reference`."""
