"""Public keys that a verifier keeps decoded: the same verdicts as with the encoded key."""

from __future__ import annotations

import pytest

from pqchain import algorithms
from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.errors import CryptoFailure, Unsupported, UsageError

pytestmark = pytest.mark.native

DECODING = {
    ("BLS12-381", "blst/assembly"),
    *(
        (name, f"hawk/{variant}")
        for name in ("Hawk-512", "Hawk-1024")
        for variant in ("avx2", "ref")
    ),
    *(
        (f"Falcon-{form}{degree}", "falcon/kernel")
        for form in ("", "padded-")
        for degree in (512, 1024)
    ),
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
        decoder.decode(public_key + b"\xff" * len(public_key))
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
