"""Delegates on a modelled clock under random faults, one seed after the other.

    python tests/delegates/trials.py 10000            seeds 0 to 9999
    python tests/delegates/trials.py --seed 42        one of them, with what happened

Seven delegates, up to two of which lie, run six heights. Messages are lost, doubled and late,
delegates are cut off from each other, crash and come back with what their books hold, their clocks
differ, and some of it happens at the worst moment, when the first of them has a final block. After
`HEAL_SECONDS` only the liars are left. Then all honest delegates must have the same blocks, all of
them, and whatever was final once must stay so. Signatures are keyed hashes, which are quick, unless
`--signatures` asks for the scheme's own.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace

from pqchain.chain.verification import Verifier
from pqchain.consensus.network import SECOND, named
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.consensus.view import NEVER
from pqchain.delegates import certificates, messages
from pqchain.delegates.book import Record
from pqchain.delegates.conduct import HONEST, Conduct
from pqchain.delegates.core import Sending
from pqchain.delegates.messages import Kind, Message
from pqchain.delegates.plain import Clock
from pqchain.delegates.runner import Runner
from pqchain.delegates.setting import Setting
from tests.consensus.scenarios import table

COUNT, LIARS, HEIGHTS = 7, 2, 6
HEAL_SECONDS, LIMIT_SECONDS, TIMEOUT_SECONDS = 12.0, 200.0, 1.0
MS = SECOND // 1000


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Hashed:
    """A directory whose signatures are keyed hashes: seeds are many, and this is quick."""

    def sign(self, rank, statement):
        return hashlib.blake2b(statement, key=b"delegate %d" % rank, digest_size=32).digest()

    def verify(self, rank, statement, signature):
        return 0 <= rank < COUNT and self.sign(rank, statement) == signature

    def public_key(self, rank):
        return b"%d" % rank


class Remembering(Verifier):
    """Verifies no signature twice."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def wrong(self, checks, *, stop_at_first=False):
        fresh = [each for each in checks if self._key(each) not in self.known]
        bad = set(super().wrong(fresh))
        for each in fresh:
            self.known[self._key(each)] = each.index not in bad
        return [each.index for each in checks if not self.known[self._key(each)]]

    @staticmethod
    def _key(check):
        return check.message, check.signature, check.public_key


def make_setting(*, signatures=False, remember=True):
    """What all seeds share, with all that was ever checked if it is to `remember` that."""
    costs = table()
    scenario = Scenario(
        algorithm="Dilithium2", costs=costs, nodes=COUNT, network=named("mesh"), vote_phases=2,
        view_timeout_seconds=TIMEOUT_SECONDS, layout=Layout(data_bytes=0), block_bytes=4200,
    )  # fmt: skip
    verifier = Remembering() if remember else None
    setting = Setting(scenario, verifier=verifier, remember=remember)
    if not signatures:
        setting.__dict__["directory"] = Hashed()
    return setting


class Disk:
    """A book on a disk: what was given to it survives a crash, unless it is not `synced`."""

    def __init__(self, genesis, *, synced=True):
        self.state, self.record, self.blocks = genesis, Record(), []
        self.synced = synced
        self._safe = (genesis, self.record, [])

    def append(self, data, state, proof):
        self.blocks.append((data, proof))
        self.state = state
        self.flush(self.synced)

    def keep(self, record):
        self.record = record
        self.flush(self.synced)

    def flush(self, now=True):
        if now:
            self._safe = (self.state, self.record, list(self.blocks))

    def crash(self):
        """Lose what was not synced."""
        self.state, self.record, blocks = self._safe
        self.blocks = list(blocks)

    def final(self, height):
        return self.blocks[height] if 0 <= height < len(self.blocks) else None


