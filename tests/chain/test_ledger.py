"""Ledgers in files: everything comes back, and nothing but valid blocks."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

from pqchain.chain import Block, BlockRejected, Ledger, Reason, Rules, State
from pqchain.chain.state import LEAST_IN_BULK
from pqchain.errors import BadType, DataError, UsageError
from tests.chain.wallets import alice, bob, hybrid, proposer

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
    with Ledger.open(path) as ledger, pytest.raises(BadType, match="the block must be bytes"):
        ledger.append(block)  # type: ignore[arg-type]


def test_files_that_are_not_ours_are_refused_untouched(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not exist; create it with Ledger\.create"):
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
    with pytest.raises(DataError, match="is not a ledger"):
        Ledger.open(other)
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(DataError, match=r"is empty; create a ledger in it with Ledger\.create"):
        Ledger.open(empty)
    with pytest.raises(DataError, match="File name too long; name another file"):
        Ledger.open(tmp_path / ("a" * 300))


def test_an_existing_file_is_not_overwritten(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        Ledger.create(path, {})
    assert path.read_bytes() == before


def test_a_start_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    """A process that ends while it makes a file leaves it empty, with or without a journal."""
    empty = tmp_path / "chain.pqc"
    empty.touch()
    Ledger.create(empty, {ALICE.address: 5}).close()
    with Ledger.open(empty) as ledger:
        assert ledger.state.account(ALICE.address).balance == 5
    assert list(tmp_path.iterdir()) == [empty]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"the folder {tmp_path / 'none'} does not exist"):
        Ledger.create(tmp_path / "none" / "chain.pqc", {})
    assert list(tmp_path.iterdir()) == []


def damage(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def digest_after(before: bytes, data: bytes) -> bytes:
    return sha256(b"pqchain ledger 3\0" + bytes([len(before)]) + before + data).digest()


@pytest.mark.parametrize(
    ("statement", "values", "said"),
    [
        ("UPDATE blocks SET data = ? WHERE height = 2", (b"\xff" * 50,), "block 2 was changed"),
        ("UPDATE blocks SET data = zeroblob(100000000) WHERE height = 1", (), "at most 5000"),
        ("UPDATE blocks SET data = 'text' WHERE height = 1", (), "of type text"),
        ("UPDATE blocks SET digest = zeroblob(32) WHERE height = 3", (), "block 3 was changed"),
        ("UPDATE blocks SET digest = 7 WHERE height = 1", (), "block 1 was changed"),
        ("DELETE FROM blocks WHERE height = 3", (), "blocks are missing or were added"),
        ("DELETE FROM blocks WHERE height = 1", (), "blocks are missing or were added"),
        ("UPDATE blocks SET height = 0 WHERE height = 2", (), "block 2 is missing"),
        ("UPDATE blocks SET height = 9 WHERE height = 3", (), "blocks are missing or were added"),
        ("INSERT INTO blocks VALUES (4, x'', x'')", (), "blocks are missing or were added"),
        ("UPDATE head SET height = 2", (), "blocks are missing or were added"),
        ("UPDATE head SET height = 'x'", (), "blocks are missing or were added"),
        ("UPDATE head SET tip = zeroblob(32)", (), "last block was changed"),
        ("UPDATE head SET digest = zeroblob(32)", (), "last block was changed"),
        ("INSERT INTO head SELECT * FROM head", (), "blocks are missing or were added"),
        ("DELETE FROM genesis", (), "genesis is missing"),
        ("INSERT INTO genesis VALUES ('{}')", (), "damaged"),
        ("UPDATE genesis SET description = description || ' '", (), "damaged"),
        (
            "UPDATE genesis SET description = CAST(description || ' ' AS BLOB)",
            (),
            "block 1 was changed",
        ),
        ("UPDATE genesis SET description = ?", (b"[" * 100_000,), "damaged"),
        ("UPDATE genesis SET description = ?", (b"[]",), "damaged"),
        ("UPDATE genesis SET description = ?", (b"\xff\xfe{",), "damaged"),
        (
            "UPDATE genesis SET description = ?",
            (b'{"chain": "x", "limit_bytes": 1, "algorithms": null, "sealed": 1, "balances": {}}',),
            "damaged",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END",
            (),
            "not a ledger",
        ),
        ("ALTER TABLE blocks RENAME COLUMN digest TO hash", (), "not a ledger"),
        ("PRAGMA application_id = 1", (), "not a ledger"),
        ("PRAGMA application_id = 0x70716331", (), "a ledger of format 1, which has no digests"),
        (
            "PRAGMA application_id = 0x70716332",
            (),
            "format 2, .*start a new one with Ledger.create",
        ),
    ],
)
def test_damage_is_named(path: Path, statement: str, values: tuple[object, ...], said: str) -> None:
    damage(path, statement, *values)
    before = path.read_bytes()
    with pytest.raises(DataError, match=said):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_file_that_somebody_wrote_anew_is_still_checked(path: Path) -> None:
    """Whoever can write the file can make its digests too, but no valid blocks, and no old head."""
    with Ledger.open(path) as ledger:
        kept = ledger.digest
        stored = [block.encode() for block in ledger.blocks()]
    with closing(sqlite3.connect(path)) as connection:
        (genesis,) = connection.execute("SELECT description FROM genesis").fetchone()

    def written_anew(blocks: list[bytes]) -> None:
        digest = digest_after(b"", genesis)
        damage(path, "DELETE FROM blocks")
        for height, data in enumerate(blocks, 1):
            digest = digest_after(digest, data)
            damage(path, "INSERT INTO blocks VALUES (?, ?, ?)", height, digest, data)
        tip = Block.decode(blocks[-1]).hash() if blocks[-1] else b""
        damage(path, "UPDATE head SET height = ?, tip = ?, digest = ?", len(blocks), tip, digest)

    for blocks, said in (
        ([stored[0], stored[1][:-1] + b"?", stored[2]], "block 2: block rejected, wrong root"),
        ([stored[0], stored[2]], "block 2: block rejected, wrong height"),
        ([stored[0], b"\xff" * 50, b""], "block 2: block rejected, malformed"),
    ):
        written_anew(blocks)
        with pytest.raises(DataError, match=said):
            Ledger.open(path)
    written_anew(stored[:2])
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 2
        assert ledger.digest != kept


def test_two_writers_do_not_mix(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        extended(one, 1)
        block = next_block(two)
        with pytest.raises(DataError, match="another process appended to it"):
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


def test_a_process_that_ends_while_it_makes_a_ledger_is_in_nobodys_way(tmp_path: Path) -> None:
    done = subprocess.run(
        [*CRASH, "starts", str(tmp_path / "chain.pqc")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_a_full_disk_leaves_the_ledger_as_it_was(path: Path) -> None:
    with Ledger.open(path) as ledger:
        state = ledger.state
        ledger._database._connection.execute(
            "PRAGMA max_page_count = 1"
        )  # SQLite keeps to what is in use
        with pytest.raises(DataError, match="full"):
            extended(ledger, 20)
        stored = ledger.state.height
        assert stored >= state.height
    with Ledger.open(path) as ledger:
        assert ledger.state.height == stored


def _created(path, barrier, answer):
    """Be one of several processes that create a ledger at the same moment."""
    os.read(barrier, 1)  # ends when the parent has closed it
    try:
        Ledger.create(path, {ALICE.address: 1000}).close()
        said = b"created"
    except UsageError:
        said = b"is there"
    except BaseException as error:  # noqa: BLE001 - no other end is expected of anybody
        said = repr(error).encode()
    os.write(answer, said.ljust(200))
    os._exit(0)


def test_of_several_that_create_a_ledger_at_once_one_does_and_the_others_hear_why(tmp_path):
    for number in range(10):
        path = tmp_path / f"{number}.pqc"
        (barrier, opened), (answers, answer) = os.pipe(), os.pipe()
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                os.close(opened)
                _created(path, barrier, answer)
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
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(f"{number}.")] == [
            path.name
        ]


def forms() -> dict[str, tuple[list[Block], State]]:
    """Return ledgers of every form of key: their blocks, and the state after them."""
    both = hybrid(key_mode="registered")
    sent = {
        "empty": [],
        "inline": [ALICE.transfer(BOB.address, 1, nonce=0)],
        "registered": [
            alice(key_mode="registered").transfer(BOB.address, 1, nonce=n) for n in range(2)
        ],
        "recovered": [bob(key_mode="recovered").transfer(ALICE.address, 1, nonce=0)],
        "hybrid": [hybrid().transfer(BOB.address, 1, nonce=0)],
        "registered hybrid": [both.transfer(BOB.address, 1, nonce=n) for n in range(2)],
        "many alike": [ALICE.transfer(BOB.address, 1, nonce=n) for n in range(LEAST_IN_BULK)],
    }
    made = {}
    for name, transactions in sent.items():
        state, blocks = State.genesis(FORM_BALANCES), []
        for height in range(3):
            chosen = transactions if height == 1 else []
            blocks.append(state.propose(chosen, proposer=PROPOSER, timestamp=height))
            state = state.apply(blocks[-1])
        made[name] = blocks, state
    return made


FORM_BALANCES = {wallet.address: 1000 for wallet in (ALICE, BOB, hybrid())}
WEAKER = {
    "sealed": False,
    "limit_bytes": 2**40,
    "algorithms": ["Ed25519", "ECDSA-secp256k1", "Falcon-512"],
    "chain": 2,
}


def rewritten(path: Path, blocks: list[bytes], **rules: object) -> None:
    """Change the rules in a file, and store these blocks, with all digests made anew."""
    with closing(sqlite3.connect(path)) as connection:
        (description,) = connection.execute("SELECT description FROM genesis").fetchone()
    genesis = json.dumps(json.loads(description) | rules).encode()
    digest = digest_after(b"", genesis)
    damage(path, "UPDATE genesis SET description = ?", genesis)
    damage(path, "DELETE FROM blocks")
    for height, data in enumerate(blocks, 1):
        digest = digest_after(digest, data)
        damage(path, "INSERT INTO blocks VALUES (?, ?, ?)", height, digest, data)
    tip = Block.decode(blocks[-1]).hash()
    damage(path, "UPDATE head SET height = ?, tip = ?, digest = ?", len(blocks), tip, digest)


@pytest.mark.parametrize("form", forms())
def test_rules_cannot_be_changed_afterwards(form: str, tmp_path: Path) -> None:
    """Every block refers to a hash of the rules, which digests made anew do not change."""
    blocks, state = forms()[form]
    stored = [block.encode() for block in blocks]
    forged = Block(
        replace(blocks[-1].header, height=4, previous=state.tip), blocks[0].transactions, None
    )
    path = tmp_path / "chain.pqc"
    with Ledger.create(path, FORM_BALANCES) as ledger:
        for block in blocks:
            ledger.append(block)
    rewritten(path, stored)  # as it was: what is refused below is refused for the rules
    Ledger.open(path).close()
    for rule, value in WEAKER.items():
        for kept in (stored, [*stored, forged.encode()]):
            rewritten(path, kept, **{rule: value})
            with pytest.raises(DataError, match="block 1: block rejected, wrong previous hash"):
                Ledger.open(path)
            rewritten(path, kept[:3], **asdict(Rules()))
    rewritten(path, [*stored, forged.encode()])
    with pytest.raises(DataError, match=r"block 4: .*the block has no seal"):
        Ledger.open(path)


@pytest.mark.parametrize("value", [None, [], 0, "", "no"])
def test_whether_blocks_are_sealed_is_a_truth_value(path: Path, value: object) -> None:
    with Ledger.open(path) as ledger:
        stored = [block.encode() for block in ledger.blocks()]
    rewritten(path, stored, sealed=value)
    with pytest.raises(DataError, match=r"\(sealed must be True or False.* got .*"):
        Ledger.open(path)
