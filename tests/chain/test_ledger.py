"""Ledger files: only valid blocks are stored, and damaged or forged files are rejected."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pqchain.chain import Block, BlockRejected, Ledger, Reason, Rules, State
from pqchain.chain.state import LEAST_IN_BULK
from pqchain.errors import BadType, DataError, UsageError
from tests.chain.ledgers import (
    ALICE,
    BOB,
    PROPOSER,
    append_blocks,
    damage,
    next_block,
    next_block_of,
    rewrite_ledger,
)
from tests.chain.wallets import alice, bob, hybrid


def test_appended_blocks_are_read_after_reopening(path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 3
        assert ledger.state.account(BOB.address).balance == 3
        assert ledger.state.rules == Rules(limit_bytes=5000)
        append_blocks(ledger, 2)
        state = ledger.state
        assert [block.header.height for block in ledger.blocks()] == [1, 2, 3, 4, 5]
    with Ledger.open(path) as again:
        assert again.state == state
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_encoded_blocks_can_be_appended(path: Path) -> None:
    with Ledger.open(path) as ledger:
        block = next_block(ledger)
        ledger.append(bytearray(block.encode()))
        assert list(ledger.blocks())[-1] == block


def test_rejected_block_changes_nothing(path: Path) -> None:
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
def test_wrong_block_type_is_rejected(path: Path, block: object) -> None:
    with Ledger.open(path) as ledger, pytest.raises(BadType, match="the block must be bytes"):
        ledger.append(block)  # type: ignore[arg-type]


def test_foreign_files_are_rejected_unchanged(tmp_path: Path) -> None:
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


def test_existing_file_is_not_overwritten(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        Ledger.create(path, {})
    assert path.read_bytes() == before


def test_interrupted_creation_is_repeated(tmp_path: Path) -> None:
    """A process that ends while it creates a file leaves it empty, with or without a journal."""
    empty = tmp_path / "chain.pqc"
    empty.touch()
    Ledger.create(empty, {ALICE.address: 5}).close()
    with Ledger.open(empty) as ledger:
        assert ledger.state.account(ALICE.address).balance == 5
    assert list(tmp_path.iterdir()) == [empty]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"the folder {tmp_path / 'none'} does not exist"):
        Ledger.create(tmp_path / "none" / "chain.pqc", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("use", [lambda path: Ledger.create(path, {}), Ledger.open])
@pytest.mark.parametrize("name", ["a\0b", "a\0", "\0"])
def test_path_with_nul_is_refused(tmp_path: Path, name: str, use) -> None:
    """SQLite would end the path at the NUL and use the file "a"."""
    (tmp_path / "a").touch()
    for path in (f"{tmp_path}/{name}", tmp_path / name, tmp_path / name / "b"):
        with pytest.raises(UsageError, match="path must be a path without NUL"):
            use(path)
    assert (tmp_path / "a").read_bytes() == b""
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_verified_block_is_stored_without_another_verification(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for encoded in (False, True):
            block = next_block(ledger)
            after = ledger.state.apply(bytearray(block.encode()) if encoded else block)
            assert ledger.append(block, after=after) is after
            ledger.append(next_block(ledger).encode())
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 7


def test_state_after_another_block_is_refused(path: Path, tmp_path: Path) -> None:
    """The stored block would be invalid: no later opening would accept the file."""
    before = path.read_bytes()
    with (
        Ledger.open(path) as ledger,
        Ledger.create(tmp_path / "other", {ALICE.address: 9}) as other,
    ):
        block, state = next_block(ledger), ledger.state
        payment = ALICE.transfer(BOB.address, 2, nonce=3)
        sibling = state.propose([payment], proposer=PROPOSER, timestamp=9)
        foreign = next_block(other)
        changed = replace(block, seal=sibling.seal)  # the same header, another seal
        after = state.apply(block)
        child = next_block_of(after)
        for wrong, of in (
            (block, state),
            (block, State.genesis({})),
            (block, state.apply(sibling)),
            (foreign, other.state.apply(foreign)),
            (changed, after),
            (changed.encode(), after),
            (b"", after),
            (child, after.apply(child)),
        ):
            with pytest.raises(UsageError, match="after must be the result of"):
                ledger.append(wrong, after=of)
        assert ledger.state is state
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "values", "message"),
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
        ("INSERT INTO genesis VALUES ('{}')", (), "genesis is .*damaged"),
        ("UPDATE genesis SET description = description || ' '", (), "genesis is .*damaged"),
        (
            "UPDATE genesis SET description = CAST(description || ' ' AS BLOB)",
            (),
            "block 1 was changed",
        ),
        ("UPDATE genesis SET description = ?", (b"[" * 100_000,), "genesis is .*damaged"),
        ("UPDATE genesis SET description = ?", (b"[]",), "genesis is .*damaged"),
        ("UPDATE genesis SET description = ?", (b"\xff\xfe{",), "genesis is .*damaged"),
        (
            "UPDATE genesis SET description = ?",
            (b'{"chain": "x", "limit_bytes": 1, "algorithms": null, "sealed": 1, "balances": {}}',),
            "genesis is .*damaged",
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
def test_damage_is_rejected_with_the_reason(
    path: Path, statement: str, values: tuple[object, ...], message: str
) -> None:
    damage(path, statement, *values)
    before = path.read_bytes()
    with pytest.raises(DataError, match=message):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_rewritten_file_is_checked(path: Path) -> None:
    """An attacker can recompute the digests, but not valid blocks or the old head."""
    with Ledger.open(path) as ledger:
        kept = ledger.digest
        stored = [block.encode() for block in ledger.blocks()]
    for blocks, said in (
        ([stored[0], stored[1][:-1] + b"?", stored[2]], "block 2: block rejected, wrong root"),
        ([stored[0], stored[2]], "block 2: block rejected, wrong height"),
        ([stored[0], b"\xff" * 50, b""], "block 2: block rejected, malformed"),
    ):
        rewrite_ledger(path, blocks)
        with pytest.raises(DataError, match=said):
            Ledger.open(path)
    rewrite_ledger(path, stored[:2])
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 2
        assert ledger.digest != kept


def ledgers_by_key_mode() -> dict[str, tuple[list[Block], State]]:
    """Return blocks and final state of a ledger for every key mode."""
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
WEAKER_RULES = {
    "sealed": False,
    "limit_bytes": 2**40,
    "algorithms": ["Ed25519", "ECDSA-secp256k1", "Falcon-512"],
    "chain": 2,
}


@pytest.mark.parametrize(
    "form",
    [
        form
        if form in ("empty", "registered hybrid")
        else pytest.param(form, marks=pytest.mark.long)
        for form in ledgers_by_key_mode()
    ],
)
def test_rules_cannot_be_changed_afterwards(form: str, tmp_path: Path) -> None:
    """Every block refers to a hash of the rules, which recomputed digests do not change."""
    blocks, state = ledgers_by_key_mode()[form]
    stored = [block.encode() for block in blocks]
    forged = Block(
        replace(blocks[-1].header, height=4, previous=state.tip), blocks[0].transactions, None
    )
    path = tmp_path / "chain.pqc"
    with Ledger.create(path, FORM_BALANCES) as ledger:
        for block in blocks:
            ledger.append(block)
    rewrite_ledger(path, stored)  # unchanged: the rejections below are due to the rules
    Ledger.open(path).close()
    for rule, value in WEAKER_RULES.items():
        for kept in (stored, [*stored, forged.encode()]):
            rewrite_ledger(path, kept, **{rule: value})
            with pytest.raises(DataError, match="block 1: block rejected, wrong previous hash"):
                Ledger.open(path)
            rewrite_ledger(path, kept[:3], **asdict(Rules()))
    rewrite_ledger(path, [*stored, forged.encode()])
    with pytest.raises(DataError, match=r"block 4: .*the block has no seal"):
        Ledger.open(path)
