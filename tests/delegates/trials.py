"""Simulation of delegates on a modelled clock under random faults, one run per seed.

    python tests/delegates/trials.py 10000            seeds 0 to 9999
    python tests/delegates/trials.py --seed 42        one seed, with its events
    python tests/delegates/trials.py 10000 --scheduler tls://host:8786     on a Dask cluster

Seven delegates, up to two of which are faulty, run six heights. Messages are lost, duplicated and
delayed; delegates are partitioned, crash and resume from their stores; their clocks differ. Some
faults strike at the worst moment, when the first delegate has a final block. After `HEAL_SECONDS`
only the faulty delegates are left. Then all honest delegates must have the same blocks, all of
them, and no final block may have changed. Signatures are keyed hashes, which are fast, unless
`--signatures` asks for real ones.
"""

import argparse
import hashlib
import importlib
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pqchain.consensus.network import SECOND
from pqchain.consensus.view import NEVER
from pqchain.delegates.actions import HONEST, FaultBehaviour
from pqchain.delegates.plain_network import EventQueue
from pqchain.delegates.setting import Setting
from pqchain.delegates.timed_delegate import TimedDelegate
from pqchain.scheduler import run_tasks
from tests.delegates.doubles import COUNT, DiskStore, FaultyDelegate, make_setting

MAX_FAULTY, HEIGHTS = 2, 6
HEAL_SECONDS, LIMIT_SECONDS = 12.0, 200.0
MS = SECOND // 1000

SEEDS_PER_TASK = 50
"""Seeds of one task on a Dask cluster."""


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass
class RandomFaults:
    """Faults of a seed; times in ns, or in ms by name."""

    faulty: frozenset[int]
    loss: float
    duplication: float
    max_delay_ms: int
    partitions: list[tuple[int, int, frozenset[int]]]
    """Start, end, and the delegates of one side."""
    crashes: list[tuple[int, int, int]]
    """Time, delegate and duration."""
    rates: list[float]
    """Rate of each delegate's clock."""
    offsets: list[int]
    ambush: float
    """Probability that the first delegate with a final block is partitioned at that moment, and
    all messages in transit are lost."""
    restarts: float
    """Probability that each other delegate crashes then, for a moment."""
    omission: float
    """Probability that a faulty delegate leaves out a receiver."""

    @classmethod
    def of(cls, seed):
        rng = random.Random(seed)
        heal = int(HEAL_SECONDS * SECOND)
        ranks = range(COUNT)

        def window():
            start = rng.randrange(heal)
            return start, min(heal, start + rng.randrange(100 * MS, 5000 * MS))

        crashes = []
        for _ in range(rng.choice([0, 1, 3, 8])):
            start, end = window()
            crashes.append((start, rng.randrange(COUNT), end - start))
        return cls(
            faulty=frozenset(rng.sample(ranks, rng.choice([0, 1, MAX_FAULTY, MAX_FAULTY]))),
            loss=rng.choice([0.0, 0.02, 0.1, 0.3]),
            duplication=rng.choice([0.0, 0.1]),
            max_delay_ms=rng.choice([20, 150, 400]),
            partitions=[
                (*window(), frozenset(rng.sample(ranks, rng.randrange(1, COUNT))))
                for _ in range(rng.choice([0, 1, 2, 4]))
            ],
            crashes=sorted(crashes),
            rates=[rng.uniform(0.9, 1.1) for _ in ranks],
            offsets=[rng.randrange(SECOND) for _ in ranks],
            ambush=rng.choice([0.0, 0.5, 1.0]),
            restarts=rng.choice([0.0, 0.5, 1.0]),
            omission=rng.choice([0.0, 0.3, 0.6]),
        )


