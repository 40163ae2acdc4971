"""Python callables as the source of randomness of a native library, per thread."""

from __future__ import annotations

import ctypes
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from pqchain.crypto import abi
from pqchain.errors import UsageError


@dataclass(slots=True)
class _Block:
    source: Callable[[int], bytes]
    errors: list[BaseException] = field(default_factory=list)


_BLOCKS: dict[int, _Block] = {}
"""Open contexts of all threads, by the number that C passes to `_draw`."""

_NUMBERS = itertools.count(1)


def _draw(number: int, buffer: int, count: int) -> None:
    """Fill the buffer from a context's source; after a failure it keeps the system's randomness."""
    block = _BLOCKS.get(number)
    if block is None:
        return
    try:
        data = block.source(count)
        if len(data) != count:
            raise UsageError(f"the source must return {count} bytes; got {len(data)}")
        ctypes.memmove(buffer, data, count)
    except BaseException as error:  # noqa: BLE001 - raised at the end of the block, not through C
        block.errors.append(error)


_CALLBACK = abi.DRAW(_draw)
# Never freed: C may call it from a daemon thread while the interpreter ends and clears modules.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_CALLBACK))


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _signals_after_draws() -> Iterator[None]:
    """Handle SIGINT and SIGTERM that interrupt `_draw` at the end of the context, not there.

    A signal that arrives in C is handled at the first instruction of `_draw`, where ctypes would
    drop the exception of its handler, such as KeyboardInterrupt, and the draw would be left out.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    late: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        caller = frame
        while caller is not None and caller.f_code is not _draw.__code__:
            caller = caller.f_back
        if caller is None:
            before[number](number, frame)
        else:
            late.append(number)

    changed = [number for number in numbers if callable(before[number]) and _is_main_thread()]
    try:
        for number in changed:
            signal.signal(number, handle)
        yield
    finally:
        for number in changed:
            # Contexts that end in the wrong thread or order leave the handler of another one.
            if _is_main_thread() and signal.getsignal(number) is handle:
                signal.signal(number, before[number])
        for interruption in dict.fromkeys(late):
            signal.raise_signal(interruption)


@contextmanager
def replaced(exchange: Callable[[Any], None], source: Callable[[int], bytes]) -> Iterator[None]:
    """Draw this thread's randomness from `source(count) -> bytes` within the context.

    `exchange` is the pq_random of a library. An exception of the source is raised at the end of the
    context, as is KeyboardInterrupt where a signal interrupts the source. Raises UsageError if it
    ends in another thread, or before a context opened inside it.
    """
    # C keeps a number and a callback that is never freed, so that a context that ends in the wrong
    # thread or order leaves neither a pointer to freed memory nor predictable bytes behind.
    thread, number, block = threading.current_thread(), next(_NUMBERS), _Block(source)
    exchanged = abi.RandomSource(_CALLBACK, number)
    is_same_thread = True
    _BLOCKS[number] = block
    with _signals_after_draws():
        try:
            exchange(ctypes.byref(exchanged))
            yield
        finally:
            del _BLOCKS[number]
            is_same_thread = threading.current_thread() is thread
            if is_same_thread:
                exchange(ctypes.byref(exchanged))
    if not is_same_thread or exchanged.context != number:
        raise UsageError(
            "contexts of replaced randomness must be nested within one thread; this one ended in "
            "another thread or before an inner one. Do not await or yield within the context"
        )
    if block.errors:
        raise block.errors[0]
