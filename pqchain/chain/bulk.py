"""Blocks of many transactions that are alike, read, hashed and settled in C (native/block).

Alike are transactions with one signature each, all of one scheme, with the public key in them. Such
a block costs little more than its signatures. Whatever is otherwise, and whatever is wrong, is not
judged here: `state` then takes the block apart one transaction after the other, and says why.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqchain.chain.block import GROUP, GROUP_PREFIX, Header, read_front, root_of
from pqchain.chain.encoding import CREDENTIAL_BYTES, KeyForm, Reader, algorithm_of
from pqchain.chain.transaction import FIXED_BYTES, SIGNED, Credential, address_prefix
from pqchain.crypto import external_libraries, native
from pqchain.errors import Malformed
from pqchain.installation import folders

if TYPE_CHECKING:
    from pqchain.chain.state import Account

_ABI = 1
"""The number in native/block/block.h that this module was written for."""

_FUNCTIONS = {
    "pqb_abi": "q=",
    "pqb_hash": "q=ppqpppq",
    "pqb_read": "q=pqqp",
    "pqb_accounts": "q=ppppppqp",
    "pqb_settle": "q=ppppp",
}

_AT_ONCE = 8
"""So many strings are hashed in the time of one."""

_SIGNED = np.frombuffer(SIGNED, np.uint8)

Numbers = NDArray[np.uint64]


def _address(memory: NDArray[Any]) -> int:
    """Return where an array lies; whoever uses that keeps the array."""
    return int(memory.ctypes.data)


@cache
def library() -> Any | None:
    """Load the library once; None if it was not built."""
    paths = (folder / "_native/block/lib/libpqchain_block.so" for folder in folders())
    path = next(filter(Path.is_file, paths), None)
    if path is None:
        return None
    handle = external_libraries.library(path, functions=_FUNCTIONS)
    return handle if handle is not None and handle.pqb_abi() == _ABI else None


def hashes(prefix: bytes, data: bytes, starts: Numbers, ends: Numbers) -> bytes:
    """Return SHA3-256 of the prefix and each part of the data, one after the other."""
    handle, digests = library(), np.empty(32 * len(starts), np.uint8)
    assert handle is not None
    edges = map(_address, (starts, ends))
    handle.pqb_hash(_address(digests), prefix, len(prefix), data, *edges, len(starts))
    return digests.tobytes()


def read(data: bytes, chain: int) -> Bulk | None:
    """Return a block in columns, or None if its transactions are not alike, or not of that chain.

    What is returned is well-formed, as `Block.decode` would find it.
    """
    reader = Reader(data)
    try:
        header, seal, count = read_front(reader)
    except Malformed:
        return None
    at = reader.at
    kind = at + FIXED_BYTES + int.from_bytes(data[at + FIXED_BYTES - 2 : at + FIXED_BYTES], "big")
    named = int.from_bytes(data[kind + 1 : kind + 1 + CREDENTIAL_BYTES], "big")
    identifier, form = divmod(named, 256)
    algorithm, handle = algorithm_of(identifier), library()
    if not count or algorithm is None or form != KeyForm.INLINE or handle is None:
        return None
    own = (algorithm.public_key_bytes, algorithm.signature_max_bytes)
    starts, keys, message_offsets, signature_offsets = np.empty((4, count + 1), np.uint64)
    messages = np.empty(count * len(SIGNED) + len(data), np.uint8)
    signatures = np.empty(len(data), np.uint8)
    places = (_address(each) for each in (
        starts, keys, messages, message_offsets, signatures, signature_offsets
    ))  # fmt: skip
    columns = np.array(
        [count, chain, named, *own, _address(_SIGNED), len(SIGNED), *places], np.uint64
    )
    if handle.pqb_read(data, len(data), at, _address(columns)):
        return None
    filled = (messages, message_offsets, signatures, signature_offsets)
    return Bulk(data, header, seal, identifier, algorithm.public_key_bytes, starts, keys[:-1],
                *filled, columns)  # fmt: skip


@dataclass(slots=True, eq=False)
class Bulk:
    """A block of transactions that are alike, in columns."""

    data: bytes
    header: Header
    seal: Credential | None
    identifier: int
    """Of the algorithm that signs all of them."""
    key_bytes: int
    starts: Numbers
    """Where each transaction begins, and the end of the last."""
    keys: Numbers
    """Where each public key is."""
    messages: NDArray[np.uint8]
    message_offsets: Numbers
    signatures: NDArray[np.uint8]
    signature_offsets: Numbers
    _columns: Numbers
    """All of it as `pqb_columns`."""

    def root(self, threads: int) -> bytes:
        """Return the hash of the list of transactions; see `block.transactions_root`."""
        edges = np.append(self.starts[:-1:GROUP], self.starts[-1])
        parts = range(0, len(edges) - 1, _AT_ONCE)

        def part(first: int) -> bytes:
            some = edges[first : first + _AT_ONCE + 1]
            return hashes(GROUP_PREFIX, self.data, some[:-1], some[1:])

        count = len(self.keys)
        if threads > 1 and len(parts) > 1:
            with ThreadPoolExecutor(min(threads, len(parts))) as pool:
                return root_of(count, b"".join(pool.map(part, parts)))
        return root_of(count, b"".join(map(part, parts)))

    def settle(self, account: Callable[[bytes], Account]) -> list[tuple[bytes, int, int]] | None:
        """Carry out all payments; return the addresses concerned, their balances and their nonces.

        `account` gives what was known of an address before. None if a payment may not be, or if a
        key is not its sender's.
        """
        handle, data, count = library(), self.data, len(self.keys)
        assert handle is not None
        bits = (4 * count - 1).bit_length()
        parties, places, senders = np.empty((3, 2 * count), np.uint64)
        table = np.zeros(1 << bits, np.uint64)
        seeds = np.frombuffer(secrets.token_bytes(40), np.uint64)
        filled = map(_address, (parties, places, senders, table))
        columns = _address(self._columns)
        known = handle.pqb_accounts(data, columns, *filled, bits, _address(seeds))
        if known < 0:
            return None
        addresses = [data[place : place + 32] for place in places[:known].tolist()]
        keys = senders[:known]
        claimed = b"".join(compress(addresses, keys.tolist()))
        keys = keys[keys > 0]
        prefix = address_prefix(self.identifier, self.key_bytes)
        if hashes(prefix, data, keys, keys + np.uint64(self.key_bytes)) != claimed:
            return None
        before = list(map(account, addresses))
        balances = np.array([each.balance for each in before], np.uint64)
        nonces = np.array([each.nonce for each in before], np.uint64)
        changing = map(_address, (parties, balances, nonces))
        if handle.pqb_settle(data, columns, *changing):
            return None
        return list(zip(addresses, balances.tolist(), nonces.tolist(), strict=True))

    def packed(self) -> native.Packed:
        """Return all that is signed, as one call of C verifies it."""
        data, size = self.data, self.key_bytes
        keys = [data[at : at + size] for at in self.keys.tolist()]
        return native.Packed(
            self.messages,
            self.message_offsets,
            self.signatures,
            self.signature_offsets,
            keys[0] if keys.count(keys[0]) == len(keys) else b"".join(keys),
            size,
        )
