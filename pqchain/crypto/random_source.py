"""Sources of randomness of native libraries, per thread: streams, given bytes and functions."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pqchain.crypto import abi
from pqchain.errors import CryptoFailure, UsageError


class Stream:
    """A source whose draws are SHAKE256 of their number and a text."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.count = ctypes.c_uint64(0)
        """Number of the next draw, which C increments too."""

    def __call__(self, count: int) -> bytes:
        """Return the next draw, of `count` bytes."""
        # The number of the draw makes equal requests give different bytes.
        number = self.count.value.to_bytes(8, "big")
        self.count.value += 1
        return hashlib.shake_256(number + self.text).digest(count)


Source: TypeAlias = Stream | bytes | Callable[[int], bytes]


@dataclass(slots=True)
class _Block:
    source: Callable[[int], bytes]
    answered: int = 0
    errors: list[BaseException] = field(default_factory=list)


_BLOCKS: dict[int, _Block] = {}
"""Open contexts of all threads whose source is a function, by the number that C passes."""

_CONTEXTS: dict[int, abi.SeededContext] = {}
"""Contexts that C may use, by address; one that ends in the wrong thread or order remains."""

_NUMBERS = itertools.count(1)


def _draw(number: int, buffer: int, count: int) -> None:
    """Fill the buffer from a context's function; on failure it keeps the system's randomness.

    A signal's handler that runs before `try` or in `except` raises to ctypes, which drops the
    exception; the draw then lacks in `answered`.
    """
    try:
        block = _BLOCKS.get(number)
        if block is None:  # the context has just ended in another thread
            return
        data = block.source(count)
        if len(data) != count:
            raise _wrong_length(count, len(data))
        ctypes.memmove(buffer, data, count)
    except BaseException as error:  # noqa: BLE001 - raised at the end of the block, not through C
        assert block is not None
        block.errors.append(error)
    block.answered += 1


_CALLBACK = abi.DRAW(_draw)
# Never freed: C may call it from a daemon thread while the interpreter ends and clears modules.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_CALLBACK))


def _wrong_length(expected: int, length: int) -> UsageError:
    return UsageError(f"the source must return {expected} bytes; got {length}")


def _described(source: Source, number: int) -> abi.SeededContext:
    """Return the description of a source that `pq_draw` of seeded.c takes."""
    if isinstance(source, Stream):
        count = ctypes.pointer(source.count)
        return abi.SeededContext(1, count=count, text=source.text, text_bytes=len(source.text))
    if isinstance(source, bytes):
        return abi.SeededContext(1, text=source, text_bytes=len(source))
    return abi.SeededContext(1, ask=_CALLBACK, number=number)


@contextmanager
def replaced(exchange: Callable[[Any], None], draw: Any, source: Source) -> Iterator[None]:
    """Draw this thread's randomness from the source within the context.

    `exchange` is the pq_random of a library, `draw` the pq_draw of any. Streams and bytes are drawn
    in C, where no handler of a signal can interrupt them. An exception of a function is raised at
    the end of the context, and CryptoFailure if an exception interrupted a draw without reaching
    it. Raises UsageError if the context ends in another thread, or before one opened inside it.
    """
    thread, number = threading.current_thread(), next(_NUMBERS)
    context = _described(source, number)
    block = _BLOCKS[number] = _Block(source if callable(source) else bytes)
    exchanged = abi.RandomSource(draw, ctypes.addressof(context))
    _CONTEXTS[number] = context
    is_restored = False
    try:
        exchange(ctypes.byref(exchanged))
        yield
    finally:
        # First: whatever interrupts the next lines, a draw leaves nothing predictable.
        context.is_open = 0
        if threading.current_thread() is thread:
            exchange(ctypes.byref(exchanged))
            is_restored = exchanged.context == ctypes.addressof(context)
        del _BLOCKS[number]
        if is_restored:
            del _CONTEXTS[number]
    if not is_restored:
        raise UsageError(
            "contexts of replaced randomness must be nested within one thread; this one ended in "
            "another thread or before an inner one. Do not await or yield within the context"
        )
    if block.errors:
        raise block.errors[0]
    if context.mismatch:
        raise _wrong_length(context.mismatch, context.text_bytes)
    if context.ask and context.asked != block.answered:
        raise CryptoFailure("a signal interrupted a draw of randomness; repeat the whole context")
