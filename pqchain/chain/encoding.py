"""Encoding of transactions and blocks, and calculation of their encoded sizes.

Importing this module loads no cryptography. All integers are unsigned and big-endian; every field
of variable length follows its length; the encoding is canonical (one encoding per value).

A transaction, version 1:

    version          1   = 1
    chain            4   chain identifier
    sender          32   address: SHA3-256 of the sender's algorithms and public keys
    recipient       32   address
    amount           8
    nonce            8   number of earlier transactions of the sender
    data          2 + n  n, then n bytes that the ledger ignores
    credentials      1   their number, 1 to 4
    per credential   3   algorithm (2), form of the public key (1)
    per credential   8 + key + signature: length (4), public key, length (4), signature

All lines but the last are the body, which is signed. A block, version 1:

    version          1   = 1
    height           4
    previous        32   hash of the previous header
    root            32   hash of the list of transactions
    timestamp        4   seconds since 1970
    proposer        32   address
    seal             2   algorithm of the proposer's signature of the fields above, followed by
                         length (4), public key, length (4), signature; 0 if there is no seal
    transactions     4   their number
    per transaction      as above
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from struct import Struct
from types import MappingProxyType
from typing import Any, Literal, get_args

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.checks import integer, one_of
from pqchain.errors import Malformed, UsageError

VERSION = 1
"""Version of the encoding; other versions are rejected."""

ADDRESS_BYTES = HASH_BYTES = 32

MAX_CREDENTIALS = 4
"""Maximum number of signatures of a transaction."""

MAX_DATA_BYTES = 0xFFFF

CREDENTIAL_BYTES = 3
"""Bytes that a credential adds to the body: algorithm and form of its key."""

_TRANSACTION_BYTES = 1 + 4 + 2 * ADDRESS_BYTES + 8 + 8 + 2 + 1
"""Length of a body without data and credentials."""

HEADER_BYTES = 1 + 4 + 2 * HASH_BYTES + 4 + ADDRESS_BYTES

MIN_TRANSACTION_BYTES = _TRANSACTION_BYTES + CREDENTIAL_BYTES + 8
"""Minimum length of a transaction; bounds the number of transactions that a block can claim."""

_FALCON_RECOVERY = ("Falcon-recovery-512", "Falcon-recovery-1024")

RECOVERABLE: Mapping[str, int] = MappingProxyType(
    {
        "ECDSA-secp256k1": 65,
        **{row.name: row.signature_bytes for row in map(algorithms.get, _FALCON_RECOVERY)},
    }
)
"""Schemes with public-key recovery, and the length of a recoverable signature.

