"""Ledgers in files: everything comes back, and nothing but valid blocks."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pqchain.chain import Block, BlockRejected, Ledger, Reason, Rules
from pqchain.errors import BadType, DataError, UsageError
from tests.chain.wallets import alice, bob, proposer

ALICE, BOB, PROPOSER = alice(), bob(), proposer()
ROOT = Path(__file__).resolve().parent.parent.parent
CRASH = (sys.executable, "-m", "tests.chain.crash")


def extended(ledger: Ledger, count: int) -> Ledger:
    for _ in range(count):
        ledger.append(next_block(ledger))
    return ledger


def next_block(ledger: Ledger) -> Block:
    state = ledger.state
    payment = ALICE.transfer(BOB.address, 1, nonce=state.account(ALICE.address).nonce)
    return state.propose([payment], proposer=PROPOSER, timestamp=state.height)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "chain.pqc"
    balances = {ALICE.address: 1000, BOB.address: 0}
    with Ledger.create(path, balances, Rules(limit_bytes=5000)) as ledger:
        extended(ledger, 3)
    return path


def test_what_was_appended_is_there_after_opening(path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 3
        assert ledger.state.account(BOB.address).balance == 3
        assert ledger.state.rules == Rules(limit_bytes=5000)
        extended(ledger, 2)
        state = ledger.state
        assert [block.header.height for block in ledger.blocks()] == [1, 2, 3, 4, 5]
    with Ledger.open(path) as again:
        assert again.state == state
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_bytes_can_be_appended_as_they_come(path: Path) -> None:
    with Ledger.open(path) as ledger:
        block = next_block(ledger)
        ledger.append(bytearray(block.encode()))
        assert list(ledger.blocks())[-1] == block


def test_a_refused_block_leaves_no_trace(path: Path) -> None:
    before = path.read_bytes()
    with Ledger.open(path) as ledger:
        state = ledger.state
        for data, reason in (
            (b"", Reason.MALFORMED),
            (b"\xff" * 5001, Reason.OVERSIZE),
            (next_block(ledger).encode()[:-1], Reason.MALFORMED),
        ):
            with pytest.raises(BlockRejected) as caught:
                ledger.append(data)
            assert caught.value.reason is reason
        assert ledger.state is state
    assert path.read_bytes() == before


@pytest.mark.parametrize("block", [None, "block", 7])
def test_what_is_no_block_is_not_appended(path: Path, block: object) -> None:
    with Ledger.open(path) as ledger, pytest.raises(BadType, match="the block is of type"):
        ledger.append(block)  # type: ignore[arg-type]


def test_files_that_are_not_ours_are_refused_untouched(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not there; start a chain with Ledger\.create"):
        Ledger.open(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    text = tmp_path / "text"
    text.write_text("not a database" * 100)
    with pytest.raises(DataError, match="not a database"):
        Ledger.open(text)
    other = tmp_path / "other"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE blocks (height, hash, data)")
    connection.close()
    with pytest.raises(DataError, match="no ledger of pqchain"):
        Ledger.open(other)
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(DataError, match="no ledger of pqchain"):
        Ledger.open(empty)


def test_an_existing_file_is_not_overwritten(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is there already"):
        Ledger.create(path, {})
    assert path.read_bytes() == before


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no folder {tmp_path / 'none'} for chain.pqc"):
        Ledger.create(tmp_path / "none" / "chain.pqc", {})
    assert list(tmp_path.iterdir()) == []


def damage(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "values", "said"),
    [
        ("UPDATE blocks SET data = ? WHERE height = 2", (b"\xff" * 50,), "block 2: .*malformed"),
        ("UPDATE blocks SET data = zeroblob(100000000) WHERE height = 1", (), "at most 5000"),
        ("UPDATE blocks SET data = 'text' WHERE height = 1", (), "of type text"),
        ("UPDATE blocks SET hash = zeroblob(32) WHERE height = 3", (), "not in its place"),
        ("DELETE FROM blocks WHERE height = 2", (), "block 3: .*wrong height"),
        ("DELETE FROM blocks WHERE height = 1", (), "block 2: .*wrong height"),
        ("UPDATE blocks SET height = 9 WHERE height = 3", (), "not in its place"),
        ("DELETE FROM genesis", (), "no usable genesis"),
        ("INSERT INTO genesis VALUES ('{}')", (), "no usable genesis"),
        ("UPDATE genesis SET description = ?", ("[" * 100_000,), "no usable genesis"),
        ("UPDATE genesis SET description = '[]'", (), "no usable genesis"),
        (
            'UPDATE genesis SET description = \'{"chain": "x", "limit_bytes": 1, "algorithms": '
            'null, "sealed": 1, "balances": {}}\'',
            (),
            "no usable genesis",
        ),
        ("CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END", (), "no ledger"),
        ("PRAGMA application_id = 1", (), "no ledger"),
    ],
)
def test_damage_is_named(path: Path, statement: str, values: tuple[object, ...], said: str) -> None:
    damage(path, statement, *values)
    before = path.read_bytes()
    with pytest.raises(DataError, match=said):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_flipped_bits_in_the_file_never_pass_for_another_chain(path: Path) -> None:
    whole = path.read_bytes()
    with Ledger.open(path) as ledger:
        honest = ledger.state
    rng = random.Random(4)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            with Ledger.open(path) as ledger:
                # Free space, counters and names that nobody reads; or a block lost at the end.
                assert ledger.state.height <= honest.height
                assert ledger.state.total == honest.total
                if ledger.state.height == honest.height:
                    assert ledger.state == honest
        except DataError:
            refused += 1
    assert refused > 30


def test_two_writers_do_not_mix(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        extended(one, 1)
        block = next_block(two)
        with pytest.raises(DataError, match="somebody else appends to it"):
            two.append(block)
        assert two.state.height == 3
        extended(one, 1)
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 5


def test_a_process_killed_at_any_time_loses_no_acknowledged_block(path: Path) -> None:
    acknowledged = 3
    rng = random.Random(6)
    for _ in range(5):
        writer = subprocess.Popen([*CRASH, "write", str(path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(rng.random() * 0.2)
        os.kill(writer.pid, signal.SIGKILL)
        rest, _ = writer.communicate()
        lines = (first + rest).split(b"\n")[:-1]  # what follows the last newline was cut
        acknowledged = max([acknowledged, *map(int, lines)])
        with Ledger.open(path) as ledger:
            assert acknowledged <= ledger.state.height <= acknowledged + 1
            assert ledger.state.account(BOB.address).balance == ledger.state.height
            acknowledged = ledger.state.height
    assert acknowledged > 8


@pytest.mark.parametrize("places", ["steps", "limits"])
def test_a_process_that_ends_at_any_step_of_an_append_loses_nothing(
    path: Path, places: str
) -> None:
    """Children end after 1, 2, 3, ... steps of SQLite's machine, or at each write of a file."""
    done = subprocess.run(
        [*CRASH, places, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended_early, not_there, there = map(int, done.stdout.split())
    assert ended_early > 10
    assert not_there > 10
    assert there >= 1


def test_a_full_disk_leaves_the_ledger_as_it_was(path: Path) -> None:
    with Ledger.open(path) as ledger:
        state = ledger.state
        ledger._connection.execute("PRAGMA max_page_count = 1")  # SQLite keeps to what is in use
        with pytest.raises(DataError, match="full"):
            extended(ledger, 20)
        stored = ledger.state.height
        assert stored >= state.height
    with Ledger.open(path) as ledger:
        assert ledger.state.height == stored
