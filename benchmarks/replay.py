"""Replay one block of 64 MB twice on the virtual clock and once over loopback, ten processes.

Exit code 1 unless the two virtual replays give identical bytes in at most 6 minutes each, every
node over loopback ends with the block verified and its new chunk stored, and that takes 15 s at
most. The last needs four processors that nobody else uses: the table says how busy they were.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from harness import table

from pqchain import results
from pqchain.reencode import replay, runs
from pqchain.reencode.scenario import Scenario, preset
from pqchain.reencode.storage.store import ChunkStore

VIRTUAL_SECONDS, LOOPBACK_SECONDS, MEMORY_BYTES = 360, 15, 4e9
PHASES = ("transfer", "decode", "encode", "io", "other", "total")


def virtual(one: Scenario, folder: Path) -> tuple[str, list[str], float]:
    """Replay and save; return a hash of the files, the phases as cells, and the real seconds."""
    begun = time.perf_counter()
    frame = replay.replay(one, progress=sys.stderr.isatty())
    taken = time.perf_counter() - begun
    digest = hashlib.sha256()
    for each, name in ((frame, "runs"), (frame.attrs["nodes"], "nodes")):
        path = results.save(each, folder / f"{name}.csv")
        digest.update(path.read_bytes() + path.with_suffix(".json").read_bytes())
    phases = [f"{frame[f'{phase}_seconds'].iloc[0]:.3f}" for phase in PHASES]
    return digest.hexdigest(), phases, taken


def loopback(one: Scenario, folder: Path) -> tuple[bool, list[str], float, float]:
    """Replay on sockets; return whether all is stored, phases, seconds, and how busy all was."""
    runs.prepare(one, folder)
    outcome = runs.run(one, folder)
    if outcome.result.failure is not None:
        raise outcome.result.failure
    stored = []
    for node in outcome.nodes:
        if node.state != "done":
            continue
        chunks = ChunkStore(folder / str(node.node))
        for manifest in chunks.manifests():
            (index,) = chunks.held(manifest)
            chunks.get(manifest, index)
            code = (manifest.data_chunks, manifest.parity_chunks)
            stored.append(code == one.after and node.record.verified_blocks == one.blocks)
    phases = [*outcome.phases.values(), outcome.total_seconds]
    complete = len(stored) == (one.nodes - 1) * one.blocks and all(stored)
    cells = [f"{seconds:.3f}" for seconds in phases]
    return complete, cells, outcome.span_seconds, outcome.result.machine_busy


def main() -> int:
    """Replay and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=64, help="size of the block")
    parser.add_argument("--datagram", type=int, default=16_000, help="over loopback, in bytes")
    arguments = parser.parse_args()
    one = preset("paper", blocks=1, block_bytes=arguments.megabytes * 1_000_000)
    estimate = replay.estimate_seconds(one)
    print(f"each virtual replay takes about {estimate:.0f} s on an idle machine", flush=True)
    rows, digests, good = [], [], True
    for turn in ("first", "second"):
        with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
            digest, phases, taken = virtual(one, Path(name))
        digests.append(digest)
        good &= taken <= VIRTUAL_SECONDS
        rows.append([f"virtual, {turn}", *phases, f"{taken:.0f}", digest[:16]])
    live = replace(one, mode="loopback", datagram_bytes=arguments.datagram)
    with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
        complete, phases, taken, busy = loopback(live, Path(name))
    good &= complete and taken <= LOOPBACK_SECONDS and digests[0] == digests[1]
    rows.append(["loopback", *phases, f"{taken:.1f}", f"machine {busy:.0%} busy"])
    print(table([f"{arguments.megabytes} MB, s", *PHASES, "real", "files"], rows))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"at most {memory / 1e9:.1f} GB of memory; asked: below {MEMORY_BYTES / 1e9:g}")
    return 0 if good and memory < MEMORY_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
