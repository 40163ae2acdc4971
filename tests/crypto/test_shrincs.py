"""SHRINCS: the proposal's vectors by their digests, every leaf, wrong signatures and arguments."""

import csv
import io
from hashlib import sha256

import pytest

from pqchain import algorithms
from pqchain.crypto import unavailable_reason
from pqchain.crypto.native_signers import ShrincsSigner
from pqchain.errors import BadLength, CryptoFailure, UsageError

pytestmark = pytest.mark.native

KEYGEN_DIGEST = "bb95274a3fdcca72c7743fe0f4336827e62bab92f8a048320edacfc0548f672a"
SIGNATURES_DIGEST = "193d8f0873593ae6fa65848ac05e99c51bc3a2a6c06bef1de1f358839db9f0bc"
"""SHA-256 of keygen.csv and signatures_valid.csv, from test_vectors of the proposal's commit."""

KEYS = [
    (b"bxmss-5", 1, 5), (b"bxmss-8", 1, 8), (b"uxmss-5", 0, 5),
    (b"uxmss-6", 0, 6), (b"uxmss-8", 0, 8), (b"uxmss-255", 0, 255),
]  # fmt: skip
"""Inputs of keygen.csv, from the proposal's gen_test_vectors.py."""

UNBALANCED = bytes.fromhex(
    "9808b8a20a3985fe718939c9346d8965d46620508f040f53774de8070795a061"
    "759a6b5e090187b5ec68cd47e03b7339b001fdf281e15e0cdf8f43c54ebc8a96"
    "000608aaad9493ab2c607c3c3addfa746b6b"
)
BALANCED = bytes.fromhex(
    "659f1db58b8e2d879fc3915ba778c93b62262cbc144bf4707d0705780ba2e2e8"
    "fd88bc133af444b91aa77bcd01bd27dda8750154f486a3e00a563d51d96729ad"
    "0105d5dab9e1d2e67006791e40f0a8e5f1a9"
)
SIGNED = [(UNBALANCED, 0), (UNBALANCED, 2), (BALANCED, 22), (UNBALANCED, None)]
"""Secret keys and counters of signatures_valid.csv; None signs without state."""


@pytest.fixture(params=algorithms.get("SLH-DSA-SHA2-128s").implementations)
def signer(request: pytest.FixtureRequest) -> ShrincsSigner:
    """Return the signer of each build."""
    if reason := unavailable_reason(request.param):
        assert "lacks" in reason, reason
        pytest.skip(reason)
    return ShrincsSigner(request.param)


def public_of(secret_key: bytes) -> bytes:
    return secret_key[32:64] + secret_key[66:]


def digest(rows: list[list[object]]) -> str:
    """Return the SHA-256 of the rows as the proposal's CSV file has them."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return sha256(text.getvalue().encode()).hexdigest()


def test_keys_of_the_proposal(signer: ShrincsSigner) -> None:
    rows: list[list[object]] = [["seed", "structure", "seckey", "pubkey"]]
    for name, shape, depth in KEYS:
        seed = (sha256(name + b"1").digest() + sha256(name + b"2").digest())[:48]
        structure = bytes((shape, depth))
        public_key, secret_key = signer.generate_keypair(structure, seed)
        rows.append([value.hex() for value in (seed, structure, secret_key, public_key)])
    assert digest(rows) == KEYGEN_DIGEST


def test_signatures_of_the_proposal(signer: ShrincsSigner) -> None:
    rows: list[list[object]] = [
        ["seckey", "pubkey", "message", "ctx", "opt_rand", "state_ctr", "signature"]
    ]
    for key, counter in SIGNED:
        signature = signer.sign(b"hello", key, counter=counter, randomness=key[32:48])
        assert signer.verify(b"hello", signature, public_of(key))
        number = "" if counter is None else counter
        rows.append(
            [key.hex(), public_of(key).hex(), b"hello".hex(), "", "", number, signature.hex()]
        )
    assert digest(rows) == SIGNATURES_DIGEST


@pytest.mark.parametrize(
    ("shape", "depth", "leaves"),
    [(0, 1, 2), (0, 9, 10), (1, 1, 2), (1, 4, 16)],
)
def test_every_leaf_signs(signer: ShrincsSigner, shape: int, depth: int, leaves: int) -> None:
    public_key, secret_key = signer.generate_keypair(bytes((shape, depth)), bytes(48))
    signatures = [signer.sign(b"m", secret_key, counter=i, context=b"c") for i in range(leaves)]
    assert all(signer.verify(b"m", signature, public_key, b"c") for signature in signatures)
    assert len(set(signatures)) == leaves
    with pytest.raises(UsageError, match="number of leaves"):
        signer.sign(b"m", secret_key, counter=leaves)


def test_changed_byte_is_rejected(signer: ShrincsSigner) -> None:
    for key, counter, step in ((UNBALANCED, 2, 1), (BALANCED, 22, 1), (UNBALANCED, None, 97)):
        signature = signer.sign(b"m", key, counter=counter)
        for at in range(0, len(signature), step):
            changed = bytearray(signature)
            changed[at] ^= 1 << (at % 8)
            assert not signer.verify(b"m", bytes(changed), public_of(key)), at
        for at in range(48):
            other = bytearray(public_of(key))
            other[at] ^= 1
            assert not signer.verify(b"m", signature, bytes(other)), at
        for wrong in (b"", signature[:-1], signature + b"\0", signature[:1] * 30):
            assert not signer.verify(b"m", wrong, public_of(key))
        assert not signer.verify(b"n", signature, public_of(key))
        assert not signer.verify(b"m", signature, public_of(key), b"context")


def test_key_without_leaves_signs_without_state_only(signer: ShrincsSigner) -> None:
    public_key, secret_key = signer.generate_keypair(bytes(2), bytes(48))
    with pytest.raises(UsageError, match="number of leaves"):
        signer.sign(b"m", secret_key, counter=0)
    assert signer.verify(b"m", signer.sign(b"m", secret_key, counter=None), public_key)


@pytest.mark.parametrize("counter", [1, None])
def test_damaged_secret_key_does_not_sign(signer: ShrincsSigner, counter: int | None) -> None:
    for at in (0, 32, 66 if counter is not None else 48):
        damaged = bytearray(UNBALANCED)
        damaged[at] ^= 1
        with pytest.raises(CryptoFailure, match="damaged"):
            signer.sign(b"m", bytes(damaged), counter=counter)


def test_invalid_arguments_raise() -> None:
    signer = ShrincsSigner("slhdsa/ref")
    for structure in ((1, 21), (2, 1)):
        with pytest.raises(CryptoFailure, match="structure must be"):
            signer.generate_keypair(bytes(structure))
    with pytest.raises(UsageError, match="counter"):
        signer.sign(b"m", UNBALANCED, counter=-1)
    with pytest.raises(BadLength, match="82 bytes in slhdsa/ref; got 81"):
        signer.sign(b"m", UNBALANCED[:-1], counter=0)
    with pytest.raises(BadLength, match="at most 255 bytes; got 256"):
        signer.sign(b"m", UNBALANCED, counter=0, context=bytes(256))
    with pytest.raises(BadLength, match="16 bytes in slhdsa/ref; got 15"):
        signer.sign(b"m", UNBALANCED, counter=None, randomness=bytes(15))
    with pytest.raises(BadLength, match="48 bytes in slhdsa/ref; got 47"):
        signer.verify(b"m", b"", bytes(47))
