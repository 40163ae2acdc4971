"""Keys that implementations reject, and public keys that a verifier keeps decoded."""

import random

import pytest

from pqchain import algorithms
from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.errors import CryptoFailure, PqchainError, Unsupported, UsageError
from tests.crypto.builds import need

pytestmark = pytest.mark.native

MODULES = {
    "ML-DSA-44": (128, 4, 4, 2),
    "ML-DSA-65": (128, 6, 5, 4),
    "ML-DSA-87": (128, 8, 7, 2),
    "Dilithium2": (96, 4, 4, 2),
    "Dilithium3": (96, 6, 5, 4),
    "Dilithium5": (96, 8, 7, 2),
}
"""Bytes before s1, rows and columns of A (k and l), and eta: FIPS 204, table 1 and algorithm 24."""


def implementations(*names: str) -> list[tuple[str, str]]:
    return [(name, row) for name in names for row in algorithms.get(name).implementations]


def packed(key: bytes, first_bit: int, bits: int, number: int) -> bytes:
    """Return the key with changed bits, numbered as FIPS 204 packs them."""
    mask = ((1 << bits) - 1) << first_bit
    value = int.from_bytes(key, "little") & ~mask | number << first_bit
    return value.to_bytes(len(key), "little")


@pytest.mark.parametrize(("name", "implementation"), implementations(*MODULES))
def test_coefficients_of_s1_and_s2_out_of_range_are_rejected(name, implementation):
    need(implementation, name)
    signer = open_signer(name, implementation)
    public_key, secret_key = signer.generate_keypair()
    before, rows, columns, eta = MODULES[name]
    bits, count, rng = (3, 4)[eta == 4], (rows + columns) * 256, random.Random(name)
    signature = signer.sign(b"message", secret_key)
    assert signer.verify(b"message", signature, public_key)
    places = [
        0,
        1,
        columns * 256 - 1,
        columns * 256,
        count - 1,
        *(rng.randrange(count) for _ in range(10)),
    ]
    for place in places:
        for number in {2 * eta + 1, 2**bits - 1, rng.randrange(2 * eta + 1, 2**bits)}:
            damaged = packed(secret_key, before * 8 + place * bits, bits, number)
            with pytest.raises(
                CryptoFailure, match="key generation cannot produce this secret key"
            ):
                signer.sign(b"message", damaged)
    for place in places:  # -eta and eta are in range; other fields are unrestricted
        for number in (0, 2 * eta):
            signer.sign(b"message", packed(secret_key, before * 8 + place * bits, bits, number))
    for first_bit in (before * 8 - 8, before * 8 + count * bits):
        signer.sign(b"message", packed(secret_key, first_bit, 8, 255))