class Liar(Runner):
    """Proposes two blocks, votes for both, and now and then says what nobody should believe."""

    def __init__(self, *given, dice, **more):
        super().__init__(*given, **more)
        self.dice = dice
        self.heard = []

    def receive(self, link, data, now):
        super().receive(link, data, now)
        self.heard = [*self.heard[-20:], data]
        if self.dice.random() < 0.15:
            self.out.append(self.lie())

    def lie(self):
        dice, to = self.dice, self.dice.randrange(COUNT)
        kind = dice.choice(["garbage", "replay", "flip", "status", "forge", "decided", "lock"])
        if kind == "garbage":
            return Sending(Kind.VOTE, dice.randbytes(dice.randrange(200)), to)
        data = dice.choice(self.heard)
        if kind == "flip":
            where = dice.randrange(len(data))
            data = data[:where] + bytes([data[where] ^ 1 << dice.randrange(8)]) + data[where + 1 :]
        if kind in ("replay", "flip"):
            return Sending(Kind.VOTE, data, to)
        view = self.view + dice.choice([0, 0, 1, 5, 1000])
        message = Message(Kind.STATUS, self.rank, self.height, view, b"")
        if kind == "status":
            return Sending(Kind.STATUS, messages.encode(message), to)
        block = self.setting.propose(
            self.book.state, self.height, self.view, self.rank, twin=dice.random() < 0.5, bad=False
        )
        digest = block.hash()
        forged = {rank: dice.randbytes(32) for rank in range(COUNT)}
        if kind == "forge":  # a vote in somebody else's name
            named_, ballot = dice.randrange(COUNT), dice.choice([Kind.VOTE, Kind.COMMIT])
            message = Message(ballot, named_, self.height, self.view, digest, forged[named_])
            field_bytes = self.setting.field_bytes(ballot)
            return Sending(ballot, messages.encode(message, field_bytes=field_bytes), to)
        quorum = certificates.write(forged)
        if kind == "lock":
            body = digest + quorum
            message = replace(message, kind=Kind.LOCK, body=body)
            return Sending(Kind.LOCK, messages.encode(message), to)
        body = len(quorum).to_bytes(4, "big") + quorum + block.encode()
        message = replace(message, kind=Kind.DECIDED, view=min(view, 9), body=body)
        return Sending(Kind.DECIDED, messages.encode(message), to)


@dataclass
class Faults:
    """What a seed does to the delegates."""

    liars: frozenset[int]
    loss: float
    double: float
    slowest_ms: int
    cuts: list[tuple[int, int, frozenset[int]]]
    """From when to when who is cut off from the rest."""
    crashes: list[tuple[int, int, int]]
    """When, who, for how long."""
    rates: list[float]
    """How fast each clock runs."""
    offsets: list[int]
    ambush: float
    """Probability that whoever has a final block first is cut off with all that is under way."""
    restarts: float
    """That each of the others crashes then, for a moment."""
    picky: float
    """That a liar leaves somebody out."""

    @classmethod
    def of(cls, seed):
        dice = random.Random(seed)
        heal = int(HEAL_SECONDS * SECOND)
        ranks = range(COUNT)

        def window():
            start = dice.randrange(heal)
            return start, min(heal, start + dice.randrange(100 * MS, 5000 * MS))

        crashes = []
        for _ in range(dice.choice([0, 1, 3, 8])):
            start, end = window()
            crashes.append((start, dice.randrange(COUNT), end - start))
        return cls(
            liars=frozenset(dice.sample(ranks, dice.choice([0, 1, LIARS, LIARS]))),
            loss=dice.choice([0.0, 0.02, 0.1, 0.3]),
            double=dice.choice([0.0, 0.1]),
            slowest_ms=dice.choice([20, 150, 400]),
            cuts=[
                (*window(), frozenset(dice.sample(ranks, dice.randrange(1, COUNT))))
                for _ in range(dice.choice([0, 1, 2, 4]))
            ],
            crashes=sorted(crashes),
            rates=[dice.uniform(0.9, 1.1) for _ in ranks],
            offsets=[dice.randrange(SECOND) for _ in ranks],
            ambush=dice.choice([0.0, 0.5, 1.0]),
            restarts=dice.choice([0.0, 0.5, 1.0]),
            picky=dice.choice([0.0, 0.3, 0.6]),
        )


