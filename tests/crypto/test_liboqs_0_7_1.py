"""liboqs 0.7.1: sizes, implicit rejection, unique signature encodings, and both versions.

Known answers, boundaries of Dilithium and stacks are tested in the files of those names.
"""

import hashlib

import numpy as np
import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.crypto import Signer, native, open_kem, open_signer, unavailable_reason
from pqchain.errors import BadLength
from tests.crypto.builds import BUILDS, ROUND3_BUILDS, need

pytestmark = pytest.mark.native


def seeded(implementation: str):
    """Return a context in which the library draws fixed randomness."""
    return native.library(implementation).randomness(NistDrbg(bytes(range(48))))


def test_mceliece_versions_are_not_interchangeable():
    for build in (BUILDS[1], ROUND3_BUILDS[1]):
        need(build, "Classic-McEliece-348864")
    newer, older = (
        open_kem("Classic-McEliece-348864", build) for build in (BUILDS[1], ROUND3_BUILDS[1])
    )
    public_key, secret_key = older.generate_keypair()
    ciphertext, _ = older.encapsulate(public_key)
    assert (len(secret_key), len(ciphertext)) == (6452, 128)
    assert (older.algorithm.secret_key_bytes, older.algorithm.ciphertext_bytes) == (6452, 128)
    with pytest.raises(
        BadLength, match=r"ciphertext of .* must have 96 bytes in liboqs-0\.13.* got 128"
    ):
        newer.decapsulate(ciphertext, secret_key)
    with pytest.raises(BadLength, match=r"secret key of .* must have 6492 bytes .* got 6452"):
        newer.decapsulate(ciphertext[:96], secret_key)


Q = 12289
OLDER_BOUND, NEWER_BOUND = 43_533_782, 34_034_726
"""Of the squared norm: 1.2^2 * 2 * 512 * 1.55^2 * q, and that of specification 1.2, table 3.3."""


def squared_norm(message: bytes, signature: bytes, public_key: bytes) -> int:
    """Compute the squared norm that a verifier of Falcon-512 compares with its bound."""
    bits = [byte >> shift & 1 for byte in signature[41:] for shift in range(7, -1, -1)]
    position, second = 0, []
    for _ in range(512):
        end = bits.index(1, position + 8)
        low = int("".join(map(str, bits[position + 1 : position + 8])), 2)
        value = low + 128 * (end - position - 8)
        second.append(-value if bits[position] else value)
        position = end + 1
    stream = hashlib.shake_256(signature[1:41] + message).digest(4096)
    words = [int.from_bytes(stream[i : i + 2], "big") for i in range(0, len(stream), 2)]
    target = np.array([word % Q for word in words if word < 5 * Q][:512])
    packed = int.from_bytes(public_key[1:], "big")
    key = np.array([packed >> 14 * (511 - i) & 0x3FFF for i in range(512)])
    product = np.convolve(np.array(second), key)
    product = product[:512] - np.append(product[512:], 0)
    first = (target - product + Q // 2) % Q - Q // 2
    return int((first**2).sum() + (np.array(second) ** 2).sum())


@pytest.mark.parametrize("older", ROUND3_BUILDS)
def test_falcon_of_the_older_version_has_a_wider_bound(older):
    newer = BUILDS[ROUND3_BUILDS.index(older)]
    need(newer, "Falcon-512")
    need(older, "Falcon-512")
    one, other = open_signer("Falcon-512", newer), open_signer("Falcon-512", older)
    # The builds give equal signatures, so the faster one signs where available.
    maker = next(each for each in ROUND3_BUILDS if not unavailable_reason(each))
    signer = open_signer("Falcon-512", maker)
    with native.library(maker).randomness(NistDrbg(bytes(range(1, 49)))):
        public_key, secret_key = signer.generate_keypair()
        messages = [b"%d" % index for index in range(1000)]
        signatures = [(message, signer.sign(message, secret_key)) for message in messages]
    assert all(other.verify(*pair, public_key) for pair in signatures)
    refused = [pair for pair in signatures if not one.verify(*pair, public_key)]
    accepted = [pair for pair in signatures if pair not in refused]
    assert 0 < len(refused) < 20
    for pair in refused:
        assert NEWER_BOUND < squared_norm(*pair, public_key) <= OLDER_BOUND
    for pair in accepted[:20]:
        assert squared_norm(*pair, public_key) <= NEWER_BOUND


def respelled(signature: bytes, *, minus_zero: bool) -> bytes | None:
    """Return another encoding of a Falcon signature with the same polynomial, if one exists.

    Each coefficient is a sign, seven low bits, and the high part in unary, ended by a 1; the
    rest of the last byte is zero (Falcon specification 1.2, section 3.11.2).
    """
    bits = [byte >> shift & 1 for byte in signature[41:] for shift in range(7, -1, -1)]
    position = 0
    for _ in range(512):
        low, after = bits[position + 1 : position + 8], bits[position + 8]
        if minus_zero and not any(low) and after:
            bits[position] ^= 1
            break
        position = bits.index(1, position + 8) + 1
    else:
        if minus_zero or position == len(bits):
            return None
        bits[-1] ^= 1
    packed = int("".join(map(str, bits)), 2).to_bytes(len(bits) // 8, "big")
    return signature[:41] + packed


def spellings(signer: Signer, secret_key: bytes, *, minus_zero: bool):
    """Yield messages with a re-encoded signature."""
    for index in range(60):
        message = b"%d" % index
        other = respelled(signer.sign(message, secret_key), minus_zero=minus_zero)
        if other is not None:
            yield message, other


@pytest.mark.parametrize("minus_zero", [True, False], ids=["minus-zero", "unused-bits"])
@pytest.mark.parametrize("implementation", [*BUILDS, *ROUND3_BUILDS])
def test_falcon_signature_has_one_encoding(implementation, minus_zero):
    need(implementation, "Falcon-512")
    signer = open_signer("Falcon-512", implementation)
    with seeded(implementation):
        public_key, secret_key = signer.generate_keypair()
        made = list(spellings(signer, secret_key, minus_zero=minus_zero))
    assert len(made) > 10
    # They decode to short vectors, as the originals do: the encoding is rejected.
    assert all(squared_norm(*pair, public_key) <= OLDER_BOUND for pair in made[:3])
    assert not any(signer.verify(message, other, public_key) for message, other in made)
