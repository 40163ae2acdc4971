"""A flood of forged first datagrams at a QUIC endpoint: memory, and what an honest dial takes.

    python -m tests.wire.flood [aioquic|qh3] [DATAGRAMS]

Each datagram is an Initial of its own, from an address of its own, as anybody can send it. Server
and client are in this process, with a wire of no delay between them.
"""

from __future__ import annotations

import os
import random
import sys
import time
from importlib import import_module
from pathlib import Path

from pqchain.wire.session import Opened
from tests.wire.pair import Pair


def forged(rng: random.Random) -> bytes:
    """Return an Initial of random content, in nobody's name."""
    head = b"\xc0\x00\x00\x00\x01\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(8) + b"\x00"
    left = 1200 - len(head) - 2
    return head + (left | 0x4000).to_bytes(2, "big") + rng.randbytes(left)


def resident_mb() -> float:
    """Return how much memory this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def dialled(pair: Pair) -> float:
    """Dial from 0 to 1 and return the seconds until both have proven themselves."""
    began = time.perf_counter()
    pair.endpoints[0].dial(1, early=False, now=pair.now)
    found = []
    while not found:
        pair.carry()
        found = [event for event in pair.endpoints[0].events() if isinstance(event, Opened)]
        if time.perf_counter() - began > 60:
            return float("inf")
    return time.perf_counter() - began


def main() -> None:
    """Print what the endpoint held before and after."""
    name = sys.argv[1] if len(sys.argv) > 1 else "aioquic"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    library = import_module(f"pqchain.wire.transports.{name}").LIBRARY
    pair, rng = Pair(delay_seconds=0.0, library=library), random.Random(1)
    before, quiet = resident_mb(), dialled(pair)
    server, began = pair.endpoints[1], time.perf_counter()
    replies = 0
    for number in range(count):
        address = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 4433)
        server.receive(forged(rng), address, pair.now)
        replies += sum(len(data) for data, _ in server.datagrams(pair.now))
    seconds = time.perf_counter() - began
    held = len(server.sessions) - 1
    after = resident_mb()
    lines = (
        f"{name}, {count} forged datagrams in {seconds:.1f} s: {held} connections kept",
        f"memory {before:.0f} MB before, {after:.0f} MB after",
        f"{replies / count:.0f} bytes sent back for each of 1200",
        f"an honest dial took {quiet * 1e3:.0f} ms before, {dialled(pair) * 1e3:.0f} ms after",
    )
    sys.stdout.write("\n  ".join(lines) + "\n")


if __name__ == "__main__":
    main()
