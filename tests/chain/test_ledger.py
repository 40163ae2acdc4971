"""Ledger files: stored blocks are read back, and only valid blocks are stored."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from pqchain.chain import BlockRejected, Ledger, Reason, Rules, State
from pqchain.errors import BadType, DataError, UsageError
from tests.chain.ledgers import ALICE, BOB, PROPOSER, append_blocks, next_block, next_block_of


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
