"""Blocks of header, seal and transactions: encoding, hashing, packing and construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha3_256
from struct import Struct
from typing import TypeVar

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
from pqchain.checks import integer
from pqchain.crypto.interface import as_bytes
from pqchain.errors import Malformed, UsageError

SEALED = b"pqchain seal 1\0"
"""Domain-separation prefix of the header in the message of a seal."""

_BLOCK = b"pqchain block 1\0"
_ROOT = b"pqchain root 1\0"

GROUP = 64
"""Transactions per hash: groups can be hashed by several threads, with few calls."""

GROUP_PREFIX = b"pqchain transactions 1\0"
"""Domain-separation prefix in the hash of a group of transactions."""

_FIXED = Struct(">BI32s32sI32s")

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a block; the hash of the block is that of its header."""

    height: int
    previous: bytes
    """Hash of the previous header."""
    root: bytes
    """Hash of the list of transactions; see `transactions_root`."""
    timestamp: int
    """Seconds since 1970."""
    proposer: bytes
    """Address of the proposer."""

    def __post_init__(self) -> None:
        hashes = ("previous", "root", "proposer")
        check_fields(self, hashes=hashes, height=32, timestamp=32)

    def encode(self) -> bytes:
        """Return the encoded header."""
        return _FIXED.pack(
            VERSION, self.height, self.previous, self.root, self.timestamp, self.proposer
        )

    def hash(self) -> bytes:
        """Return the SHA3-256 hash of the header, which the next header contains."""
        return sha3_256(_BLOCK + self.encode()).digest()

    @property
    def seal_message(self) -> bytes:
        """Message that the proposer signs."""
        return SEALED + self.encode()


@dataclass(frozen=True, slots=True)
class Block:
    """A header, an optional seal (the proposer's signature), and transactions."""

    header: Header
    transactions: tuple[Transaction, ...]
    seal: Credential | None = None

    def __post_init__(self) -> None:
        if self.seal is not None and self.seal.form is not KeyForm.INLINE:
            raise Malformed(f"the key form of a seal must be INLINE; got {self.seal.form.name}")

    def hash(self) -> bytes:
        """Return the hash of the header, which identifies the block."""
        return self.header.hash()

    @property
    def encoded_bytes(self) -> int:
        """Length of `encode()`, computed without encoding."""
        seal = 0 if self.seal is None else len(self.seal.encode())
        return header_bytes() + seal + sum(len(row.encoded) for row in self.transactions)

    def encode(self) -> bytes:
        """Return the encoded block."""
        seal = self.seal
        parts = [self.header.encode()]
        # An algorithm identifier of 0 means that there is no seal.
        parts += [bytes(2)] if seal is None else [seal.identifier.to_bytes(2, "big"), seal.encode()]
        parts.append(len(self.transactions).to_bytes(4, "big"))
        return b"".join(parts + [row.encoded for row in self.transactions])

    @classmethod
    def decode(cls, data: bytes) -> Block:
        """Return the block encoded in `data`.

        Memory use is proportional to the length of the data, even if the data claims more.
        Raises Malformed, and BadType for a value that is not bytes.
        """
        reader = Reader(as_bytes("block", data))
        header, seal, count = read_front(reader)
        transactions = tuple(Transaction.read(reader) for _ in range(count))
        reader.end("block")
        return cls(header, transactions, seal)


def header_of(data: bytes) -> Header:
    """Return the header of an encoded block without decoding transactions. Raises Malformed."""
    return read_front(Reader(as_bytes("block", data)))[0]


def read_front(reader: Reader) -> tuple[Header, Credential | None, int]:
    """Read header, seal and number of transactions. Raises Malformed, also if that is too large."""
    version, *fields = reader.unpack(_FIXED, "the header of a block")
    expect(version, (VERSION,), "the version of a block")
    identifier = reader.number(2, "the algorithm of the seal")
    seal = Credential.read(reader, identifier, KeyForm.INLINE) if identifier else None
    count = reader.number(4, "the number of transactions")
    # Callers allocate memory for `count` transactions, which four hostile bytes must not inflate.
    if count * MIN_TRANSACTION_BYTES > reader.remaining:
        raise Malformed(
            f"{count} transactions are claimed in {reader.remaining} bytes; each takes at least "
            f"{MIN_TRANSACTION_BYTES}"
        )
    return Header(*fields), seal, count


def transactions_root(transactions: Sequence[Transaction], *, threads: int = 1) -> bytes:
    """Return the hash of a list of transactions: a hash over the hashes of groups of `GROUP`.

    The hash covers the number of transactions, so that no list can pass for another.
    """
    # Not a binary tree: nothing here needs a proof of one transaction, and a tree takes a call of
    # the hash function per transaction.
    groups = [transactions[i : i + GROUP] for i in range(0, len(transactions), GROUP)]
    return root_of(len(transactions), _group_hash, groups, threads)


def root_of(
    count: int, hash_part: Callable[[_Part], bytes], parts: Sequence[_Part], threads: int
) -> bytes:
    """Return the hash of `count` transactions; `hash_part` returns the group hashes of a part."""
    if threads > 1 and len(parts) > 1:
        # Hashing long inputs releases the GIL.
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            hashes = list(pool.map(hash_part, parts))
    else:
        hashes = list(map(hash_part, parts))
    return sha3_256(b"".join((_ROOT, count.to_bytes(4, "big"), *hashes))).digest()


def _group_hash(group: Sequence[Transaction]) -> bytes:
    return sha3_256(b"".join((GROUP_PREFIX, *(row.encoded for row in group)))).digest()


def pack(
    transactions: Iterable[Transaction], limit_bytes: int, *, seal: str | Algorithm | None = None
) -> tuple[Transaction, ...]:
    """Return the longest prefix of the transactions that fits into a block of `limit_bytes`.

    `seal` is the algorithm of the proposer; space for its longest signature is reserved. At most
    one transaction more than is returned is read from the iterable. Raises UsageError if not even
    an empty block fits.
    """
    # A prefix, not a best fit: the nonces of a sender must stay in order.
    integer("limit_bytes", limit_bytes, least=0)
    remaining = limit_bytes - header_bytes()
    if seal is not None:
        row = algorithms.get(seal) if isinstance(seal, str) else seal
        remaining -= encoded_size(row, kind="seal", signature_bytes=row.signature_max_bytes)
    if remaining < 0:
        needed = limit_bytes - remaining
        raise UsageError(
            f"limit_bytes must be at least {needed}, for an empty block; got {limit_bytes}"
        )
    prefix: list[Transaction] = []
    for transaction in transactions:
        remaining -= len(transaction.encoded)
        if remaining < 0:
            break
        prefix.append(transaction)
    return tuple(prefix)
