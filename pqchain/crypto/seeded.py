"""Seeded randomness for liboqs: reproducible simulations, and key pairs from seeds."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pqchain.algorithms import Algorithm
from pqchain.crypto import native
from pqchain.crypto.builds import unavailable_reason

_LIBRARY = "liboqs-0.13/dispatch"
"""Implementation whose randomness is replaced."""


def stream(*purpose: bytes) -> Callable[[int], bytes]:
    """Return a source of bytes that depend only on the purpose and the number of earlier calls."""
    numbers = itertools.count()

    def draw(count: int) -> bytes:
        # The number of the call makes equal requests give different bytes.
        counted = next(numbers).to_bytes(8, "big")
        return hashlib.shake_256(b"\0".join((counted, *purpose))).digest(count)

    return draw


def seeded_randomness(*purpose: bytes) -> AbstractContextManager[None]:
    """Return a context in which liboqs draws from `stream(*purpose)` in the calling thread.

    Other threads and other libraries draw from the operating system; see
    `native.Library.randomness`. Has no effect if liboqs is not installed.
    """
    if unavailable_reason(_LIBRARY):
        return nullcontext()
    return native.library(_LIBRARY).randomness(stream(*purpose))


def keypair_from_seed(algorithm: Algorithm, seed: bytes) -> tuple[bytes, bytes]:
    """Return (public key, secret key) of an ML-DSA algorithm for the 32-byte seed xi (FIPS 204).

    Raises Unsupported if liboqs is not installed.
    """
    signer = native.NativeSigner(algorithm, _LIBRARY)
    # The seed is all randomness that ML-DSA.KeyGen draws.
    with signer.library.randomness(lambda count: seed):
        return signer.generate_keypair()
