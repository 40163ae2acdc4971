"""BLS12-381 by blst: known answers of two implementations, aggregates, invalid points.

The digests of NIST's response format and those of aggregates were made with py_ecc 8.0.0, which
shares no code with blst: its KeyGen, Sign, Aggregate and PopProve of the suite
BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_, with the inputs of `test_known_answers`. The keys,
messages and aggregates of Ethereum are those of ethereum/bls12-381-tests (sign, aggregate).
"""

from functools import cache
from hashlib import sha256
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import installation
from pqchain.crypto import BlsSigner, CheckedKeys, native, open_signer
from pqchain.errors import BadLength, CryptoFailure, UsageError
from tests.crypto.test_known_answers import digest, signature_response

LEFT_OUT = installation.omission_reason("blst-assembly")
pytestmark = [pytest.mark.native, pytest.mark.skipif(bool(LEFT_OUT), reason=LEFT_OUT or "built")]

NAME, IMPLEMENTATION = "BLS12-381", "blst/assembly"

RESPONSES = {
    1: "ae524802ad149026f023d5f165627599d7f454c06a5871338614aaaf37491e26",
    100: "14d304d8c22c222ef0ace961260571de249b6189da4b8714542ab49f8e3c6660",
}
EIGHT_MESSAGES = "56041b37870dcb0efd032531c9c7104a4dda8d902ae7f6cc884c7ee14b630eab"
ONE_MESSAGE = "cd512564e2fba1c1810c37eb4f1e06499c49fb1a7afab1e5422db407fa8d1944"

ETHEREUM_KEYS = (
    "263dbd792f5b1be47ed85f8938c0f29586af0d3ac7b977f21c278fe1462040e3",
    "47b8192d77bf871b62e87859d653922725724a5c031afeabc60bcef5ff665138",
    "328388aff0d4a5b7dc9205abd374e7e98f3cd9f3418edb4eafda5fb16473d216",
)
ETHEREUM_SIGNATURES = "51b8f2eba954354894bd88f5ee1bf0780ad0e9909cfb03cdfab434e1e767bf6b"
ETHEREUM_AGGREGATE = "cc36ca4dda8382801e4b47b474d274a3f1005e85330568baf11a8ccb6fd07d41"

INFINITE_KEY = b"\xc0" + bytes(47)
INFINITE_SIGNATURE = b"\xc0" + bytes(95)


def opened() -> BlsSigner:
    signer = open_signer(NAME)
    assert isinstance(signer, BlsSigner)
    return signer


@cache
def first_eight() -> list[tuple[bytes, bytes, bytes, bytes]]:
    """Return public key, secret key, message and signature of the first eight vectors."""
    signer, drbg = opened(), NistDrbg(bytes(range(48)))
    rows = []
    for count in range(8):
        seed, message = drbg(48), drbg(33 * (count + 1))
        with native.library(IMPLEMENTATION).randomness(NistDrbg(seed)):
            public_key, secret_key = signer.generate_keypair()
        rows.append((public_key, secret_key, message, signer.sign(message, secret_key)))
    return rows


@cache
def keys() -> CheckedKeys:
    return opened().checked_keys([row[0] for row in first_eight()])


def of_one_message(message: bytes) -> bytes:
    signer = opened()
    return signer.aggregate([signer.sign(message, row[1]) for row in first_eight()])


@pytest.mark.parametrize("count", RESPONSES)
def test_another_implementation_gives_the_same_keys_and_signatures(count):
    assert digest(signature_response(NAME, IMPLEMENTATION, count)) == RESPONSES[count]


def test_another_implementation_gives_the_same_aggregates():
    signer, rows = opened(), first_eight()
    aggregate = signer.aggregate([row[3] for row in rows])
    assert sha256(aggregate).hexdigest() == EIGHT_MESSAGES
    same = of_one_message(b"the same message")
    assert sha256(same).hexdigest() == ONE_MESSAGE
    assert signer.fast_aggregate_verify(b"the same message", same, keys())


