"""The durable store of a delegate: crashes, damage and other chains."""

import random
from dataclasses import replace

import pytest

from pqchain.chain.state import State
from pqchain.delegates.stores import FileStore, Lock, SafetyRecord
from pqchain.errors import DataError
from tests.delegates.doubles import make_setting

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def setting():
    return make_setting()


def grown(setting, folder, blocks=3):
    """Return a store with some blocks, and the blocks with their quorums."""
    store = FileStore(folder, setting.pool.genesis)
    final = []
    for height in range(blocks):
        block = setting.propose(store.state, height, 0, 0).encode()
        final.append((block, b"\0\0quorum %d" % height))
        store.add_final(block, setting.after(store.state, block), final[-1][1])
    return store, final


def test_reopened_store_has_the_same_content(setting, tmp_path):
    store, final = grown(setting, tmp_path)
    lock = Lock(4, bytes(range(32)), b"a block", b"a proof")
    store.save(SafetyRecord(3, 5, 4, lock))
    tip = store.state.tip
    store.close()
    again = FileStore(tmp_path, setting.pool.genesis)
    assert again.state.tip == tip
    assert again.record == SafetyRecord(3, 5, 4, lock)
    assert [again.final(height) for height in range(4)] == [*final, None]
    again.save(SafetyRecord(3, 6, -1, None))
    again.close()
    assert FileStore(tmp_path, setting.pool.genesis).record == SafetyRecord(3, 6, -1, None)


def test_quorum_without_its_block_is_truncated(setting, tmp_path):
    store, final = grown(setting, tmp_path)
    store.close()
    path = tmp_path / "quorums"
    complete = path.read_bytes()
    for torn in (b"\0\0", b"\0\0\0\5ab", b"\0\0\0\2ab"):
        path.write_bytes(complete + torn)
        again = FileStore(tmp_path, setting.pool.genesis)
        assert again.final(2) == final[2]
        again.close()
        assert path.read_bytes() == complete


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        ("quorums", -1, "lacks the votes of block 2"),
        ("bound", 10, "is damaged"),
        ("bound", -1, "its checksum is wrong; give an empty folder"),
        ("ledger.sqlite", 100, "ledger.sqlite"),
    ],
)
def test_damaged_files_are_rejected(setting, tmp_path, name, size, why):
    store, _ = grown(setting, tmp_path)
    store.save(SafetyRecord(3, 5, 4, Lock(4, bytes(32), b"block", b"proof")))
    store.close()
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=why):
        FileStore(tmp_path, setting.pool.genesis)


@pytest.mark.parametrize("name", ["quorums", "bound", "ledger.sqlite"])
def test_flipped_bits_are_rejected_or_change_nothing(setting, tmp_path, name):
    """SQLite's file has bytes that mean nothing, such as those of an empty place in a page."""
    store, final = grown(setting, tmp_path)
    record = SafetyRecord(3, 5, 4, Lock(4, bytes(range(32)), b"a block", b"a proof"))
    store.save(record)
    tip = store.state.tip
    store.close()
    path, dice = tmp_path / name, random.Random(name)
    complete = path.read_bytes()
    rejected = 0
    for _ in range(60):
        data = bytearray(complete)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(data)
        try:
            again = FileStore(tmp_path, setting.pool.genesis)
        except DataError as error:
            assert str(error)
            rejected += 1
            continue
        assert again.state.tip == tip
        assert again.record == record
        assert [again.final(height) for height in range(4)] == [*final, None]
        again.close()
    assert rejected == 60 or (name == "ledger.sqlite" and rejected > 20)
    path.write_bytes(complete)
    FileStore(tmp_path, setting.pool.genesis).close()


@pytest.mark.parametrize("blocks", [0, 2])
def test_file_of_another_chain_is_rejected(setting, tmp_path, blocks):
    grown(setting, tmp_path, blocks)[0].close()
    genesis = setting.pool.genesis
    balances = {address: account.balance for address, account in genesis.accounts.items()}
    richer = {address: balance + 1 for address, balance in balances.items()}
    rules = replace(genesis.rules, limit_bytes=9999)
    for other in (State.genesis(balances, rules), State.genesis(richer, genesis.rules)):
        with pytest.raises(DataError, match="belongs to another chain; give an empty folder"):
            FileStore(tmp_path, other)
