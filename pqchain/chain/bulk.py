"""Bulk decoding, hashing and settlement of uniform blocks in C (native/block).

A uniform block has transactions with one signature each, all of one scheme, with inline public
keys. Processing one costs little more than verifying its signatures. Other blocks, and invalid
ones, are left to `state`, which checks one transaction after the other and finds the reason.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqchain.chain.block import GROUP, GROUP_PREFIX, Header, read_front, root_of
from pqchain.chain.encoding import CREDENTIAL_BYTES, KeyForm, Reader, algorithm_of
from pqchain.chain.transaction import (
    FIXED_BYTES,
    FORMS,
    SIGNED,
    Credential,
    address_prefix,
    canonical_form,
)
from pqchain.crypto import external_libraries
from pqchain.crypto.abi import Packed
from pqchain.errors import Malformed

_ABI = 1
"""Expected version of the interface in native/block/block.h."""

_FUNCTIONS = {
    "pqb_abi": "q=",
    "pqb_hash": "q=ppqpppq",
    "pqb_read": "q=pqqp",
    "pqb_accounts": "q=ppppppqp",
    "pqb_settle": "q=ppppp",
}

_AT_ONCE = 8
"""Number of strings that the library hashes in parallel."""

_SIGNED = np.frombuffer(SIGNED, np.uint8)

Numbers = NDArray[np.uint64]


def _address(memory: NDArray[Any]) -> int:
    """Return the address of an array's memory; the caller must keep the array alive."""
    return int(memory.ctypes.data)


@cache
def library() -> Any | None:
    """Return the loaded library; None if it is not installed. Raises NativeLibraryBroken."""
    return external_libraries.bundled("block", functions=_FUNCTIONS, abi=_ABI)


def hashes(prefix: bytes, data: bytes, starts: Numbers, ends: Numbers) -> bytes:
    """Return the joined SHA3-256 digests of `prefix + data[starts[i]:ends[i]]`."""
    handle, digests = library(), np.empty(32 * len(starts), np.uint8)
    assert handle is not None
    edges = map(_address, (starts, ends))
    handle.pqb_hash(_address(digests), prefix, len(prefix), data, *edges, len(starts))
    return digests.tobytes()


def read(data: bytes, chain: int) -> Bulk | None:
    """Decode a uniform block of that chain into columns; return None for any other block.

    `Block.decode` accepts every block for which this function returns columns.
    """
    reader = Reader(data)
    try:
        header, seal, count = read_front(reader)
    except Malformed:
        return None
    # The first transaction determines algorithm and key form; C compares all others with it.
    start, body = reader.position, reader.position + FIXED_BYTES
    kind = body + int.from_bytes(data[body - 2 : body], "big") + 1
    credential = int.from_bytes(data[kind : kind + CREDENTIAL_BYTES], "big")
    identifier, form = divmod(credential, 256)
    algorithm, handle = algorithm_of(identifier), library()
    if not count or algorithm is None or form != KeyForm.INLINE or handle is None:
        return None
    lengths = (algorithm.public_key_bytes, algorithm.signature_max_bytes)
    starts, keys, message_offsets, signature_offsets = np.empty((4, count + 1), np.uint64)
    # Upper bounds: each message is a part of the data after the domain-separation prefix.
    messages = np.empty(count * len(SIGNED) + len(data), np.uint8)
    signatures = np.empty(len(data), np.uint8)
    arrays = (messages, message_offsets, signatures, signature_offsets)
    addresses = [_address(column) for column in (starts, keys, *arrays)]
    columns = np.array(
        [count, chain, credential, *lengths, _address(_SIGNED), len(SIGNED), *addresses], np.uint64
    )
    if handle.pqb_read(data, len(data), start, _address(columns)):
        return None
    if algorithm.name in FORMS:
        edges = pairwise(signature_offsets.tolist())
        parts = (signatures[start:end].tobytes() for start, end in edges)
        if any(canonical_form(algorithm.name, part) != part for part in parts):
            return None
    return Bulk(data, header, seal, identifier, lengths[0], starts, keys[:-1], *arrays, columns)


@dataclass(slots=True, eq=False)
class Bulk:
    """A uniform block in columns."""

    data: bytes
    header: Header
    seal: Credential | None
    identifier: int
    key_bytes: int
    starts: Numbers
    """Offset of each transaction in `data`, and the end of the last; count + 1 entries."""
    keys: Numbers
    """Offset of each public key in `data`."""
    messages: NDArray[np.uint8]
    message_offsets: Numbers
    signatures: NDArray[np.uint8]
    signature_offsets: Numbers
    _columns: Numbers
    """The structure `pqb_columns` of block.h: counts, and addresses of the arrays above."""

    def root(self, threads: int) -> bytes:
        """Return the transactions root; see `block.transactions_root`."""
        edges = np.append(self.starts[:-1:GROUP], self.starts[-1])
        parts = range(0, len(edges) - 1, _AT_ONCE)

        def part(first: int) -> bytes:
            part_edges = edges[first : first + _AT_ONCE + 1]
            return hashes(GROUP_PREFIX, self.data, part_edges[:-1], part_edges[1:])

        return root_of(len(self.keys), part, parts, threads)

    def settle(
        self, account: Callable[[bytes], tuple[Any, ...]]
    ) -> list[tuple[bytes, int, int]] | None:
        """Apply all payments; return (address, balance, nonce) of each account that takes part.

        `account` returns (balance, nonce, ...) of an address before the block. Returns None if a
        payment is invalid, or if a public key does not match the address of its sender.
        """
        handle, data, count = library(), self.data, len(self.keys)
        assert handle is not None
        # A hash table of the up to 2 * count addresses, at most half full. Its seeds are random, so
        # that an attacker cannot choose addresses that collide.
        bits = (4 * count - 1).bit_length()
        parties, offsets, senders = np.empty((3, 2 * count), np.uint64)
        table = np.zeros(1 << bits, np.uint64)
        seeds = np.frombuffer(secrets.token_bytes(40), np.uint64)
        outputs = map(_address, (parties, offsets, senders, table))
        columns = _address(self._columns)
        number = handle.pqb_accounts(data, columns, *outputs, bits, _address(seeds))
        if number < 0:
            return None
        addresses = [data[offset : offset + 32] for offset in offsets[:number].tolist()]
        keys = senders[:number]
        # Each sender's address is compared once, however many payments it has in the block.
        claimed = b"".join(compress(addresses, keys.tolist()))
        keys = keys[keys > 0]
        prefix = address_prefix(self.identifier, self.key_bytes)
        if hashes(prefix, data, keys, keys + np.uint64(self.key_bytes)) != claimed:
            return None
        before = np.array([account(address)[:2] for address in addresses], np.uint64)
        balances, nonces = np.ascontiguousarray(before.T)
        if handle.pqb_settle(data, columns, *map(_address, (parties, balances, nonces))):
            return None
        return list(zip(addresses, balances.tolist(), nonces.tolist(), strict=True))

    def packed(self) -> Packed:
        """Return the signatures as a packed batch for one call of C."""
        data, size = self.data, self.key_bytes
        keys = [data[offset : offset + size] for offset in self.keys.tolist()]
        return Packed(
            self.messages,
            self.message_offsets,
            self.signatures,
            self.signature_offsets,
            # A key that all signatures share is passed once.
            keys[0] if keys.count(keys[0]) == len(keys) else b"".join(keys),
            size,
        )