def test_signatures_of_ethereum():
    signer = opened()
    messages = [bytes([each] * 32) for each in (0x00, 0x56, 0xAB)]
    made = [[signer.sign(m, bytes.fromhex(key)) for m in messages] for key in ETHEREUM_KEYS]
    assert sha256(b"".join(map(b"".join, made))).hexdigest() == ETHEREUM_SIGNATURES
    aggregate = signer.aggregate([each[2] for each in made])
    assert sha256(aggregate).hexdigest() == ETHEREUM_AGGREGATE


def test_aggregate_is_valid_for_its_signers_only():
    signer, rows = opened(), first_eight()
    aggregate = of_one_message(b"vote")
    assert signer.fast_aggregate_verify(b"vote", aggregate, keys())
    assert not signer.fast_aggregate_verify(b"note", aggregate, keys())
    fewer = signer.checked_keys([row[0] for row in rows[:-1]])
    assert not signer.fast_aggregate_verify(b"vote", aggregate, fewer)
    twice = signer.checked_keys([row[0] for row in (*rows[:-1], rows[0])])
    assert not signer.fast_aggregate_verify(b"vote", aggregate, twice)


@settings(max_examples=20, deadline=None, database=None)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_aggregation_is_order_independent(signers, random: Random):
    """Aggregation depends neither on order nor on partial sums."""
    signer, rows = opened(), first_eight()
    signatures = [signer.sign(b"vote", rows[i][1]) for i in signers]
    whole = signer.aggregate(signatures)
    shuffled = random.sample(signatures, len(signatures))
    cut = random.randint(1, len(shuffled))
    parts = [signer.aggregate(part) for part in (shuffled[:cut], shuffled[cut:]) if part]
    assert signer.aggregate(parts) == whole
    checked = signer.checked_keys([rows[i][0] for i in signers])
    assert signer.fast_aggregate_verify(b"vote", whole, checked)


def test_key_and_its_negative_do_not_verify_the_infinite_signature():
    """Their sum is infinity, for which the infinite signature would be valid."""
    signer, public_key = opened(), first_eight()[0][0]
    negative = bytes([public_key[0] ^ 0x20]) + public_key[1:]
    both = signer.checked_keys([public_key, negative])
    assert not signer.fast_aggregate_verify(b"vote", INFINITE_SIGNATURE, both)
    assert not signer.verify(b"vote", INFINITE_SIGNATURE, public_key)


@pytest.mark.parametrize("wrong", [INFINITE_KEY, bytes(48), b"\xff" * 48, b"\x80" + bytes(47)])
def test_public_keys_outside_the_group_are_rejected(wrong):
    signer, (_, _, message, signature) = opened(), first_eight()[0]
    assert not signer.verify(message, signature, wrong)
    with pytest.raises(CryptoFailure, match="must be in G1"):
        signer.checked_keys([first_eight()[0][0], wrong])


def test_signatures_outside_the_group_are_rejected():
    """Most x-coordinates give a point on the curve that is not in G2."""
    signer, (public_key, _, message, _) = opened(), first_eight()[0]
    for last in range(16):
        point = b"\x80" + bytes(94) + bytes([last])
        assert not signer.verify(message, point, public_key)
        with pytest.raises(CryptoFailure, match="must be in the group G2"):
            signer.aggregate([point])


def test_secret_keys_outside_their_range_are_rejected():
    signer = opened()
    order = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
    for secret in (0, order, 2**256 - 1):
        with pytest.raises(CryptoFailure, match="reported a failure"):
            signer.sign(b"vote", secret.to_bytes(32, "big"))
    assert signer.sign(b"vote", (order - 1).to_bytes(32, "big"))


def test_counts_and_lengths_are_checked():
    signer = opened()
    with pytest.raises(UsageError, match="at least one signature"):
        signer.aggregate([])
    with pytest.raises(UsageError, match="at least one public key"):
        signer.checked_keys([])
    with pytest.raises(BadLength, match="got 95"):
        signer.aggregate([bytes(95)])
    with pytest.raises(BadLength, match="got 95"):
        signer.fast_aggregate_verify(b"vote", bytes(95), keys())
