"""One computer runs all nodes: on how many of its processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pqchain.errors import Unsupported, UsageError


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_processors(count: int) -> None:
    """Raise UsageError if there are fewer, Unsupported where processes cannot be bound to some."""
    if not hasattr(os, "sched_setaffinity"):
        raise Unsupported("this system cannot bind processes to processors; use --network star")
    if count > processors():
        raise UsageError(
            f"processors is {count}, and this process may use {processors()}: give at most these"
        )


@contextmanager
def on(count: int | None) -> Iterator[None]:
    """Let processes that are started meanwhile run on so many processors, or on all for None."""
    if count is None:
        yield
        return
    check_processors(count)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
