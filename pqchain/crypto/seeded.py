"""Seeded randomness for liboqs: reproducible simulations, and key pairs from seeds."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from pqchain.algorithms import Algorithm
from pqchain.crypto import native
from pqchain.crypto.random_source import Stream
from pqchain.errors import Unsupported

_LIBRARY = "liboqs-0.13/dispatch"
"""Implementation whose randomness is replaced."""


def stream(*purpose: bytes) -> Stream:
    """Return a source of bytes that depend only on the purpose and the number of earlier draws."""
    return Stream(b"".join(b"\0" + part for part in purpose))


def seeded_randomness(*purpose: bytes) -> AbstractContextManager[None]:
    """Return a context in which liboqs draws from `stream(*purpose)` in the calling thread.

    Other threads and other libraries draw from the operating system; see
    `native.Library.randomness`. Has no effect if liboqs is not installed.
    """
    try:
        return _library().randomness(stream(*purpose))
    except Unsupported:
        return nullcontext()


@cache
def _library() -> native.Library:
    return native.library(_LIBRARY)


def keypair_from_seed(algorithm: Algorithm, seed: bytes) -> tuple[bytes, bytes]:
    """Return (public key, secret key) of an ML-DSA algorithm for the 32-byte seed xi (FIPS 204).

    Raises Unsupported if liboqs is not installed.
    """
    signer = native.NativeSigner(algorithm, _LIBRARY)
    # The seed is all randomness that ML-DSA.KeyGen draws.
    with signer.library.randomness(bytes(seed)):
        return signer.generate_keypair()