def f_of(secret_key: bytes, degree: int) -> bytes:
    """Return f of a Falcon key, one byte per coefficient."""
    bits = 6 if degree == 512 else 5
    packed = int.from_bytes(secret_key[1 : 1 + degree * bits // 8], "big")
    values = [packed >> bits * (degree - 1 - place) & (1 << bits) - 1 for place in range(degree)]
    return bytes(value - (value >> bits - 1 << bits) & 0xFF for value in values)


@pytest.mark.parametrize(
    ("name", "implementation"),
    implementations("Falcon-512", "Falcon-1024", "Falcon-recovery-512", "Hawk-512", "Hawk-1024"),
)
def test_damaged_keys_of_ntru_lattices_are_rejected(name: str, implementation: str) -> None:
    """Inconsistent f, g, F of Falcon or seed, F, G of Hawk give no signature.

    Hawk's key ends with a hash of the public key, which the key alone cannot confirm.
    """
    try:
        signer = open_signer(name, implementation)
    except Unsupported as error:
        pytest.skip(str(error))
    _, secret_key = signer.generate_keypair()
    hash_bytes = {"Hawk-512": 32, "Hawk-1024": 64}.get(name, 0)
    rng = random.Random(name)
    damaged = [bytes(len(secret_key)), b"\xff" * len(secret_key), b"\x80" * len(secret_key)]
    for place in [0, 1, *(rng.randrange(len(secret_key) - hash_bytes) for _ in range(12))]:
        flipped = bytearray(secret_key)
        flipped[place] ^= 1 << rng.randrange(8)
        damaged.append(bytes(flipped))
    if name.startswith("Falcon"):  # G is short then as well; liboqs would loop forever
        degree = int(name.rpartition("-")[2])
        coefficients = degree * (6 if degree == 512 else 5) // 8
        f_and_g = secret_key[: 1 + 2 * coefficients]
        damaged += [
            f_and_g + bytes(degree),
            f_and_g[: 1 + coefficients] + bytes(coefficients + degree),
        ]
        damaged.append(f_and_g + f_of(secret_key, degree))
        assert signer.sign(b"message", secret_key)
    for each in damaged:
        with pytest.raises(PqchainError, match=r"secret key|key may be damaged"):
            signer.sign(b"message", each)


DECODING = {
    ("BLS12-381", "blst/assembly"),
    *(
        (name, f"hawk/{variant}")
        for name in ("Hawk-512", "Hawk-1024")
        for variant in ("avx512", "avx2", "ref")
    ),
    *(
        (f"Falcon-{form}{degree}", build)
        for form in ("", "padded-")
        for degree in (512, 1024)
        for build in ("falcon/kernel", "fn-dsa/avx2", "fn-dsa/ref")
    ),
    ("Ed25519", "ed25519-dalek/dispatch"),
}
"""Schemes and implementations with a decoded form of keys; all others take encoded keys only."""


def offered():
    for name in algorithms.names("signature"):
        for implementation in algorithms.get(name).implementations:
            row = algorithms.implementation(implementation)
            if not unavailable_reason(implementation) and not row.location:
                yield name, implementation


@pytest.mark.parametrize("pair", sorted(DECODING))
def test_a_decoded_key_gives_the_same_verdicts(pair):
    if reason := unavailable_reason(pair[1]):
        pytest.skip(reason)
    signer = open_signer(*pair)
    decoder = native.KeyDecoder(signer)
    pairs = [signer.generate_keypair() for _ in range(2)]
    decoded = decoder.decode(b"".join(public for public, _ in pairs))
    for index, (public_key, secret_key) in enumerate(pairs):
        signature = bytes(signer.sign(b"a vote", secret_key))
        assert decoder.verify(b"a vote", signature, decoded, index)
        assert not decoder.verify(b"a vote", signature, decoded, 1 - index)
        changed = bytes([*signature[:-9], signature[-9] ^ 4, *signature[-8:]])
        for message, other in ((b"a note", signature), (b"a vote", changed), (b"a vote", b"1")):
            expected = signer.verify(message, other, public_key)
            assert decoder.verify(message, other, decoded, index) == expected
            assert not expected
    with pytest.raises(UsageError, match="index"):
        decoder.verify(b"a vote", signature, decoded, 2)


@pytest.mark.parametrize("pair", sorted(DECODING))
def test_an_invalid_key_is_not_decoded(pair):
    if reason := unavailable_reason(pair[1]):
        pytest.skip(reason)
    signer = open_signer(*pair)
    decoder = native.KeyDecoder(signer)
    public_key, _ = signer.generate_keypair()
    with pytest.raises(CryptoFailure, match="invalid"):
        # No point of Ed25519 has y = 2; y = 18, as of the other bytes, is one.
        invalid = b"\2" + bytes(31) if pair[0] == "Ed25519" else b"\xff" * len(public_key)
        decoder.decode(public_key + invalid)
    with pytest.raises(UsageError, match="multiple"):
        decoder.decode(public_key[:-1])
    with pytest.raises(UsageError, match="multiple"):
        decoder.decode(b"")


def test_all_other_verifiers_say_that_they_take_encoded_keys():
    pairs = set(offered())
    for name, implementation in pairs - DECODING:
        with pytest.raises(Unsupported, match="encoded public key only"):
            native.KeyDecoder(open_signer(name, implementation))
    assert pairs & DECODING == {pair for pair in DECODING if not unavailable_reason(pair[1])}
