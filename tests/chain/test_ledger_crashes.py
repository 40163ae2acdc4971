"""A ledger survives crashes, a full disk and concurrent processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pqchain.chain import Ledger
from pqchain.errors import DataError, UsageError
from tests.chain.ledgers import ALICE, BOB, CRASH, ROOT, append_blocks, next_block


def test_second_writer_is_rejected(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        append_blocks(one, 1)
        block = next_block(two)
        with pytest.raises(DataError, match="another process appended to it"):
            two.append(block)
        assert two.state.height == 3
        append_blocks(one, 1)
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 5


def test_killed_process_loses_no_acknowledged_block(path: Path) -> None:
    acknowledged = 3
    rng = random.Random(6)
    for _ in range(5):
        writer = subprocess.Popen([*CRASH, "write", str(path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(rng.random() * 0.2)
        os.kill(writer.pid, signal.SIGKILL)
        rest, _ = writer.communicate()
        lines = (first + rest).split(b"\n")[:-1]  # text after the last newline is incomplete
        acknowledged = max([acknowledged, *map(int, lines)])
        with Ledger.open(path) as ledger:
            assert acknowledged <= ledger.state.height <= acknowledged + 1
            assert ledger.state.account(BOB.address).balance == ledger.state.height
            acknowledged = ledger.state.height
    assert acknowledged > 8


def crash(places: str, path: Path) -> list[int]:
    """Let children end at all places; return the counts that the process prints."""
    command = [*CRASH, places, str(path)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return [int(count) for count in completed.stdout.split()]


@pytest.mark.parametrize("places", ["steps", "limits"])
def test_process_ending_within_an_append_loses_nothing(path: Path, places: str) -> None:
    """Children end after 1, 2, 3, ... steps of SQLite's virtual machine, or at each file write."""
    ended_early, not_there, there = crash(places, path)
    assert ended_early > 10
    assert not_there > 10
    assert there >= 1


def test_process_ending_within_creation_blocks_nothing(tmp_path: Path) -> None:
    (ended_early,) = crash("starts", tmp_path / "chain.pqc")
    assert ended_early > 5


def test_full_disk_keeps_the_ledger(path: Path) -> None:
    with Ledger.open(path) as ledger:
        state = ledger.state
        ledger._database._connection.execute(
            "PRAGMA max_page_count = 1"
        )  # SQLite does not go below the pages in use
        with pytest.raises(DataError, match="full"):
            append_blocks(ledger, 20)
        stored = ledger.state.height
        assert stored >= state.height
    with Ledger.open(path) as ledger:
        assert ledger.state.height == stored


def _create_concurrently(path, barrier, answer):
    """Create a ledger at the same time as other processes."""
    os.read(barrier, 1)  # ends when the parent has closed it
    try:
        Ledger.create(path, {ALICE.address: 1000}).close()
        said = b"created"
    except UsageError:
        said = b"is there"
    except BaseException as error:  # noqa: BLE001 - no other end is expected
        said = repr(error).encode()
    os.write(answer, said.ljust(200))
    os._exit(0)


def test_concurrent_creation_succeeds_once(tmp_path):
    for number in range(10):
        path = tmp_path / f"{number}.pqc"
        (barrier, opened), (answers, answer) = os.pipe(), os.pipe()
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                os.close(opened)
                _create_concurrently(path, barrier, answer)
            children.append(child)
        os.close(opened)
        said = [os.read(answers, 200).strip() for _ in children]
        for child in children:
            os.waitpid(child, 0)
        for end in (barrier, answers, answer):
            os.close(end)
        assert sorted(said) == [b"created", *[b"is there"] * 3]
        with Ledger.open(path) as ledger:
            assert ledger.state.account(ALICE.address).balance == 1000
        assert [
            entry.name for entry in tmp_path.iterdir() if entry.name.startswith(f"{number}.")
        ] == [path.name]
