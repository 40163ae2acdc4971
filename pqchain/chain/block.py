"""Blocks: header, seal, transactions; how they are hashed, packed, made and read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha3_256
from struct import Struct

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.chain.encoding import (
    MIN_TRANSACTION_BYTES,
    VERSION,
    KeyForm,
    Reader,
    check_fields,
    encoded_size,
    expect,
    header_bytes,
)
from pqchain.chain.transaction import Credential, Transaction
from pqchain.chain.wallet import Wallet
from pqchain.checks import whole
from pqchain.crypto.interface import as_bytes
from pqchain.errors import Malformed, UsageError

SEALED = b"pqchain seal 1\0"
"""Stands before the header in what a seal signs."""

_BLOCK = b"pqchain block 1\0"
_ROOT = b"pqchain root 1\0"

GROUP = 64
"""Transactions hashed at once: several cores can share the work, and few calls are made."""

GROUP_PREFIX = b"pqchain transactions 1\0"
"""Stands before the transactions of a group in what is hashed."""

_FIXED = Struct(">BI32s32sI32s")


@dataclass(frozen=True, slots=True)
class Header:
    """What a block's hash is made over."""

    height: int
    previous: bytes
    root: bytes
    timestamp: int
    """Seconds since 1970."""
    proposer: bytes

    def __post_init__(self) -> None:
        hashes = ("previous", "root", "proposer")
        check_fields(self, hashes=hashes, height=32, timestamp=32)

    def encode(self) -> bytes:
        """Return its bytes."""
        return _FIXED.pack(
            VERSION, self.height, self.previous, self.root, self.timestamp, self.proposer
        )

    def hash(self) -> bytes:
        """Return the SHA3-256 by which the next block names this one."""
        return sha3_256(_BLOCK + self.encode()).digest()

    @property
    def seal_message(self) -> bytes:
        """What the proposer signs."""
        return SEALED + self.encode()


@dataclass(frozen=True, slots=True)
class Block:
    """A header, the proposer's signature if there is one, and transactions."""

    header: Header
    transactions: tuple[Transaction, ...]
    seal: Credential | None = None

    def __post_init__(self) -> None:
        if self.seal is not None and self.seal.form is not KeyForm.INLINE:
            raise Malformed(f"a seal of the form {self.seal.form.name}; expected INLINE")

    def hash(self) -> bytes:
        """Return the hash of the header, which stands for the block."""
        return self.header.hash()

    @property
    def encoded_bytes(self) -> int:
        """The length of `encode()`."""
        seal = 0 if self.seal is None else len(self.seal.encode())
        return header_bytes() + seal + sum(len(each.encoded) for each in self.transactions)

    def encode(self) -> bytes:
        """Return its bytes."""
        seal = self.seal
        parts = [self.header.encode()]
        parts += [bytes(2)] if seal is None else [seal.identifier.to_bytes(2, "big"), seal.encode()]
        parts.append(len(self.transactions).to_bytes(4, "big"))
        return b"".join(parts + [each.encoded for each in self.transactions])

    @classmethod
    def decode(cls, data: bytes) -> Block:
        """Return the block that `encode` wrote.

        Needs memory in proportion to the data, whatever the data claims. Raises Malformed, and
        BadType for no bytes.
        """
        reader = Reader(as_bytes("block", data))
        header, seal, count = read_front(reader)
        transactions = tuple(Transaction.read(reader) for _ in range(count))
        reader.end("block")
        return cls(header, transactions, seal)


def header_of(data: bytes) -> Header:
    """Return the header of an encoded block, whatever its transactions; raises Malformed."""
    return read_front(Reader(as_bytes("block", data)))[0]


def read_front(reader: Reader) -> tuple[Header, Credential | None, int]:
    """Read what stands before the transactions: header, seal, and how many there are.

    Raises Malformed, also where there are more than the bytes can hold.
    """
    version, *fields = reader.unpack(_FIXED, "the header of a block")
    expect(version, (VERSION,), "the version of a block")
    identifier = reader.number(2, "the algorithm of the seal")
    seal = Credential.read(reader, identifier, KeyForm.INLINE) if identifier else None
    count = reader.number(4, "the number of transactions")
    if count * MIN_TRANSACTION_BYTES > reader.left:
        claim = f"{count} transactions are claimed in {reader.left} bytes"
        raise Malformed(f"{claim}; one takes at least {MIN_TRANSACTION_BYTES}")
    return Header(*fields), seal, count


def transactions_root(transactions: Sequence[Transaction], *, threads: int = 1) -> bytes:
    """Return the hash of a list of transactions: of the hashes of each `GROUP` of them.

    The number of transactions is part of it, so that no list can pass for another.
    """
    groups = [transactions[i : i + GROUP] for i in range(0, len(transactions), GROUP)]
    if threads > 1 and len(groups) > 1:
        with ThreadPoolExecutor(min(threads, len(groups))) as pool:
            hashes = list(pool.map(_group_hash, groups))
    else:
        hashes = list(map(_group_hash, groups))
    return root_of(len(transactions), b"".join(hashes))


def root_of(count: int, group_hashes: bytes) -> bytes:
    """Return the hash of a list of transactions, given those of its groups one after the other."""
    return sha3_256(b"".join((_ROOT, count.to_bytes(4, "big"), group_hashes))).digest()


def _group_hash(group: Sequence[Transaction]) -> bytes:
    return sha3_256(b"".join((GROUP_PREFIX, *(each.encoded for each in group)))).digest()


def pack(
    transactions: Iterable[Transaction], limit_bytes: int, *, seal: str | Algorithm | None = None
) -> tuple[Transaction, ...]:
    """Return the first transactions, in order, that fit into a block of `limit_bytes`.

    Taking one more would pass the limit; the order is kept, because nonces demand it. `seal` is
    the algorithm of the proposer: room is kept for its longest signature. Reads one transaction
    more than it returns. Raises UsageError if not even an empty block fits.
    """
    whole("limit_bytes", limit_bytes, least=0)
    room = limit_bytes - header_bytes()
    if seal is not None:
        row = algorithms.get(seal) if isinstance(seal, str) else seal
        room -= encoded_size(row, kind="seal", signature_bytes=row.signature_max_bytes)
    if room < 0:
        needed = limit_bytes - room
        raise UsageError(f"limit_bytes={limit_bytes} is less than an empty block needs: {needed}")
    taken: list[Transaction] = []
    for transaction in transactions:
        room -= len(transaction.encoded)
        if room < 0:
            break
        taken.append(transaction)
    return tuple(taken)


def make_block(
    transactions: Iterable[Transaction],
    *,
    height: int,
    previous: bytes,
    timestamp: int,
    proposer: Wallet | bytes,
    threads: int = 1,
) -> Block:
    """Return a block of these transactions.

    A proposer given as a wallet seals it; one given as an address does not.
    """
    listed = tuple(transactions)
    address = proposer.address if isinstance(proposer, Wallet) else proposer
    root = transactions_root(listed, threads=threads)
    header = Header(height, previous, root, timestamp, address)
    seal = proposer.seal(header.seal_message) if isinstance(proposer, Wallet) else None
    return Block(header, listed, seal)
