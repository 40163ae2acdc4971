"""Bytes that follow from a purpose, in the place of randomness, for worlds that are modelled."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pqchain.crypto import native
from pqchain.crypto.builds import available

_LIBRARY = "liboqs-0.13/dispatch"
"""Whose randomness can be replaced."""


def stream(*purpose: bytes) -> Callable[[int], bytes]:
    """Return a source of bytes that follow from the purpose and how often it was asked."""
    numbers = itertools.count()

    def draw(count: int) -> bytes:
        counted = next(numbers).to_bytes(8, "big")
        return hashlib.shake_256(b"\0".join((counted, *purpose))).digest(count)

    return draw


def drawing(*purpose: bytes) -> AbstractContextManager[None]:
    """Let liboqs draw what follows from the purpose, in the block; other libraries draw as ever.

    It holds for the whole process, as `native.Library.randomness` does.
    """
    if available(_LIBRARY):
        return nullcontext()
    return native.library(_LIBRARY).randomness(stream(*purpose))
