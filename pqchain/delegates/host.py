"""Processors of the computer that runs all nodes."""

from __future__ import annotations

import os

from pqchain.errors import Unsupported, UsageError


def processors() -> int:
    """Return the number of processors that this process may use."""
    # cpu_count() ignores the affinity mask, by which containers and taskset limit a process.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_processors(count: int) -> None:
    """Raise UsageError for too few processors, Unsupported if processes cannot be bound."""
    if not hasattr(os, "sched_setaffinity"):
        raise Unsupported("this system cannot bind processes to processors; use --network star.")
    if count > processors():
        raise UsageError(
            f"processors must be at most {processors()}, which this process may use; got {count}."
        )


def first_processors(count: int) -> tuple[int, ...]:
    """Return the indices of the first `count` processors. Raises as `check_processors`."""
    check_processors(count)
    return tuple(sorted(os.sched_getaffinity(0))[:count])
