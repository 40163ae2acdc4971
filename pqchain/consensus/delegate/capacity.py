"""How many nodes this machine can run as processes of their own."""

from __future__ import annotations

from pathlib import Path

from pqchain.errors import UsageError

MEGABYTES_FIRST, MEGABYTES_EACH = 250, 60
"""Memory of whoever starts the processes, and of each; most of a process is shared by all."""

MOST_PROCESSES = 256
"""The most that are started at once."""

_MEMORY = Path("/proc/meminfo")


def check(nodes: int) -> None:
    """Raise UsageError, with an estimate and what to do, for more nodes than can be started."""
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
    """Return how much memory is left, as Linux tells; None elsewhere."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = (int(line.split()[1]) // 1000 for line in lines if line.startswith("MemAvailable:"))
    return next(found, None)
