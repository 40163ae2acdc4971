"""Sources of randomness of native libraries, per thread: streams and functions."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from pqchain.crypto import abi
from pqchain.errors import CryptoFailure, UsageError


class Stream:
    """A source whose draws are SHAKE256 of their number and a purpose."""

    def __init__(self, *purpose: bytes) -> None:
        self.text = b"".join(b"\0" + part for part in purpose)
        self.count = ctypes.c_uint64(0)
        """Number of the next draw, which C increments too."""

    def __call__(self, count: int) -> bytes:
        """Return the next draw, of `count` bytes."""
        # The number of the draw makes equal requests give different bytes.
        number = self.count.value.to_bytes(8, "big")
        self.count.value += 1
        return hashlib.shake_256(number + self.text).digest(count)


Source: TypeAlias = Stream | Callable[[int], bytes]


_BLOCKS: dict[int, tuple[Source, abi.SeededContext, list[BaseException]]] = {}
"""Source, context and errors by the number that C passes to `_draw`.

One that ends in the wrong thread or order remains, because C may still use its context.
"""

_NUMBERS = itertools.count(1)


def _draw(number: int, buffer: int, count: int) -> None:
    """Fill the buffer from a context's function; on failure it keeps the system's randomness."""
    # What a signal's handler raises before `try` or in `except` is dropped by ctypes; the draw is
    # not answered then.
    try:
        source, context, errors = _BLOCKS[number]
        assert callable(source)
        data = source(count)
        if len(data) != count:
            raise UsageError(f"the source must return {count} bytes; got {len(data)}")
        ctypes.memmove(buffer, data, count)
    except BaseException as error:  # noqa: BLE001 - raised at the end of the block, not through C
        errors.append(error)
    context.answered += 1


_CALLBACK = abi.DRAW(_draw)
# Never freed: C may call it from a daemon thread while the interpreter ends and clears modules.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_CALLBACK))


def _described(source: Source, number: int) -> abi.SeededContext:
    """Return the description of a source that `pq_draw` of seeded.c takes."""
    if not isinstance(source, Stream):
        return abi.SeededContext(1, ask=_CALLBACK, number=number)
    count, text = ctypes.pointer(source.count), source.text
    return abi.SeededContext(1, count=count, text=text, text_bytes=len(text))


@contextmanager
def replaced(exchange: Callable[[Any], None], draw: Any, source: Source) -> Iterator[None]:
    """Draw this thread's randomness from the source within the context.

    `exchange` is the pq_random of a library, `draw` the pq_draw of any. Streams are drawn in C,
    where no handler of a signal interrupts them. An exception of a function is raised at the end of
    the context. Raises CryptoFailure if a draw was interrupted, and UsageError if the context ends
    in another thread, or before one opened in it.
    """
    thread, number = threading.current_thread(), next(_NUMBERS)
    context, errors, is_restored = _described(source, number), list[BaseException](), False
    exchanged = abi.RandomSource(ctypes.cast(draw, abi.DRAW), ctypes.addressof(context))
    _BLOCKS[number] = source, context, errors
    try:
        exchange(ctypes.byref(exchanged))
        yield
    finally:
        # First, so that nothing is predictable, whatever interrupts the next lines.
        context.is_open = 0
        if threading.current_thread() is thread:
            exchange(ctypes.byref(exchanged))
            is_restored = exchanged.context == ctypes.addressof(context)
        if is_restored:
            del _BLOCKS[number]
    if not is_restored:
        raise UsageError(
            "contexts of replaced randomness must be nested within one thread; this one ended in "
            "another thread or before an inner one. Do not await or yield within the context"
        )
    if errors:
        raise errors[0]
    if context.asked != context.answered:
        raise CryptoFailure("a draw of randomness was interrupted; repeat the whole context")
