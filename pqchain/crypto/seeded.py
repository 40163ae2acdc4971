"""Seeded randomness for liboqs, for reproducible simulations."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

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
