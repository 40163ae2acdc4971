"""Ledger files: stored blocks are read back, and only valid blocks are stored."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pqchain.chain import BlockRejected, Ledger, Reason, Rules
from pqchain.errors import BadType, DataError, UsageError
from tests.chain.ledgers import ALICE, BOB, append_blocks, next_block


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
