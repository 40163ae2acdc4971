"""Bulk verification of blocks gives exactly the results of single verification."""

import hashlib
import random
import struct
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain import Block, BlockRejected, State, Transaction, Verifier, bulk
from pqchain.chain import state as states
from pqchain.chain.block import transactions_root
from pqchain.errors import Malformed
from tests.chain.alterations import with_signature
from tests.chain.wallets import alice, fresh, proposer

pytestmark = pytest.mark.native

COUNT = 70
"""More than a group, and than `LEAST_IN_BULK`."""

LENGTHS = st.sampled_from([0, 1, 87, 88, 89, 111, 112, 113, 135, 136, 137, 271, 272, 273, 1000])


@given(prefix=LENGTHS, parts=st.lists(st.tuples(st.integers(0, 50), LENGTHS), max_size=20))
def test_bulk_hashes_equal_single_hashes(prefix, parts):
    data = random.Random(1).randbytes(1100)
    starts = np.array([start for start, _ in parts], np.uint64)
    ends = starts + np.array([length for _, length in parts], np.uint64)
    expected = [hashlib.sha3_256(data[:prefix] + data[a : a + n]).digest() for a, n in parts]
    assert bulk.hashes(data[:prefix], data, starts, ends) == b"".join(expected)


@cache
def chain(senders: int, algorithm: str = "Falcon-512") -> tuple[State, Block]:
    """A state and a valid block in which wallets pay each other and new addresses."""
    wallets = [fresh(algorithm, number) for number in range(senders)]
    state = State.genesis({wallet.address: 10**6 for wallet in wallets} | {bytes(32): 2**63})
    payments = []
    for number in range(COUNT):
        payer = wallets[number % senders]
        to = wallets[(number + 1) % senders].address if number % 3 else bytes([number] * 32)
        data = bytes(number % 5)
        payments.append(payer.transfer(to, 7 + number, nonce=number // senders, data=data))
    return state, state.propose(payments, proposer=proposer(), timestamp=5)


def fates(state, block, monkeypatch, **options):
    """Return the states after the block, or errors, of bulk and single verification."""
    results = []
    for least in (states.LEAST_IN_BULK, 10**9):
        monkeypatch.setattr(states, "LEAST_IN_BULK", least)
        try:
            results.append(state.apply(block, **options))
        except BlockRejected as error:
            results.append((error.reason, error.detail, error.indices))
    monkeypatch.undo()
    return results


def in_bulk(state, data):
    """Return whether C accepts the block up to its signatures."""
    read = bulk.read(data, state.rules.chain)
    return read is not None and read.settle(state.account) is not None


@pytest.mark.parametrize("senders", [1, 3, COUNT])
@pytest.mark.parametrize("threads", [1, 2])
def test_bulk_state_equals_the_python_state(senders, threads, monkeypatch):
    state, block = chain(senders)
    data = block.encode()
    assert in_bulk(state, data)
    read = bulk.read(data, state.rules.chain)
    assert read.root(threads) == transactions_root(block.transactions)
    assert (read.header, read.seal) == (block.header, block.seal)
    for given_ in (block, data):
        verifier = Verifier(threads=threads)
        after, expected = fates(state, given_, monkeypatch, verifier=verifier)
        assert after == expected
        assert after.total == state.total
        assert after.accounts[fresh("Falcon-512", 0).address].nonce == COUNT // senders + (
            COUNT % senders > 0
        )


def sealed(state, transactions):
    """Return the bytes of a block that a dishonest proposer seals."""
    return state.propose(transactions, proposer=proposer(), timestamp=5).encode()


def exchanged(transactions, index, **changes):
    """Change fields of a transaction and keep its signature."""
    old = transactions[index]
    new = Transaction(replace(old.payment, **changes), old.credentials)
    return (*transactions[:index], new, *transactions[index + 1 :])


def resigned(transactions, index, **changes):
    """Let the first wallet sign a transaction of another content."""
    old = transactions[index].payment
    more = {"nonce": old.nonce, "recipient": old.recipient, "amount": old.amount, **changes}
    to, amount = more.pop("recipient"), more.pop("amount")
    new = fresh("Falcon-512", 0).transfer(to, amount, **more)
    return (*transactions[:index], new, *transactions[index + 1 :])


def cases(transactions):
    first, last = transactions[0], transactions[-1]
    unknown_sender = fresh("Falcon-512", 99).transfer(bytes(32), 0, nonce=0)
    yield "bad nonce", resigned(transactions, 40, nonce=3)
    yield "twice", (*transactions, first)
    yield "overspend", resigned(transactions, 66, amount=10**6)
    yield "other chain", resigned(transactions, 33, chain=2)
    yield (
        "pays herself",
        (*transactions[:-1], *resigned((last,), 0, recipient=first.payment.sender)),
    )
    yield "pays for another", exchanged(transactions, 50, sender=bytes(32), nonce=0)
    yield "unknown and poor", (*transactions, unknown_sender)
    yield "wrong signatures", exchanged(exchanged(transactions, 60, amount=1), 20, amount=1)
    yield "other scheme", (*transactions, alice().transfer(bytes(32), 0, nonce=0))
    key = replace(last.credentials[0], public_key=unknown_sender.credentials[0].public_key)
    yield "other key", (*transactions[:-1], Transaction(last.payment, (key,)))
    short = replace(last.credentials[0], signature=b"\1")
    yield "short signature", (*transactions[:-1], Transaction(last.payment, (short,)))
    padded = with_signature(last, 0, last.credentials[0].signature.ljust(666, b"\0"))
    yield "padded signature", (*transactions[:-1], padded)
    yield "none", ()
    yield "few", transactions[:31]
    yield "just enough", transactions[:32]


FINE = {"none", "few", "just enough", "unknown and poor", "other scheme", "pays herself"}
NAMES = [name for name, _ in cases(chain(1)[1].transactions)] if bulk.library() else []


@pytest.mark.parametrize("name", NAMES)
def test_bulk_errors_equal_the_python_errors(name, monkeypatch):
    state, block = chain(1)
    data = sealed(state, dict(cases(block.transactions))[name])
    found, expected = fates(state, data, monkeypatch)
    assert found == expected
    assert isinstance(found, State) == (name in FINE)
    if name == "wrong signatures":
        assert in_bulk(state, data)
        assert found[2] == (20,)


def test_wrong_headers_give_equal_errors(monkeypatch):
    state, block = chain(1)
    changes = {"height": 9}, {"previous": bytes(32)}, {"root": bytes(32)}, {"timestamp": 6}
    hostile = [replace(block, header=replace(block.header, **change)) for change in changes]
    hostile = [(state, changed) for changed in (*hostile, replace(block, seal=None))]
    for before, changed in (*hostile, (state.apply(block), block)):
        found, expected = fates(before, changed, monkeypatch)
        assert found == expected
        assert not isinstance(found, State)


@pytest.mark.parametrize("repaired", [False, True])
def test_flipped_bits_give_equal_results(repaired, monkeypatch):
    state, block = chain(3)
    data, rng = block.encode(), random.Random(3)
    for _ in range(12):
        changed = bytearray(data)
        # Structure sits at the front of each transaction; the rest is key and signature.
        reach = rng.choice([len(data), 200, 2000])
        at = rng.randrange(reach)
        changed[at] ^= 1 << rng.randrange(8)
        hostile = bytes(changed)
        if repaired:
            try:
                hostile = sealed(state, Block.decode(hostile).transactions)
            except (Malformed, ValueError):  # not a block: tried without repair
                continue
        found, expected = fates(state, hostile, monkeypatch)
        assert found == expected


def test_bulk_decoder_checks_the_encoding():
    """Bytes that C accepts decode in Python to the same columns, after any damage or truncation."""
    state, block = chain(3)
    short = replace(block, transactions=block.transactions[:3])
    data, rng = short.encode(), random.Random(5)
    seen = 0
    for number in range(len(data)):
        hostile = bytearray(data if number % 4 else data[:number])
        for _ in range(rng.randrange(3)):
            if hostile:
                hostile[rng.randrange(min(len(hostile), 400))] ^= 1 << rng.randrange(8)
        result = bulk.read(bytes(hostile), state.rules.chain)
        if result is None:
            continue
        seen += 1
        transactions = Block.decode(bytes(hostile)).transactions
        messages, at = bytes(result.messages), result.message_offsets.tolist()
        assert [messages[a:b] for a, b in pairwise(at)] == [
            transaction.message for transaction in transactions
        ]
        signatures, at = bytes(result.signatures), result.signature_offsets.tolist()
        expected = [transaction.credentials[0].signature for transaction in transactions]
        assert [signatures[a:b] for a, b in pairwise(at)] == expected
    assert seen > 100


def test_lengths_beyond_the_end_are_rejected():
    state, block = chain(1)
    data = block.encode()
    start = data.index(block.transactions[0].encoded)  # this transaction carries no data
    for offset, width in ((85, 2), (91, 4), (91 + 4 + 897, 4)):
        for value in (2 ** (8 * width) - 1, 2 ** (8 * width - 1), 1):
            hostile = bytearray(data)
            hostile[start + offset : start + offset + width] = value.to_bytes(width, "big")
            assert bulk.read(bytes(hostile), state.rules.chain) is None


def test_colliding_accounts_are_kept_apart(monkeypatch):
    """With zero seeds the NH hash is known, and colliding addresses are easily made."""
    monkeypatch.setattr(bulk.secrets, "token_bytes", bytes)
    payer = fresh("Falcon-512", 0)
    state = State.genesis({payer.address: 10**6})
    to = [struct.pack("<QQQQ", 0, number, 0, number) for number in range(1, COUNT)]
    payments = [payer.transfer(each, 1, nonce=number) for number, each in enumerate(to)]
    found, expected = fates(state, sealed(state, payments), monkeypatch)
    assert found == expected
    assert sum(found.account(each).balance for each in to) == COUNT - 1


def test_without_a_library_every_signature_is_verified_in_python(monkeypatch):
    """Only native libraries verify batches; other implementations verify singly."""
    state = State.genesis({alice().address: COUNT})
    payments = [alice().transfer(bytes(32), 1, nonce=number) for number in range(COUNT)]
    data = sealed(state, payments)
    assert in_bulk(state, data)
    assert state.apply(data).account(bytes(32)).balance == COUNT
    monkeypatch.setattr(bulk, "library", lambda: None)
    assert bulk.read(data, 1) is None
    assert state.apply(data).account(bytes(32)).balance == COUNT