For Falcon with key recovery, the recovered public key is a hash.
"""

KeyMode = Literal["inline", "registered", "recovered"]
"""How a verifier obtains the public key, as users specify it."""

KEY_MODES: tuple[str, ...] = get_args(KeyMode)


class KeyForm(IntEnum):
    """How a verifier obtains the public key, as encoded in a credential."""

    INLINE = 0
    """The transaction contains the key."""
    REGISTERING = 1
    """The transaction contains the key, and the ledger keeps it."""
    REGISTERED = 2
    """The ledger has the key from an earlier transaction."""
    RECOVERED = 3
    """The key is recovered from the signature."""

    @property
    def carries_key(self) -> bool:
        """Whether the transaction contains the public key."""
        return self in (KeyForm.INLINE, KeyForm.REGISTERING)


@cache
def algorithm_identifier(name: str) -> int:
    """Return the first two bytes of SHA3-256 of the canonical name. Raises UnknownAlgorithm."""
    # Derived from the name, so that a new row of the registry needs no second table; a test checks
    # that no two rows collide and that none is 0 ("no seal").
    return identifier_of(algorithms.get(name).name)


def identifier_of(name: str) -> int:
    """Return the identifier of a canonical name, whether or not the registry has it."""
    return int.from_bytes(hashlib.sha3_256(name.encode()).digest()[:2], "big")


def algorithm_of(identifier: int) -> Algorithm | None:
    """Return the signature scheme of that identifier, or None if the registry has none."""
    # The tuple of names is the cache key: user-defined schemes can be added at any time.
    names = _by_identifier(tuple(algorithms.ALGORITHMS))
    return algorithms.get(names[identifier]) if identifier in names else None


@lru_cache(maxsize=4)
def _by_identifier(names: tuple[str, ...]) -> dict[int, str]:
    """Return names by identifier; in a collision the first name, a built-in scheme, wins."""
    signatures = [name for name in names if algorithms.get(name).kind == "signature"]
    return {identifier_of(name): name for name in reversed(signatures)}


def encoded_size(
    algorithm: str | Algorithm | Sequence[str | Algorithm],
    *,
    kind: Literal["transaction", "seal"] = "transaction",
    key_mode: KeyMode = "inline",
    signature_bytes: int | None = None,
    data_bytes: int = 0,
) -> int:
    """Return the encoded length in bytes of one transaction, or of a seal in a block.

    Several algorithms mean a transaction with a signature of each. `key_mode` is
    "inline" (contained in the transaction), "registered" (the ledger has it from an earlier one)
    or "recovered" (from the signature, of one algorithm that supports that). `signature_bytes` is
    the total length of all signatures, by default the nominal one, which for Falcon is the mean.
    `data_bytes` is the length of the free data.

    Raises UnknownAlgorithm, and UsageError for an invalid size or mode.

    >>> encoded_size("Falcon-512"), encoded_size("Falcon-512", key_mode="registered")
    (1651, 754)
    """
    rows = signature_schemes(algorithm)
    one_of("kind", kind, ("transaction", "seal"))
    one_of("key_mode", key_mode, KEY_MODES)
    if kind == "seal" and (len(rows) > 1 or key_mode != "inline" or data_bytes):
        raise UsageError("a seal must be one signature with an inline public key, without data")
    integer("data_bytes", data_bytes, least=0, most=MAX_DATA_BYTES)
    if signature_bytes is None and key_mode == "recovered":
        if len(rows) > 1 or rows[0].name not in RECOVERABLE:
            raise no_recovery(row.name for row in rows)
        signature_bytes = RECOVERABLE[rows[0].name]
    elif signature_bytes is None:
        signature_bytes = sum(row.signature_bytes for row in rows)
    integer("signature_bytes", signature_bytes, least=0)
    keys = sum(row.public_key_bytes for row in rows) if key_mode == "inline" else 0
    # Each credential has two lengths of 4 bytes.
    payload = 8 * len(rows) + keys + signature_bytes
    if kind == "seal":
        return payload
    return _TRANSACTION_BYTES + data_bytes + CREDENTIAL_BYTES * len(rows) + payload


def no_recovery(names: Iterable[str]) -> UsageError:
    """Return the error for schemes without key recovery."""
    return UsageError(
        f"key_mode='recovered' must be used with one of {', '.join(RECOVERABLE)}; got "
        f"{', '.join(names)}. Use 'inline' or 'registered'"
    )


def header_bytes() -> int:
    """Return the encoded length in bytes of a block without seal and transactions."""
    # 2: algorithm of the seal; 4: number of transactions.
    return HEADER_BYTES + 2 + 4


def signature_schemes(algorithm: str | Algorithm | Sequence[str | Algorithm]) -> list[Algorithm]:
    """Return the rows of 1 to 4 distinct signature schemes. Raises UnknownAlgorithm, UsageError."""
    entries = [algorithm] if isinstance(algorithm, str | Algorithm) else algorithm
    if not isinstance(entries, Iterable):
        raise UsageError(f"algorithm must be a name or a list of names; got {algorithm!r}")
    rows = [row if isinstance(row, Algorithm) else algorithms.get(row) for row in entries]
    names = [row.name for row in rows]
    if not 1 <= len(rows) <= MAX_CREDENTIALS or len(set(names)) < len(names):
        raise UsageError(
            f"a transaction must have 1 to {MAX_CREDENTIALS} distinct algorithms; got {len(rows)} "
            f"({', '.join(names) or 'none'})"
        )
    for row in rows:
        if row.kind != "signature":
            raise UsageError(f"{row.name} is not a signature scheme but a {row.kind}")
    return rows


_LENGTH = Struct(">I")


class Reader:
    """Bounds-checked reader of the fields of an encoding."""

    __slots__ = ("_data", "_end", "position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end = len(data)
        self.position = 0

    @property
    def remaining(self) -> int:
        """Number of unread bytes."""
        return self._end - self.position

    def take(self, count: int, field: str) -> bytes:
        """Return the next `count` bytes. Raises Malformed if there are fewer."""
        start = self.position
        end = start + count
        if end > self._end:
            raise Malformed(
                f"{field} needs {count} bytes at byte {start}, but {self.remaining} remain; "
                "the data is truncated or not of this format"
            )
        self.position = end
        return self._data[start:end]

    def unpack(self, layout: Struct, field: str) -> tuple[Any, ...]:
        """Return the next fields of fixed widths. Raises Malformed if there are fewer bytes."""
        start = self.position
        if start + layout.size > self._end:
            self.take(layout.size, field)  # raises the error
        self.position = start + layout.size
        return layout.unpack_from(self._data, start)

    def since(self, start: int) -> bytes:
        """Return the bytes from offset `start` to the current position."""
        return self._data[start : self.position]

    def number(self, width: int, field: str) -> int:
        """Return the next `width` bytes as an unsigned integer. Raises Malformed."""
        return int.from_bytes(self.take(width, field), "big")

    def length_prefixed(self, field: str) -> bytes:
        """Return a field of variable length, which follows its length of 4 bytes."""
        (length,) = self.unpack(_LENGTH, field)
        return self.take(length, field)

    def end(self, field: str) -> None:
        """Raise Malformed if there are unread bytes."""
        if self.remaining:
            raise Malformed(f"{self.remaining} bytes follow the {field}; expected none")


def check_fields(record: object, *, hashes: Sequence[str], **bits: int) -> None:
    """Raise Malformed unless fields in `hashes` have 32 bytes and fields in `bits` fit.

    `bits` maps the name of an unsigned integer field to its width in bits.
    """
    for name in hashes:
        value = getattr(record, name)
        if not isinstance(value, bytes) or len(value) != HASH_BYTES:
            raise Malformed(f"the {name} must be {HASH_BYTES} bytes; got {value!r}")
    for name, most in bits.items():
        value = getattr(record, name)
        if type(value) is not int or not 0 <= value < 1 << most:
            raise Malformed(f"the {name} must be from 0 to 2^{most} - 1; got {value!r}")


def expect(value: int, allowed: Collection[int], field: str) -> int:
    """Return the value if it is allowed. Raises Malformed otherwise."""
    if value not in allowed:
        raise Malformed(f"{field} must be {' or '.join(map(str, allowed))}; got {value}")
    return value
