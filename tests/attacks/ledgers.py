"""Attacks on a ledger's file and its journal: opening returns the stored chain, or an error."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pqchain.chain import Block, Ledger, Rules, State
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try
from tests.attacks.mutations import flips, mutations
from tests.chain.wallets import alice, bob, proposer

ALICE, BOB, PROPOSER = alice(), bob(), proposer()


_apply = State.apply


@dataclass(slots=True, eq=False)
class StateCache:
    """Cache of `State.apply` by state and block, because attacks open the same chain repeatedly.

    Digests, tables and pages are read each time.
    """

    known: dict[tuple[bytes, bytes], tuple[State, State]] = field(default_factory=dict)

    def apply(self, state: State, block: Block | bytes, **options: Any) -> State:
        data = block.encode() if isinstance(block, Block) else block
        before, after = self.known.get((state.tip, data), (None, None))
        if after is None or before != state:
            after = _apply(state, data, **options)
            self.known[state.tip, data] = state, after
        return after


def next_block(state: State, data: bytes = b"") -> Block:
    nonce = state.account(ALICE.address).nonce
    payment = ALICE.transfer(BOB.address, 1, nonce=nonce, data=data)
    return state.propose([payment], proposer=PROPOSER, timestamp=state.height + 1)


def ledger_of(path: Path, blocks: int) -> State:
    """Write a ledger; every seventh block needs further pages."""
    balances = {ALICE.address: 10**6, BOB.address: 0}
    with Ledger.create(path, balances, Rules(limit_bytes=20_000)) as ledger:
        for height in range(blocks):
            ledger.append(next_block(ledger.state, bytes(6000) if height % 7 == 6 else b""))
        return ledger.state


@dataclass(slots=True, eq=False)
class _Chain:
    """A ledger's file at three heights, with the states that a damaged one may have."""

    path: Path
    older: bytes
    current: bytes
    newer: bytes
    states: list[State]
    """States at these heights."""
    following: dict[int, Block]
    """Block after each height."""
    cache: StateCache

    @classmethod
    def at(cls, path: Path, blocks: int) -> _Chain:
        states, files = [ledger_of(path, blocks - 1)], [path.read_bytes()]
        with Ledger.open(path) as ledger:
            for data in (bytes(5000), b""):
                states.append(ledger.append(next_block(states[-1], data)))
                files.append(path.read_bytes())
        following = {state.height: next_block(state) for state in states}
        return cls(path, *files, states, following, StateCache())

    def opened(self, allowed: Sequence[State]) -> Outcome:
        """Open the file, whose state must be allowed; append a block, and open it again."""
        apply = self.cache.apply
        with patch.object(State, "apply", lambda state, *a, **o: apply(state, *a, **o)):
            with Ledger.open(self.path) as ledger:
                if ledger.state not in allowed:
                    return Outcome.WRONG
                # An accepted file must be usable: an appended block must be stored.
                extended = ledger.append(self.following[ledger.state.height])
                if len(list(ledger.blocks())) != extended.height:
                    return Outcome.WRONG
            with Ledger.open(self.path) as ledger:
                return Outcome.FINE if ledger.state == extended else Outcome.WRONG

    def write(self, data: bytes, journal: bytes | None = None) -> None:
        self.path.write_bytes(data)
        journal_path = self.path.with_name(f"{self.path.name}-journal")
        journal_path.unlink(missing_ok=True)
        if journal is not None:
            journal_path.write_bytes(journal)


def _flips(folder: Path, blocks: int) -> tuple[Inputs, Try]:
    chain = _Chain.at(folder / "chain.pqc", blocks)
    places = structure(chain.current)

    def attempt(data: bytes) -> Outcome:
        chain.write(data)
        return chain.opened(chain.states[1:2])

    return lambda rng, count: flips(chain.current, places, rng, count), attempt


