"""Processors and memory of the computer that runs all nodes."""

from __future__ import annotations

import os
from pathlib import Path

from pqchain.errors import Unsupported, UsageError

PARENT_MEGABYTES, NODE_MEGABYTES = 250, 60
"""Memory in MB of the parent process and of each node; nodes share most of theirs."""

MAX_PROCESSES = 256
"""Maximum number of processes started at once."""

_MEMORY = Path("/proc/meminfo")


def processors() -> int:
    """Return the number of processors that this process may use."""
    # cpu_count() ignores the affinity mask, by which containers and taskset limit a process.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_processors(count: int) -> None:
    """Raise UsageError for too few processors, Unsupported if processes cannot be bound to them."""
    if not hasattr(os, "sched_setaffinity"):
        raise Unsupported("this system cannot bind processes to processors; use --network star.")
    if count > processors():
        raise UsageError(
            f"processors must be at most {processors()}, which this process may use; got {count}."
        )


def first_processors(count: int) -> tuple[int, ...]:
    """Return the indices of the first `count` processors. Raises like `check_processors`."""
    check_processors(count)
    return tuple(sorted(os.sched_getaffinity(0))[:count])


def check_processes(nodes: int) -> None:
    """Raise UsageError if there are too many nodes, or too little memory, for a process each."""
    needed, free = PARENT_MEGABYTES + nodes * NODE_MEGABYTES, free_megabytes()
    if nodes <= MAX_PROCESSES and (free is None or needed <= free):
        return
    available = "" if free is None else f", of which {free / 1000:.1f} GB are available"
    fitting = MAX_PROCESSES if free is None else (free - PARENT_MEGABYTES) // NODE_MEGABYTES
    raise UsageError(
        f"nodes must be at most {max(1, min(fitting, MAX_PROCESSES))} as processes here; got "
        f"{nodes}, which need about {needed / 1000:.1f} GB of memory{available}. Give fewer nodes, "
        "or mode='virtual' (--mode virtual), which runs in one process."
    )


def free_megabytes() -> int | None:
    """Return the available memory in MB as Linux reports it; None on other systems."""
    try:
        text = _MEMORY.read_text(encoding="ascii")
    except OSError:
        return None
    # MemAvailable includes caches that can be dropped, unlike MemFree; the unit is kB.
    available = (
        int(line.split()[1]) // 1000
        for line in text.splitlines()
        if line.startswith("MemAvailable:")
    )
    return next(available, None)
