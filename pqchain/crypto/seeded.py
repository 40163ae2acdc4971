"""Reproducible bytes in the place of randomness, for modelled runs."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pqchain.crypto import native
from pqchain.crypto.builds import available

_LIBRARY = "liboqs-0.13/dispatch"
"""The library whose randomness is replaced."""


def stream(*purpose: bytes) -> Callable[[int], bytes]:
    """Return a source of bytes that depend on the purpose and on the number of calls so far."""
    numbers = itertools.count()

    def draw(count: int) -> bytes:
        counted = next(numbers).to_bytes(8, "big")
        return hashlib.shake_256(b"\0".join((counted, *purpose))).digest(count)

    return draw


def seeded_randomness(*purpose: bytes) -> AbstractContextManager[None]:
    """Let liboqs draw from `stream(*purpose)` in the calling thread, within the block.

    Other threads and other libraries draw from the operating system. See
    `native.Library.randomness`.
    """
    if available(_LIBRARY):
        return nullcontext()
    return native.library(_LIBRARY).randomness(stream(*purpose))