@dataclass
class Trial:
    """One seed."""

    seed: int
    setting: Setting
    runner: type[Runner] = Runner
    synced: bool = True
    talk: bool = False
    clock: Clock = field(default_factory=Clock)
    failure: str = ""
    messages: int = 0
    storms: int = 0
    """How often all that was under way was lost."""
    complete: int = 0
    """How many honest delegates have had all blocks."""

    def __post_init__(self):
        self.faults = Faults.of(self.seed)
        self.dice = random.Random(f"network {self.seed}")
        self.heal = int(HEAL_SECONDS * SECOND)
        genesis = self.setting.pool.genesis
        self.books = [Disk(genesis, synced=self.synced) for _ in range(COUNT)]
        self.lives = [0] * COUNT
        self.nodes = [None] * COUNT
        self.finals = {}
        self.seen = [0] * COUNT
        """How many blocks each has told of as final."""

    def run(self):
        """Return what went wrong, or ""."""
        for rank in range(COUNT):
            self.clock.at(self.dice.randrange(50 * MS), self.start, rank)
        for at, rank, down in self.faults.crashes:
            self.clock.at(at, self.crash, rank, down)
        self.clock.run(int(LIMIT_SECONDS * SECOND), over=lambda: bool(self.failure) or self.ready())
        if not self.failure and not self.ready():
            heights = [book.state.height for book in self.books]
            self.failure = f"no progress: heights {heights} after {LIMIT_SECONDS:g} s"
        return self.failure

    def ready(self):
        """Return whether all honest delegates live and have all blocks."""
        return self.complete == COUNT - len(self.faults.liars) and None not in self.nodes

    def start(self, rank):
        plotters = self.faults.liars
        more = {"target": HEIGHTS, "conduct": HONEST}
        make = self.runner
        if rank in plotters:
            more["conduct"] = Conduct(double=True, plotters=plotters)
            make, more["dice"] = Liar, random.Random(f"liar {self.seed} {rank}")
        node = make(self.setting, rank, self.books[rank], **more)
        self.nodes[rank] = node
        if rank not in plotters and self.books[rank].state.height < self.seen[rank]:
            self.failure = f"delegate {rank} lost a final block in a crash"
        node.start(self.local(rank))
        self.after(rank)

    def crash(self, rank, down):
        if self.nodes[rank] is None:
            return
        self.say(f"{rank} crashes")
        self.lives[rank] += 1
        self.nodes[rank] = None
        self.books[rank].crash()
        self.clock.at(self.clock.now + down, self.start, rank)

    def local(self, rank):
        """Return what the delegate's clock shows."""
        return int(self.clock.now * self.faults.rates[rank]) + self.faults.offsets[rank]

    def say(self, what):
        if self.talk:
            write(f"{self.clock.now / SECOND:9.3f} {what}")

    def after(self, rank):
        """Do all that a delegate can do, send what it says, and set its timer."""
        node, now = self.nodes[rank], self.local(rank)
        while (work := node.poll()) is not None:
            work.done(work.run(), now)
        said, node.out = node.out, []
        for sending in said:
            for to in range(COUNT) if sending.to is None else [sending.to]:
                left_out = rank in self.faults.liars and self.dice.random() < self.faults.picky
                if to != rank and not left_out:
                    self.send(rank, to, sending.for_(to))
        self.look(rank)
        if (due := node.timer()) < NEVER:
            at = int((due - self.faults.offsets[rank]) / self.faults.rates[rank]) + 1
            self.clock.at(max(at, self.clock.now + 1), self.ring, rank, self.lives[rank], due)

    def ring(self, rank, life, due):
        node = self.nodes[rank]
        if self.lives[rank] == life and node is not None and node.timer() == due:
            node.wake(self.local(rank))
            self.after(rank)

    def send(self, rank, to, data):
        dice, faults, now = self.dice, self.faults, self.clock.now
        self.messages += 1
        if now < self.heal:
            if dice.random() < faults.loss:
                return
            for start, end, side in faults.cuts:
                if start <= now < end and (rank in side) != (to in side):
                    return
        late = faults.slowest_ms if now < self.heal else 20
        for _ in range(1 + (now < self.heal and dice.random() < faults.double)):
            at = now + MS + dice.randrange(late * MS)
            self.clock.at(at, self.come, rank, to, data, self.storms)

    def come(self, rank, to, data, storm):
        if storm == self.storms and self.nodes[to] is not None:
            self.nodes[to].receive(rank, data, self.local(to))
            self.after(to)

    def look(self, rank):
        """Compare what became final."""
        if rank in self.faults.liars:
            return
        book = self.books[rank]
        while self.seen[rank] < len(book.blocks):
            height = self.seen[rank]
            digest = hashlib.sha256(book.blocks[height][0]).hexdigest()[:12]
            self.say(f"{rank} has block {height}: {digest}")
            known = len(self.finals)
            if self.finals.setdefault(height, digest) != digest:
                self.failure = f"two blocks are final at height {height}"
            self.seen[rank] += 1
            if len(self.finals) > known:
                self.strike(rank)
            self.complete += self.seen[rank] == HEIGHTS

    def strike(self, rank):
        """Cut off whoever has a block first, lose what is under way, let others crash."""
        faults, dice, now = self.faults, self.dice, self.clock.now
        if now >= self.heal or dice.random() >= faults.ambush:
            return
        self.say(f"{rank} is cut off")
        self.storms += 1
        faults.cuts.append((now, now + dice.randrange(500 * MS, 5000 * MS), frozenset([rank])))
        for other in range(COUNT):
            if other != rank and dice.random() < faults.restarts:
                self.clock.at(now, self.crash, other, dice.randrange(1, 300 * MS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--signatures", action="store_true", help="the scheme's own")
    given = parser.parse_args()
    setting = make_setting(signatures=given.signatures)
    if given.seed is not None:
        trial = Trial(given.seed, setting, talk=True)
        write(str(trial.faults))
        failure = trial.run()
        write(f"{failure or 'fine'} after {trial.messages} messages")
        return int(bool(failure))
    failed, sent, told = 0, 0, Counter()
    for seed in range(given.first, given.first + given.count):
        trial = Trial(seed, setting)
        if failure := trial.run():
            failed += 1
            write(f"seed {seed}: {failure}; again: make simulate-delegates SEED={seed}")
        sent += trial.messages
        for node in trial.nodes:
            told.update(node.refused if node else ())
    write(f"{given.count} seeds, {failed} failed, {sent} messages; refused: {dict(told)}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
