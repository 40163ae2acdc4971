"""Estimate of how many nodes this machine can run as separate processes."""

from __future__ import annotations

from pathlib import Path

from pqchain.errors import UsageError

PARENT_MEGABYTES, NODE_MEGABYTES = 250, 60
"""Memory in MB of the parent process and of each node; nodes share most of theirs."""

MAX_PROCESSES = 256
"""Maximum number of processes started at once."""

_MEMORY = Path("/proc/meminfo")


def check(nodes: int) -> None:
    """Raise UsageError if the processes of `nodes` cannot be started, with an estimate."""
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
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    # MemAvailable includes caches that can be dropped, unlike MemFree; the unit is kB.
    available = (int(line.split()[1]) // 1000 for line in lines if line.startswith("MemAvailable:"))
    return next(available, None)
