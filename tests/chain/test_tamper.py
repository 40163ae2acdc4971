"""Flip any single bit: the block is rejected with the reason of the field.

First as an eavesdropper, who cannot repair the header. Then as a dishonest proposer,
who flips a bit of a transaction, recomputes the root and seals the block again.
"""

import random
from collections.abc import Iterator
from functools import cache

import pytest

from pqchain.chain import Block, BlockRejected, Reason, State, Transaction
from pqchain.chain.encoding import HEADER_BYTES, KeyForm
from pqchain.errors import Malformed
from tests.chain.wallets import alice, bob, fresh, hybrid, proposer

pytestmark = pytest.mark.native

MALFORMED, SIGNATURE = Reason.MALFORMED, Reason.BAD_SIGNATURE

SPANS = (
    ("version", 1, {MALFORMED}),
    ("height", 4, {Reason.WRONG_HEIGHT}),
    ("previous", 32, {Reason.WRONG_PREVIOUS_HASH}),
    ("root", 32, {Reason.WRONG_ROOT}),
    # Earlier than the last block, or later than the sealed time.
    ("timestamp", 4, {Reason.BAD_TIMESTAMP, SIGNATURE}),
    ("proposer", 32, {SIGNATURE}),
    # Without a seal the transaction count is read 104 bytes earlier: another structure.
    ("seal algorithm", 2, {Reason.UNKNOWN_ALGORITHM}),
    ("seal key length", 4, {MALFORMED}),
    ("seal key", 32, {SIGNATURE}),
    ("seal signature length", 4, {MALFORMED}),
    ("seal signature", 64, {SIGNATURE}),
    ("transaction count", 4, {MALFORMED}),
)


@cache
def chain() -> tuple[State, Block]:
    """A state with history, and a valid next block with every key mode."""
    wallets = fresh("Falcon-512"), alice(key_mode="registered"), bob(key_mode="recovered"), hybrid()
    falcon, registered, recovered, both = wallets
    state = State.genesis({wallet.address: 10**6 for wallet in wallets})
    first = registered.transfer(falcon.address, 1, nonce=0)
    state = state.apply(state.propose([first], proposer=proposer(), timestamp=1000))
    transactions = [
        falcon.transfer(registered.address, 5, nonce=0, data=b"memo"),
        registered.transfer(recovered.address, 6, nonce=1),
        recovered.transfer(both.address, 7, nonce=0),
        both.transfer(falcon.address, 8, nonce=0),
    ]
    return state, state.propose(transactions, proposer=proposer(), timestamp=1001)


def fields(transaction: Transaction) -> Iterator[tuple[str, int, set[Reason]]]:
    """Yield name, length and permitted rejection reasons of each field in byte order.

    A flip of a length, a count, an identifier or a key mode breaks the structure or leaves
    another structure with its own reason.
    """
    data = len(transaction.payment.data)
    yield "version", 1, {MALFORMED}
    yield "chain", 4, {Reason.WRONG_CHAIN}
    registered = any(c.form is KeyForm.REGISTERED for c in transaction.credentials)
    no_sender = Reason.UNKNOWN_KEY if registered else None
    # An unknown address has nonce 0 and no balance.
    empty = Reason.OVERSPEND if transaction.payment.nonce == 0 else Reason.BAD_NONCE
    yield "sender", 32, {no_sender or empty}
    yield "recipient", 32, {SIGNATURE}
    yield "amount", 8, {Reason.OVERSPEND, SIGNATURE}
    yield "nonce", 8, {Reason.BAD_NONCE}
    yield "data length", 2, {MALFORMED, Reason.UNKNOWN_ALGORITHM}
    yield "data", data, {SIGNATURE}
    yield "count", 1, {MALFORMED, Reason.UNKNOWN_ALGORITHM}
    for _ in transaction.credentials:
        yield "algorithm", 2, {Reason.UNKNOWN_ALGORITHM}
        yield "form", 1, {MALFORMED, SIGNATURE}
    for credential in transaction.credentials:
        yield "key length", 4, {MALFORMED}
        yield "key", len(credential.public_key), {SIGNATURE}
        yield "signature length", 4, {MALFORMED}
        yield "signature", len(credential.signature) - 1, {SIGNATURE}
        # A last byte of zero would be padding.
        row = credential.algorithm
        varies = row is not None and row.signature_varies
        yield "end of signature", 1, {SIGNATURE, MALFORMED} if varies else {SIGNATURE}


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def reason_of(state: State, block: Block | bytes) -> Reason:
    with pytest.raises(BlockRejected) as caught:
        state.apply(block)
    return caught.value.reason


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_every_flipped_block_bit_is_rejected(every: int) -> None:
    """Every bit of header and seal, and each so many bits of the transactions, or all."""
    state, block = chain()
    data = block.encode()
    assert state.apply(data).height == 2
    body = len(data) - sum(length for _, length, _ in SPANS)
    spans = (*SPANS, ("transactions", body, {MALFORMED, Reason.WRONG_ROOT}))
    assert sum(length for _, length, _ in spans[:6]) == HEADER_BYTES
    found: dict[str, set[Reason]] = {}
    bit = 0
    for name, length, reasons in spans:
        bits = range(bit, bit + 8 * length)
        bit += 8 * length
        for chosen in bits[:: every if name == "transactions" else 1]:
            reason = reason_of(state, flipped(data, chosen))
            assert reason in reasons, (name, chosen, reason)
            found.setdefault(name, set()).add(reason)
    assert bit == 8 * len(data) > 10_000
    assert found["timestamp"] == {Reason.BAD_TIMESTAMP, SIGNATURE}
    assert found["transactions"] == {MALFORMED, Reason.WRONG_ROOT}


def reason_after(state: State, block: Block, position: int, damaged: bytes) -> Reason:
    """Return the rejection reason of the resealed block with the damaged transaction."""
    transactions = list(block.transactions)
    try:
        transactions[position] = Transaction.decode(damaged)
    except Malformed:
        return MALFORMED
    return reason_of(state, state.propose(transactions, proposer=proposer(), timestamp=1001))


@pytest.mark.parametrize("sample", [32, pytest.param(128, marks=pytest.mark.long)])
def test_dishonest_proposer_cannot_change_a_transaction(sample: int) -> None:
    state, block = chain()
    rng = random.Random(3)
    mutations = 0
    found: dict[str, set[Reason]] = {}
    for position, transaction in enumerate(block.transactions):
        data = transaction.encoded
        bit = 0
        for name, length, reasons in fields(transaction):
            bits = range(bit, bit + 8 * length)
            bit += 8 * length
            # Every bit of the structure; of keys and signatures a sample.
            is_long = name in ("key", "signature") and len(bits) > 2 * sample
            for chosen in rng.sample(bits, sample) if is_long else bits:
                reason = reason_after(state, block, position, flipped(data, chosen))
                assert reason in reasons, (position, name, chosen - bits.start, reason)
                found.setdefault(name, set()).add(reason)
                mutations += 1
        assert bit == 8 * len(data)
    assert mutations > (3_500 if sample == 128 else 2_000)
    assert found["amount"] == {Reason.OVERSPEND, SIGNATURE}
    assert found["sender"] == {Reason.OVERSPEND, Reason.UNKNOWN_KEY}
