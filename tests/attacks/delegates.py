"""Attacks on delegates: messages of a member, and damaged files after a crash."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from pqchain.delegates.peers import Peers
from pqchain.delegates.stores import FileStore, Lock, SafetyRecord
from pqchain.wire.session import Opened, Received
from tests.attacks.files import Reads, file_attack
from tests.attacks.harness import Attack, Inputs, Outcome, Try
from tests.attacks.streams import inputs
from tests.delegates import test_fuzz as fuzz
from tests.delegates.doubles import make_setting
from tests.reencode.mesh import Wire

MESSAGES = 100
"""Messages per input."""

LONGEST, PIECE = 100_000, 1 << 14


def _messages(_: Path) -> tuple[Inputs, Try]:
    """Send damaged messages in any order: no delegate votes twice, or for an invalid block."""
    kinds = fuzz.by_kind(fuzz.recorded(make_setting()))
    setting = make_setting(modelled_clock=False)

    def attempt(seed: int) -> Outcome:
        rejected, _ = fuzz.live(setting, kinds, random.Random(seed), MESSAGES)
        return Outcome.REFUSED if rejected else Outcome.FINE

    return inputs, attempt


def _refused(_: Path) -> tuple[Inputs, Try]:
    """Send a megabyte after a rejected frame, on several channels and sessions."""

    def attempt(seed: int) -> Outcome:
        rng, wire = random.Random(seed), Wire()
        peers = Peers(0, wire, dials=(), count=1, longest_bytes=LONGEST, rejected=Counter())
        data = rng.randbytes(PIECE)
        for session in range(4):
            peers.handle(Opened(session, 1, False), 0.0)
            head = rng.choice((rng.randrange(LONGEST, 2**32), rng.randrange(12)))
            peers.handle(Received(session, 0, head.to_bytes(4, "big"), False), 0.0)
            for _ in range((1 << 18) // PIECE):
                peers.handle(Received(session, rng.randrange(3), data, False), 0.0)
        if len(wire.closed) != 4 or peers.partial_bytes:
            return Outcome.WRONG
        return Outcome.REFUSED

    return inputs, attempt


def _store(folder: Path, name: str) -> tuple[Path, Reads]:
    """Restart a delegate: it has its votes and locks, or reports an error."""
    setting = make_setting()
    genesis = setting.pool.genesis
    store = FileStore(folder, genesis)
    for height in range(3):
        block = setting.propose(store.state, height, 0, 0).encode()
        store.add_final(block, setting.after(store.state, block), b"quorum %d" % height)
    store.save(SafetyRecord(3, 5, 4, Lock(4, bytes(range(32)), b"a block", b"a proof")))

    def content(store: FileStore) -> tuple[object, ...]:
        store.close()
        return store.state.tip, store.record, [store.final(height) for height in range(4)]

    expected = content(store)
    return folder / name, lambda: content(FileStore(folder, genesis)) == expected


ATTACKS = [
    Attack("delegate", f"{MESSAGES} messages of a member", 20, 10_000, _messages),
    Attack("delegate", "a megabyte after a rejected frame", 10, 1000, _refused),
    file_attack("quorums of a delegate", 60, 10_000, _store, "quorums", text=False),
    file_attack("votes and locks of a delegate", 60, 10_000, _store, "bound", text=False),
]