@dataclass
class Trial:
    """Run of one seed."""

    seed: int
    setting: Setting
    honest: type[TimedDelegate] = TimedDelegate
    """Class of the honest delegates."""
    synced: bool = True
    verbose: bool = False
    clock: EventQueue = field(default_factory=EventQueue)
    failure: str = ""
    messages: int = 0
    wipes: int = 0
    """How often all messages in transit were lost."""
    complete: int = 0
    """Number of honest delegates that have had all blocks."""

    def __post_init__(self):
        self.faults = RandomFaults.of(self.seed)
        self.rng = random.Random(f"network {self.seed}")
        self.heal = int(HEAL_SECONDS * SECOND)
        genesis = self.setting.pool.genesis
        self.stores = [DiskStore(genesis, synced=self.synced) for _ in range(COUNT)]
        self.starts = [0] * COUNT
        """Number of crashes of each delegate, which identifies its timers."""
        self.delegates = [None] * COUNT
        self.finals = {}
        """Hash of the final block of each height."""
        self.seen = [0] * COUNT
        """Number of final blocks of each delegate."""

    def run(self):
        """Return the failure, or ""."""
        for rank in range(COUNT):
            self.clock.at(self.rng.randrange(50 * MS), self.start, rank)
        for at, rank, duration in self.faults.crashes:
            self.clock.at(at, self.crash, rank, duration)
        limit = int(LIMIT_SECONDS * SECOND)
        self.clock.run(limit, is_over=lambda: bool(self.failure) or self.is_complete())
        if not self.failure and not self.is_complete():
            heights = [store.state.height for store in self.stores]
            self.failure = f"no progress: heights {heights} after {LIMIT_SECONDS:g} s"
        return self.failure

    def is_complete(self):
        """Return whether all delegates run and all honest ones have all blocks."""
        return self.complete == COUNT - len(self.faults.faulty) and None not in self.delegates

    def start(self, rank):
        faulty = self.faults.faulty
        options = {"target": HEIGHTS, "behaviour": HONEST}
        cls = self.honest
        if rank in faulty:
            options["behaviour"] = FaultBehaviour(equivocates=True, colluders=faulty)
            cls, options["rng"] = FaultyDelegate, random.Random(f"liar {self.seed} {rank}")
        delegate = cls(self.setting, rank, self.stores[rank], **options)
        self.delegates[rank] = delegate
        if rank not in faulty and self.stores[rank].state.height < self.seen[rank]:
            self.failure = f"delegate {rank} lost a final block in a crash"
        delegate.start(self.local_time(rank))
        self.drive(rank)

    def crash(self, rank, duration):
        if self.delegates[rank] is None:
            return
        self.log(f"{rank} crashes")
        self.starts[rank] += 1
        self.delegates[rank] = None
        self.stores[rank].crash()
        self.clock.at(self.clock.now + duration, self.start, rank)

    def local_time(self, rank):
        """Return the time of a delegate's clock."""
        return int(self.clock.now * self.faults.rates[rank]) + self.faults.offsets[rank]

    def log(self, event):
        if self.verbose:
            write(f"{self.clock.now / SECOND:9.3f} {event}")

    def drive(self, rank):
        """Do all work of a delegate, send its messages, and set its timer."""
        delegate, now = self.delegates[rank], self.local_time(rank)
        while (work := delegate.poll()) is not None:
            work.finish(work.run(), now)
        queued, delegate.out = delegate.out, []
        for sending in queued:
            for to in range(COUNT) if sending.to is None else [sending.to]:
                omits = rank in self.faults.faulty and self.rng.random() < self.faults.omission
                if to != rank and not omits:
                    self.send(rank, to, sending.for_(to))
        self.check(rank)
        if (due := delegate.timer()) < NEVER:
            at = int((due - self.faults.offsets[rank]) / self.faults.rates[rank]) + 1
            self.clock.at(max(at, self.clock.now + 1), self.wake, rank, self.starts[rank], due)

    def wake(self, rank, started, due):
        delegate = self.delegates[rank]
        if self.starts[rank] == started and delegate is not None and delegate.timer() == due:
            delegate.wake(self.local_time(rank))
            self.drive(rank)

    def send(self, rank, to, data):
        rng, faults, now = self.rng, self.faults, self.clock.now
        self.messages += 1
        if now < self.heal:
            if rng.random() < faults.loss:
                return
            for start, end, side in faults.partitions:
                if start <= now < end and (rank in side) != (to in side):
                    return
        max_delay_ms = faults.max_delay_ms if now < self.heal else 20
        for _ in range(1 + (now < self.heal and rng.random() < faults.duplication)):
            at = now + MS + rng.randrange(max_delay_ms * MS)
            self.clock.at(at, self.deliver, rank, to, data, self.wipes)

    def deliver(self, rank, to, data, wipes):
        if wipes == self.wipes and self.delegates[to] is not None:
            self.delegates[to].receive(rank, data, self.local_time(to))
            self.drive(to)

    def check(self, rank):
        """Compare the final blocks of an honest delegate with those of others."""
        if rank in self.faults.faulty:
            return
        store = self.stores[rank]
        while self.seen[rank] < len(store.blocks):
            height = self.seen[rank]
            digest = hashlib.sha256(store.blocks[height][0]).hexdigest()[:12]
            self.log(f"{rank} has block {height}: {digest}")
            is_first = height not in self.finals
            if self.finals.setdefault(height, digest) != digest:
                self.failure = f"two blocks are final at height {height}"
            self.seen[rank] += 1
            if is_first:
                self.ambush(rank)
            self.complete += self.seen[rank] == HEIGHTS

    def ambush(self, rank):
        """Partition the first delegate with a block, lose all messages, crash other delegates."""
        faults, rng, now = self.faults, self.rng, self.clock.now
        if now >= self.heal or rng.random() >= faults.ambush:
            return
        self.log(f"{rank} is partitioned")
        self.wipes += 1
        end = now + rng.randrange(500 * MS, 5000 * MS)
        faults.partitions.append((now, end, frozenset([rank])))
        for other in range(COUNT):
            if other != rank and rng.random() < faults.restarts:
                self.clock.at(now, self.crash, other, rng.randrange(1, 300 * MS))


