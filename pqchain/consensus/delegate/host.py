"""One computer runs all nodes: on how many of its processors."""

from __future__ import annotations

import os

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


def chosen(count: int) -> tuple[int, ...]:
    """Return the numbers of so many processors. Raises as `check_processors`."""
    check_processors(count)
    return tuple(sorted(os.sched_getaffinity(0))[:count])
