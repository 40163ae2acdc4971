"""Estimate of how many nodes this machine can run as separate processes."""

from __future__ import annotations

from pathlib import Path

from pqchain.errors import UsageError

MEGABYTES_FIRST, MEGABYTES_EACH = 250, 60
"""Memory in MB of the parent process and of each node; nodes share most of theirs."""

MOST_PROCESSES = 256
"""Maximum number of processes started at once."""

_MEMORY = Path("/proc/meminfo")


def check(nodes: int) -> None:
    """Raise UsageError if the processes of `nodes` cannot be started, with an estimate."""
    needed, free = MEGABYTES_FIRST + nodes * MEGABYTES_EACH, free_megabytes()
    if nodes <= MOST_PROCESSES and (free is None or needed <= free):
        return
    have = "" if free is None else f", of which {free / 1000:.1f} GB are free"
    fits = MOST_PROCESSES if free is None else (free - MEGABYTES_FIRST) // MEGABYTES_EACH
    raise UsageError(
        f"{nodes} nodes would be as many processes with about {needed / 1000:.1f} GB of "
        f"memory{have}; give at most {max(1, min(fits, MOST_PROCESSES))} nodes, or mode='virtual' "
        "(--mode virtual), which needs one process"
    )


def free_megabytes() -> int | None:
    """Return the available memory in MB as Linux reports it; None on other systems."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    # MemAvailable includes caches that can be dropped, unlike MemFree; the unit is kB.
    found = (int(line.split()[1]) // 1000 for line in lines if line.startswith("MemAvailable:"))
    return next(found, None)