def _mutations(folder: Path) -> tuple[Inputs, Try]:
    chain = _Chain.at(folder / "chain.pqc", 20)
    others = (chain.older, chain.newer)

    def attempt(data: bytes) -> Outcome:
        chain.write(data)
        return chain.opened(chain.states)

    def make(rng: random.Random, count: int) -> Iterator[Input]:
        return mutations(chain.current, rng, count, others=others, sector=4096)

    return make, attempt


def _journals(folder: Path) -> tuple[Inputs, Try]:
    """Damage the journal of an append that the system ended during its writes."""
    chain = _Chain.at(folder / "chain.pqc", 20)
    chain.write(chain.current)
    limit = len(chain.current) + 4096
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with Ledger.open(chain.path) as ledger:
            ledger.append(next_block(ledger.state, bytes(15_000)))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGXFSZ:
        raise AssertionError(f"the append ended with {status}")
    half = chain.path.read_bytes()
    journal = chain.path.with_name("chain.pqc-journal").read_bytes()
    if half == chain.current:
        raise AssertionError("the append has not changed the file")

    def make(rng: random.Random, count: int) -> Iterator[Input]:
        yield from flips(journal, range(len(journal)), rng, count // 2)
        yield from mutations(journal, rng, count - count // 2, others=(chain.current,), sector=512)

    def attempt(data: bytes) -> Outcome:
        chain.write(half, data)
        return chain.opened(chain.states[1:2])

    return make, attempt


ATTACKS = [
    Attack("ledger of 200 blocks", "bits", 150, 110_000, _flips, (200,)),
    Attack("ledger of 12 blocks", "bits", 150, 20_000, _flips, (12,)),
    Attack("ledger of 20 blocks", "random", 100, 10_000, _mutations),
    Attack("ledger's journal", "bits, random", 50, 10_000, _journals),
]


_FILE_HEADER = 100
_INTERIOR_TABLE, _LEAF_TABLE = 5, 13
_RECORD_HEAD = 80
"""Bytes of a record that count as structure: its header, and short values."""


def structure(data: bytes) -> list[int]:
    """Return the offsets of bytes that are neither values of long records nor free space."""
    size = int.from_bytes(data[16:18], "big")
    places = set(range(_FILE_HEADER))
    overflow: set[int] = set()
    for page in range(len(data) // size):
        base = page * size
        if page in overflow:
            places.update(range(base, base + 4))
            overflow.add(int.from_bytes(data[base : base + 4], "big") - 1)
            continue
        places.update(_tree_page(data, base, size, overflow))
    return sorted(places)


def _tree_page(data: bytes, base: int, size: int, overflow: set[int]) -> set[int]:
    header = base + (_FILE_HEADER if base == 0 else 0)
    kind = data[header]
    if kind not in (_INTERIOR_TABLE, _LEAF_TABLE):
        return set(range(header, header + 4))
    cells = header + (12 if kind == _INTERIOR_TABLE else 8)
    count = int.from_bytes(data[header + 3 : header + 5], "big")
    places = set(range(header, cells + 2 * count))
    for index in range(cells, cells + 2 * count, 2):
        cell = base + int.from_bytes(data[index : index + 2], "big")
        if kind == _INTERIOR_TABLE:
            places.update(range(cell, _number(data, cell + 4)[1]))
            continue
        length, at = _number(data, cell)
        _, at = _number(data, at)
        places.update(range(cell, at + min(length, _RECORD_HEAD)))
        if length > size - 35:
            least = (size - 12) * 32 // 255 - 23
            local = least + (length - least) % (size - 4)
            end = at + (local if local <= size - 35 else least)
            places.update(range(end, end + 4))
            overflow.add(int.from_bytes(data[end : end + 4], "big") - 1)
    return places


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer of variable length, and the offset after it."""
    value = 0
    for index in range(8):
        value = value << 7 | data[at + index] & 0x7F
        if data[at + index] < 0x80:
            return value, at + index + 1
    return value << 8 | data[at + 8], at + 9
