"""Small replays on the virtual clock, and a recording transport for one node."""

from pathlib import Path

from pqchain.reencode import runs
from pqchain.reencode.protocol.messages import MessageParser, pack
from pqchain.reencode.runs import ReplayOutcome
from pqchain.reencode.scenario import Link, ReplayScenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.transports import registry

LARGE = min(8952, registry.get("aioquic").load().MAX_DATAGRAM_BYTES)
"""Datagrams that need fewer of them, if the version of aioquic can send such."""

SLOW = Link(bits_per_second=50e6, delay_seconds=2e-3)
"""On which an exchange of small blocks lasts long enough for faults to failure in its middle."""


def scenario(**changes) -> ReplayScenario:
    """Return a scenario that is quick to run: short heartbeats, small blocks."""
    values = {
        "block_bytes": 60_000, "heartbeat_seconds": 0.2, "timeout_seconds": 0.4,
        "failure_seconds": 0.01, "stall_seconds": 0.3, "give_up_seconds": 0.5, **changes,
    }  # fmt: skip
    return ReplayScenario(**values)


def small(**changes) -> ReplayScenario:
    """Return a scenario of five nodes: (3, 2) before, (2, 2) after."""
    return scenario(**{"nodes": 5, "before": (3, 2), "after": (2, 2), "failed_node": 4, **changes})


def run(one: ReplayScenario, folder: Path) -> ReplayOutcome:
    """Replay on the virtual clock."""
    runs.prepare(one, folder)
    return runs.run(one, folder)


def stored(folder: Path, node: int) -> list[tuple[int, list[int]]]:
    """Return epoch and chunks of every block that a node stores; every chunk is checked."""
    chunk_store = ChunkStore(folder / str(node))
    found = []
    for manifest in chunk_store.manifests():
        held = chunk_store.indices(manifest)
        for index in held:
            chunk_store.get(manifest, index)
        found.append((manifest.epoch, held))
    return found


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file of every store."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Wire:
    """A transport that records the actions of its node."""

    def __init__(self):
        self.dialled, self.sent, self.closed, self.stopped = {}, [], [], []
        self.channels = 0

    def dial(self, peer, *, early, now):
        self.dialled[len(self.dialled) + 1] = peer
        return len(self.dialled)

    def open(self, session):
        self.channels += 1
        return self.channels

    def send(self, session, channel, data, *, end=False):
        self.sent.append((session, channel, bytes(data)))

    def stop(self, session, channel):
        self.stopped.append((session, channel))

    def close(self, session, reason, *, now):
        self.closed.append((session, reason))

    def queued_bytes(self):
        return 0

    def said(self, kind):
        """Return session, channel and message of all messages of one kind so far."""
        found = []
        for session, channel, data in self.sent:
            if data[4:5] != b"{":
                continue
            for item in MessageParser().feed(data):
                if isinstance(item, dict) and item["type"] == kind:
                    found.append((session, channel, item))
        return found


def beat(**changes):
    return pack({"type": "beat", "number": 1, "since": 0.5, "queued": 0, "plan": None,
                 "failed": False, "stored": {}, **changes})  # fmt: skip


def works(node, now):
    """Run all tasks of a node."""
    while (task := node.poll(now)) is not None:
        node.finished(task.outcome(), now)
