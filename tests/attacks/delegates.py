"""What delegates read: from each other, and in their own files after a crash."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from pqchain.consensus.delegate.book import Lock, Record
from pqchain.consensus.delegate.files import FileBook
from tests.attacks.files import Reads, file_attack
from tests.attacks.harness import Attack, Inputs, Outcome, Try
from tests.attacks.streams import inputs
from tests.consensus.delegate import fuzz
from tests.consensus.delegate.trials import make_setting

MESSAGES = 100
"""In one input."""


def _messages(_: Path) -> tuple[Inputs, Try]:
    """Say what delegates say, damaged and in any order: nobody votes twice, or for a bad block."""
    kinds = fuzz.by_kind(fuzz.recorded(make_setting()))
    setting = make_setting(remember=False)

    def attempt(seed: int) -> Outcome:
        refused, _ = fuzz.live(setting, kinds, random.Random(seed), MESSAGES)
        return Outcome.REFUSED if refused else Outcome.FINE

    return inputs, attempt


def _book(name: str) -> Callable[[Path], tuple[Path, Reads]]:
    """A delegate that comes back holds what it held, or says that it cannot."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        setting = make_setting()
        genesis = setting.pool.genesis
        book = FileBook(folder, genesis)
        for height in range(3):
            block = setting.propose(book.state, height, 0, 0, twin=False, bad=False).encode()
            book.append(block, setting.after(book.state, block), b"quorum %d" % height)
        book.keep(Record(3, 5, 4, Lock(4, bytes(range(32)), b"a block", b"a proof")))

        def held(book: FileBook) -> tuple[object, ...]:
            book.close()
            return book.state.tip, book.record, [book.final(height) for height in range(4)]

        honest = held(book)
        return folder / name, lambda: held(FileBook(folder, genesis)) == honest

    return prepare


ATTACKS = [
    Attack(
        surface="delegate",
        name=f"{MESSAGES} messages of a member",
        small=20,
        large=10_000,
        prepare=_messages,
    ),
    file_attack("quorums of a delegate", _book("quorums"), text=False, small=60, large=10_000),
    file_attack("what binds a delegate", _book("bound"), text=False, small=60, large=10_000),
]
