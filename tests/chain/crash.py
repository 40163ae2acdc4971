"""Append blocks and end without warning; test_ledger_crashes.py runs it as a process.

python -m tests.chain.crash write FILE    append until killed, printing each stored height
python -m tests.chain.crash steps FILE    end a child after 1, 2, 3, ... steps of one append
python -m tests.chain.crash limits FILE   the system ends a child at each write of one append
python -m tests.chain.crash starts FILE   the system ends a child at each write of a new ledger
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from pqchain.chain import Ledger
from tests.chain.ledgers import ALICE, next_block

ENDED_EARLY = 9


def write(path: Path) -> None:
    """Append and acknowledge, at most 900 times."""
    with Ledger.open(path) as ledger:
        while ledger.state.height < 900:
            ledger.append(next_block(ledger))
            sys.stdout.write(f"{ledger.state.height}\n")
            sys.stdout.flush()


def append_and_end(path: Path, steps: int) -> None:
    """Append one block; end the process at a given step of SQLite's virtual machine."""
    ledger = Ledger.open(path)
    block = next_block(ledger)
    left = steps

    def count() -> int:
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(ENDED_EARLY)
        return 0

    ledger._database._connection.set_progress_handler(count, 1)
    ledger.append(block)
    os._exit(0)


def limited_append(path: Path, limit: int) -> None:
    """Append one block; the system kills the process when a file would grow past the limit."""
    ledger = Ledger.open(path)
    block = next_block(ledger)
    limit_files(limit)
    ledger.append(block)
    os._exit(0)


def limit_files(limit: int) -> None:
    """Let the system end this process when it writes a file past the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def starts(path: Path) -> None:
    """Let a child end at each write of a new ledger; a second attempt must create it."""
    balances, ended = {ALICE.address: 1000}, 0
    for limit in range(0, 100_000, 512):
        copy = path.with_name(f"start{limit}")
        child = os.fork()
        if child == 0:
            limit_files(limit)
            Ledger.create(copy, balances)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            with Ledger.open(copy) as ledger:
                ledger.append(next_block(ledger))
            break
        ended += 1
        with Ledger.create(copy, balances) as ledger:
            ledger.append(next_block(ledger))
        left = [file.name for file in path.parent.glob(f"{copy.name}?*")]
        if left:
            raise AssertionError(f"{left} left over at {limit}")
    sys.stdout.write(f"{ended}\n")


def sweep(path: Path, append: Callable[[Path, int], None], values: Iterable[int]) -> None:
    """Let children end at successive points until one completes; print what was stored."""
    with Ledger.open(path) as ledger:
        before = ledger.state.height
    tally = {"early": 0, "absent": 0, "present": 0}
    for value in values:
        copy = path.with_name(f"copy{value}")
        shutil.copy(path, copy)
        child = os.fork()
        if child == 0:
            append(copy, value)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        with Ledger.open(copy) as ledger:
            height = ledger.state.height
            # A recovered ledger must accept the next block.
            ledger.append(next_block(ledger))
        if code not in (0, ENDED_EARLY, -signal.SIGXFSZ) or height - before not in (0, 1):
            raise AssertionError(f"place {value}: code {code}, height {height}")
        if code == 0 and height != before + 1:
            raise AssertionError(f"place {value}: acknowledged and lost")
        tally["early"] += code != 0
        tally["absent" if height == before else "present"] += 1
        if code == 0:
            break
    sys.stdout.write("{early} {absent} {present}\n".format(**tally))


def main() -> None:
    """Run the command line."""
    path = Path(sys.argv[2])
    if sys.argv[1] == "write":
        write(path)
    elif sys.argv[1] == "starts":
        starts(path)
    elif sys.argv[1] == "steps":
        sweep(path, append_and_end, range(1, 500))
    else:
        sweep(path, limited_append, range(0, 100_000, 512))


if __name__ == "__main__":
    main()
