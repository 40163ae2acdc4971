"""The generator of NIST's known-answer tests compared with response files."""

from __future__ import annotations

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.errors import BadLength, BadType, UsageError

ENTROPY = bytes(range(48))
FIRST_SEED = bytes.fromhex(
    "061550234D158C5EC95595FE04EF7A25767F2E24CC2BC479D09D86DC9ABCFDE7"
    "056A8C266F9EF97ED08541DBD2E1FFA1"
)
FIRST_MESSAGE = bytes.fromhex("D81C4D8D734FCBFBEADE3D3F8A039FAA2A2C9957E835AD55B22E75BF57BB556AC8")
SECOND_SEED_OF_SIGNATURES = bytes.fromhex(
    "64335BF29E5DE62842C941766BA129B0643B5E7121CA26CFC190EC7DC3543830"
    "557FDD5C03CF123A456D48EFEA43C868"
)
SECOND_SEED_OF_KEMS = bytes.fromhex(
    "D81C4D8D734FCBFBEADE3D3F8A039FAA2A2C9957E835AD55B22E75BF57BB556A"
    "C81ADDE6AEEB4A5A875C3BFCADFA958F"
)


def test_first_seeds_equal_the_signature_response_files():
    drbg = NistDrbg(ENTROPY)
    assert drbg.random_bytes(48) == FIRST_SEED
    assert drbg.random_bytes(33) == FIRST_MESSAGE
    assert drbg.random_bytes(48) == SECOND_SEED_OF_SIGNATURES


def test_first_seeds_equal_the_kem_response_files():
    drbg = NistDrbg(ENTROPY)
    assert [drbg(48), drbg(48)] == [FIRST_SEED, SECOND_SEED_OF_KEMS]


def test_every_request_advances_the_state():
    joined, split = NistDrbg(ENTROPY), NistDrbg(ENTROPY)
    assert joined(32) != split(16) + split(16)
    assert NistDrbg(ENTROPY)(48) == FIRST_SEED
    empty = NistDrbg(ENTROPY)
    assert empty(0) == b""
    assert empty(48) != FIRST_SEED


def test_restored_state_continues_the_stream():
    drbg = NistDrbg(ENTROPY)
    drbg(48)
    state = drbg.save()
    drbg.reseed(FIRST_SEED)
    drbg(1000)
    drbg.restore(state)
    assert drbg(33) == FIRST_MESSAGE


def test_copies_advance_independently():
    drbg = NistDrbg(ENTROPY)
    drbg(48)
    twin = drbg.copy()
    assert twin(33) == FIRST_MESSAGE
    assert drbg(33) == FIRST_MESSAGE


def test_counter_wraps_at_128_bits():
    drbg = NistDrbg(ENTROPY)
    key, _ = drbg.save()
    drbg.restore((key, (1 << 128) - 2))
    before_and_after = drbg(48)
    drbg.restore((key, (1 << 128) - 1))
    assert drbg(32) == before_and_after[16:]


def test_invalid_seeds_and_counts_are_rejected():
    with pytest.raises(BadLength, match="48 bytes; got 47"):
        NistDrbg(bytes(47))
    with pytest.raises(BadType, match="str"):
        NistDrbg("0" * 48)
    with pytest.raises(UsageError, match="-1"):
        NistDrbg(ENTROPY)(-1)
