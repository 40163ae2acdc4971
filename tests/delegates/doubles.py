"""Test doubles of delegates: fast signatures, a store on a disk, a faulty delegate, runs."""

import hashlib
from dataclasses import replace

import numpy as np

from pqchain.chain.verification import Verifier
from pqchain.consensus.builder import ModelBlock
from pqchain.consensus.network import SECOND, named
from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.delegates import messages
from pqchain.delegates.actions import Sending
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from tests.consensus.scenarios import table

COUNT, TIMEOUT_SECONDS = 7, 1.0


class HashKeys:
    """Keys of delegates whose signatures are keyed hashes, which are fast."""

    def sign(self, rank, statement):
        return hashlib.blake2b(statement, key=b"delegate %d" % rank, digest_size=32).digest()

    def verify(self, rank, statement, signature):
        return 0 <= rank < COUNT and self.sign(rank, statement) == signature


class CachingVerifier(Verifier):
    """Verifier that verifies no signature twice."""

    def __init__(self):
        super().__init__()
        self.results = {}

    def wrong(self, checks):
        for check in checks:
            if self._key(check) not in self.results:
                self.results[self._key(check)] = super().wrong([check]) is None
        return next((row.index for row in checks if not self.results[self._key(row)]), None)

    @staticmethod
    def _key(check):
        return check.message, check.signature, check.public_key


def make_setting(*, signatures=False, modelled_clock=True):
    """Return the setting that all seeds share, with cached verifications on a modelled clock."""
    scenario = Scenario(
        algorithm="Dilithium2", costs=table(), nodes=COUNT, network=named("mesh"), vote_phases=2,
        view_timeout_seconds=TIMEOUT_SECONDS, layout=Layout(data_bytes=0), block_bytes=4200,
    )  # fmt: skip
    setting = Setting(scenario, modelled_clock=modelled_clock)
    setting.verifier = CachingVerifier() if modelled_clock else setting.verifier
    setting.__dict__ |= {} if signatures else {"keys": HashKeys()}
    return setting


class DiskStore(MemoryStore):
    """Store on a disk: its content survives a crash unless it is not `synced`."""

    def __init__(self, genesis, *, synced=True):
        super().__init__(genesis)
        self.synced = synced
        self._on_disk = (genesis, self.record, [])

    def append(self, data, state, proof):
        super().append(data, state, proof)
        self._sync()

    def save(self, record):
        super().save(record)
        self._sync()

    def _sync(self):
        if self.synced:
            self._on_disk = (self.state, self.record, list(self.blocks))

    def crash(self):
        """Lose what was not synced."""
        self.state, self.record, blocks = self._on_disk
        self.blocks = list(blocks)


class FaultyDelegate(TimedDelegate):
    """Delegate that equivocates, and occasionally sends invalid, replayed or forged messages."""

    def __init__(self, *positional, rng, **named):
        super().__init__(*positional, **named)
        self.rng = rng
        self.recent = []

    def receive(self, link, data, now):
        super().receive(link, data, now)
        self.recent = [*self.recent[-20:], data]
        if self.rng.random() < 0.15:
            self.out.append(self.attack())

    def attack(self):
        rng, to = self.rng, self.rng.randrange(COUNT)
        kind = rng.choice(["garbage", "replay", "flip", "status", "forge", "decided", "lock"])
        if kind == "garbage":
            return Sending(MessageKind.VOTE, rng.randbytes(rng.randrange(200)), to)
        data = rng.choice(self.recent)
        if kind == "flip":
            at = rng.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        if kind in ("replay", "flip"):
            return Sending(MessageKind.VOTE, data, to)
        view = self.view + rng.choice([0, 0, 1, 5, 1000])
        message = Message(MessageKind.STATUS, self.rank, self.height, view, b"")
        if kind == "status":
            return Sending(MessageKind.STATUS, messages.encode(message), to)
        block = self.setting.propose(
            self.store.state, self.height, self.view, self.rank, second=rng.random() < 0.5
        )
        digest = block.hash()
        forged = {rank: rng.randbytes(32) for rank in range(COUNT)}
        if kind == "forge":  # a vote in the name of another delegate
            rank, vote = rng.randrange(COUNT), rng.choice([MessageKind.VOTE, MessageKind.COMMIT])
            message = Message(vote, rank, self.height, self.view, digest, forged[rank])
            field_bytes = self.setting.field_bytes(vote)
            return Sending(vote, messages.encode(message, field_bytes=field_bytes), to)
        quorum = messages.encode_votes(forged)
        if kind == "lock":
            message = replace(message, kind=MessageKind.LOCK, body=digest + quorum)
            return Sending(MessageKind.LOCK, messages.encode(message), to)
        proof = min(view, 9).to_bytes(2, "big") + quorum
        data = messages.encode_decided(self.rank, self.height, block.encode(), proof)
        return Sending(MessageKind.DECIDED, data, to)


def executed(scenario, latencies, *, mode="loopback", transactions=1, **quantities):
    """A run whose heights follow each other and take `latencies`.

    `quantities` are functions of the latency, by field of a height.
    """
    heights, now = [], 0
    for number, seconds in enumerate(latencies):
        ended = now + round(seconds * SECOND)
        block = ModelBlock(height=number, starts_ns=now, transactions=transactions, size_bytes=0)
        height = Height(
            block=block,
            ended_ns=ended,
            final_ns=np.full(scenario.delegate_count, ended),
            blocks=frozenset(),
            views=1,
            **{name: value(seconds) for name, value in quantities.items()},
        )
        heights.append(height)
        now = ended
    return Run(scenario=scenario, heights=tuple(heights), mode=mode, transport="native")
