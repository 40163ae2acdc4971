"""Decoding of public keys, the part of a verification that a verifier of known keys saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pqchain import algorithms, crypto
from pqchain.algorithms import DECODE_KEY, GIVEN, Algorithm
from pqchain.crypto import native
from pqchain.errors import PqchainError

KEYS_PER_SAMPLE = 64
"""Keys of the pool that one sample decodes in one call, because decoding one may take less than
reading the clock."""

IN_BATCHES = f"mean of {KEYS_PER_SAMPLE} keys decoded in one call through Python"
"""Note on rows of decode_key."""

_MESSAGE = b"a message that known signers sign"


def operations(algorithm: Algorithm) -> tuple[str, ...]:
    """Return the operations of an algorithm that can be measured, decoding of keys last."""
    is_signature = algorithm.kind == "signature"
    return (*algorithm.operations, DECODE_KEY) if is_signature else algorithm.operations


def unavailable_reason(algorithm: Algorithm, implementation: str) -> str:
    """Return why a verifier cannot keep decoded keys of a scheme; "" if it can."""
    if implementation == GIVEN or algorithms.implementation(implementation).location:
        return "only native libraries of pqchain have decoded keys"
    try:
        native.KeyDecoder(crypto.open_signer(algorithm.name, implementation))
    except PqchainError as error:
        return str(error)
    return ""


def decoding(
    signer: crypto.Signer, pairs: Sequence[tuple[bytes, bytes]]
) -> tuple[bytes, Callable[[bytes], Any]]:
    """Return the public keys of a sample, one after the other, and the function that decodes them.

    Raises PqchainError if a decoded key rejects a valid signature.
    """
    decoder = native.KeyDecoder(signer)
    public_key, secret_key = pairs[0]
    if not decoder.verify(_MESSAGE, signer.sign(_MESSAGE, secret_key), decoder.decode(public_key)):
        raise PqchainError(f"{signer.algorithm.name}: a decoded key rejects a valid signature")
    return b"".join(pairs[at % len(pairs)][0] for at in range(KEYS_PER_SAMPLE)), decoder.decode