def run_seeds(first, end, signatures) -> tuple[dict[int, str], int, dict[str, int]]:
    """Return the failures of seeds by seed, the messages, and the rejected ones by reason."""
    setting, failures, sent, rejected = make_setting(signatures=signatures), {}, 0, Counter()
    for seed in range(first, end):
        trial = Trial(seed, setting)
        if failure := trial.run():
            failures[seed] = failure
        sent += trial.messages
        for delegate in trial.delegates:
            rejected.update(delegate.rejected if delegate else ())
    return failures, sent, rejected


def results_in_order(function, tasks, address):
    """Yield the results of tasks in their order, computed by a Dask cluster if there is one."""
    if address is None:
        yield from (function(*task) for task in tasks)
        return
    # Workers import the function: one of the main program would be sent with all its globals.
    module = importlib.import_module(f"tests.delegates.{Path(sys.argv[0]).stem}")
    function, waiting, number = getattr(module, function.__name__), {}, 0
    for position, result in run_tasks(function, tasks, address=address):
        waiting[position] = result
        while number in waiting:
            yield waiting.pop(number)
            number += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--signatures", action="store_true", help="make real signatures")
    parser.add_argument("--scheduler", help="address of a Dask scheduler whose workers run seeds")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        setting = make_setting(signatures=arguments.signatures)
        trial = Trial(arguments.seed, setting, verbose=True)
        write(str(trial.faults))
        failure = trial.run()
        write(f"{failure or 'no failure'} after {trial.messages} messages")
        return int(bool(failure))
    end = arguments.first + arguments.count
    tasks = [
        (first, min(first + SEEDS_PER_TASK, end), arguments.signatures)
        for first in range(arguments.first, end, SEEDS_PER_TASK)
    ]
    failed, sent, rejected = 0, 0, Counter()
    for failures, messages, reasons in results_in_order(run_seeds, tasks, arguments.scheduler):
        for seed, failure in failures.items():
            write(f"seed {seed}: {failure}; repeat: make simulate-delegates SEED={seed}")
        failed, sent = failed + len(failures), sent + messages
        rejected.update(reasons)
    write(f"{arguments.count} seeds, {failed} failed, {sent} messages; rejected: {dict(rejected)}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
