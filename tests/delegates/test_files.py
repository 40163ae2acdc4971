"""A delegate's book survives what a machine does to it, and says what it cannot read."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pqchain.chain.state import State
from pqchain.delegates.book import Lock, Record
from pqchain.delegates.files import FileBook
from pqchain.errors import DataError
from tests.delegates.trials import make_setting

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def setting():
    return make_setting()


def grown(setting, folder, blocks=3):
    """Return a book with some blocks, and what it was given."""
    book = FileBook(folder, setting.pool.genesis)
    given = []
    for height in range(blocks):
        block = setting.propose(book.state, height, 0, 0, twin=False, bad=False).encode()
        given.append((block, b"\0\0quorum %d" % height))
        book.append(block, setting.after(book.state, block), given[-1][1])
    return book, given


def test_it_is_there_again(setting, tmp_path):
    book, given = grown(setting, tmp_path)
    lock = Lock(4, bytes(range(32)), b"a block", b"a proof")
    book.keep(Record(3, 5, 4, lock))
    tip = book.state.tip
    book.close()
    again = FileBook(tmp_path, setting.pool.genesis)
    assert again.state.tip == tip
    assert again.record == Record(3, 5, 4, lock)
    assert [again.final(height) for height in range(4)] == [*given, None]
    again.keep(Record(3, 6, -1, None))
    again.close()
    assert FileBook(tmp_path, setting.pool.genesis).record == Record(3, 6, -1, None)


def test_a_quorum_without_its_block_is_cut_off(setting, tmp_path):
    book, given = grown(setting, tmp_path)
    book.close()
    path = tmp_path / "quorums"
    whole = path.read_bytes()
    for torn in (b"\0\0", b"\0\0\0\5ab", b"\0\0\0\2ab"):
        path.write_bytes(whole + torn)
        again = FileBook(tmp_path, setting.pool.genesis)
        assert again.final(2) == given[2]
        again.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        ("quorums", -1, "lacks the votes of block 2"),
        ("bound", 10, "is damaged"),
        ("bound", -1, "its check does not fit; give an empty folder"),
        ("ledger.sqlite", 100, "ledger.sqlite"),
    ],
)
def test_what_is_damaged_is_refused(setting, tmp_path, name, size, why):
    book, _ = grown(setting, tmp_path)
    book.keep(Record(3, 5, 4, Lock(4, bytes(32), b"block", b"proof")))
    book.close()
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=why):
        FileBook(tmp_path, setting.pool.genesis)


@pytest.mark.parametrize("name", ["quorums", "bound", "ledger.sqlite"])
def test_any_flipped_bit_is_refused_or_changes_nothing(setting, tmp_path, name):
    """SQLite's file has bytes that mean nothing, such as those of an empty place in a page."""
    book, given = grown(setting, tmp_path)
    record = Record(3, 5, 4, Lock(4, bytes(range(32)), b"a block", b"a proof"))
    book.keep(record)
    tip = book.state.tip
    book.close()
    path, dice = tmp_path / name, random.Random(name)
    whole = path.read_bytes()
    refused = 0
    for _ in range(60):
        data = bytearray(whole)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(data)
        try:
            again = FileBook(tmp_path, setting.pool.genesis)
        except DataError as error:
            assert str(error)
            refused += 1
            continue
        assert again.state.tip == tip
        assert again.record == record
        assert [again.final(height) for height in range(4)] == [*given, None]
        again.close()
    assert refused == 60 or (name == "ledger.sqlite" and refused > 20)
    path.write_bytes(whole)
    FileBook(tmp_path, setting.pool.genesis).close()


@pytest.mark.parametrize("blocks", [0, 2])
def test_a_book_of_another_chain_is_refused(setting, tmp_path, blocks):
    grown(setting, tmp_path, blocks)[0].close()
    own = setting.pool.genesis
    balances = {address: each.balance for address, each in own.accounts.items()}
    richer = {address: balance + 1 for address, balance in balances.items()}
    rules = replace(own.rules, limit_bytes=9999)
    for other in (State.genesis(balances, rules), State.genesis(richer, own.rules)):
        with pytest.raises(DataError, match="is of another chain; give an empty folder"):
            FileBook(tmp_path, other)
