"""The bytes of transactions and blocks, and their sizes without making one.

Importing this module loads no cryptography. All integers are unsigned and big-endian; every field
of variable length stands behind its length; there is one encoding of every value.

A transaction, version 1:

    version          1   = 1
    chain            4   which chain it is for
    sender          32   address: SHA3-256 of the sender's algorithms and public keys
    recipient       32   address
    amount           8
    nonce            8   how many transactions the sender has made before
    data          2 + n  n, then n bytes that mean nothing to the ledger
    credentials      1   how many follow, 1 to 4
    of each          3   algorithm (2), form of the public key (1)
    of each          8 + key + signature: length (4), public key, length (4), signature

All but the last line is the body, and the body is what is signed. A block, version 1:

    version          1   = 1
    height           4
    previous        32   hash of the header before
    root            32   hash of the list of transactions
    timestamp        4   seconds since 1970
    proposer        32   address
    seal             2   algorithm of the proposer's signature of all above; 0: none, else followed
                         by length (4), public key, length (4), signature
    transactions     4   how many follow
    of each              as above
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
from pqchain.checks import one_of, whole
from pqchain.errors import Malformed, UsageError

VERSION = 1
"""Version of the encoding; another one is refused."""

ADDRESS_BYTES = HASH_BYTES = 32

MAX_CREDENTIALS = 4
"""The most signatures of one transaction: two are a hybrid, more a committee."""

MAX_DATA_BYTES = 0xFFFF

CREDENTIAL_BYTES = 3
"""What a credential adds to the body: its algorithm and the form of its key."""

_TRANSACTION_BYTES = 1 + 4 + 2 * ADDRESS_BYTES + 8 + 8 + 2 + 1
"""A body without data and credentials."""

HEADER_BYTES = 1 + 4 + 2 * HASH_BYTES + 4 + ADDRESS_BYTES
"""What the block's hash and its seal are made over."""

MIN_TRANSACTION_BYTES = _TRANSACTION_BYTES + CREDENTIAL_BYTES + 8
"""No transaction is shorter; bounds what a count of transactions can claim."""

_FALCON_RECOVERY = ("Falcon-recovery-512", "Falcon-recovery-1024")

RECOVERABLE: Mapping[str, int] = MappingProxyType(
    {
        "ECDSA-secp256k1": 65,
        **{row.name: row.signature_bytes for row in map(algorithms.get, _FALCON_RECOVERY)},
    }
)
"""Schemes whose signature gives the public key, and the length of such a signature.

What follows from a signature of Falcon with key recovery is the hash that is its public key.
"""

KeyMode = Literal["inline", "registered", "recovered"]
"""How a verifier comes to the public key, as users name it."""

KEY_MODES: tuple[str, ...] = get_args(KeyMode)


class KeyForm(IntEnum):
    """How a verifier comes to the public key, as it is encoded."""

    INLINE = 0
    """It stands in the transaction."""
    REGISTERING = 1
    """It stands in the transaction, and the ledger keeps it."""
    REGISTERED = 2
    """The ledger has it from an earlier transaction."""
    RECOVERED = 3
    """It follows from the signature."""

    @property
    def carries_key(self) -> bool:
        """Whether the transaction holds the public key."""
        return self in (KeyForm.INLINE, KeyForm.REGISTERING)


@cache
def algorithm_identifier(name: str) -> int:
    """Return the two bytes that stand for an algorithm: the first of SHA3-256 of its name.

    So a new row of the registry needs no second table; a test shows that no two collide and that
    none is 0. Raises UnknownAlgorithm.
    """
    return identifier_of(algorithms.get(name).name)


def identifier_of(name: str) -> int:
    """Return the identifier that an algorithm of this canonical name has, or would have."""
    return int.from_bytes(hashlib.sha3_256(name.encode()).digest()[:2], "big")


def algorithm_of(identifier: int) -> Algorithm | None:
    """Return the signature scheme of that identifier, or None if the registry has none."""
    names = _by_identifier(tuple(algorithms.names("signature", everything=True)))
    return algorithms.get(names[identifier]) if identifier in names else None


@lru_cache(maxsize=4)
def _by_identifier(names: tuple[str, ...]) -> dict[int, str]:
    """Return names by identifier; of two with the same the first, which is the registry's."""
    return {identifier_of(name): name for name in reversed(names)}


def encoded_size(
    algorithm: str | Algorithm | Sequence[str | Algorithm],
    *,
    kind: Literal["transaction", "seal"] = "transaction",
    public_key: KeyMode = "inline",
    signature_bytes: int | None = None,
    data_bytes: int = 0,
) -> int:
    """Return the encoded length in bytes of one transaction, or of what a seal adds to a block.

    `algorithm` may be several, for a transaction that each of them signs. `public_key` says
    whether it stands in the transaction ("inline"), was kept by the ledger earlier ("registered")
    or follows from the signature ("recovered", where the scheme can). `signature_bytes` is the
    length of all signatures together; without it the nominal one, which for Falcon is the mean.
    `data_bytes` is free data.

    Raises UnknownAlgorithm, and UsageError for a size or a mode that cannot be.

    >>> encoded_size("Falcon-512"), encoded_size("Falcon-512", public_key="registered")
    (1651, 754)
    """
    rows = signature_schemes(algorithm)
    one_of("kind", kind, ("transaction", "seal"))
    one_of("public_key", public_key, KEY_MODES)
    if kind == "seal" and (len(rows) > 1 or public_key != "inline" or data_bytes):
        raise UsageError("a seal is one signature with its public key and holds no data")
    whole("data_bytes", data_bytes, least=0, most=MAX_DATA_BYTES)
    if signature_bytes is None and public_key == "recovered":
        if incapable := [row.name for row in rows if row.name not in RECOVERABLE]:
            raise no_recovery(incapable)
        signature_bytes = sum(RECOVERABLE[row.name] for row in rows)
    elif signature_bytes is None:
        signature_bytes = sum(row.signature_bytes for row in rows)
    whole("signature_bytes", signature_bytes, least=0)
    keys = sum(row.public_key_bytes for row in rows) if public_key == "inline" else 0
    payload = 8 * len(rows) + keys + signature_bytes
    if kind == "seal":
        return payload
    return _TRANSACTION_BYTES + data_bytes + CREDENTIAL_BYTES * len(rows) + payload


def no_recovery(names: Iterable[str]) -> UsageError:
    """Return the error for schemes of which none has key recovery."""
    return UsageError(
        f"{', '.join(names)}: no key recovery here; of our schemes {', '.join(RECOVERABLE)} have "
        "it: use public_key='inline' or 'registered'"
    )


def header_bytes(*, seal: str | Algorithm | None = None) -> int:
    """Return the length in bytes of a block besides its transactions.

    With `seal` the nominal length of a signature of that algorithm by the proposer is included.
    """
    return HEADER_BYTES + 2 + 4 + (encoded_size(seal, kind="seal") if seal is not None else 0)


def signature_schemes(algorithm: str | Algorithm | Sequence[str | Algorithm]) -> list[Algorithm]:
    """Return the schemes that sign one transaction together.

    Raises UnknownAlgorithm, and UsageError unless they are 1 to 4 signature schemes, each once.
    """
    several = [algorithm] if isinstance(algorithm, str | Algorithm) else algorithm
    if not isinstance(several, Iterable):
        raise UsageError(f"{algorithm!r} names no algorithm; expected a name or a list of names")
    rows = [row if isinstance(row, Algorithm) else algorithms.get(row) for row in several]
    names = [row.name for row in rows]
    if not 1 <= len(rows) <= MAX_CREDENTIALS or len(set(names)) < len(names):
        given = f"{len(rows)} algorithms ({', '.join(names) or 'none'})"
        raise UsageError(f"{given}; a transaction has 1 to {MAX_CREDENTIALS}, each once")
    for row in rows:
        if row.kind != "signature":
            raise UsageError(f"{row.name} is a {row.kind}; a transaction needs a signature scheme")
    return rows


_LENGTH = Struct(">I")


class Reader:
    """Reads fields from bytes, and never past their end."""

    __slots__ = ("_data", "_end", "at")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end = len(data)
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return self._end - self.at

    def take(self, count: int, what: str) -> bytes:
        """Return the next `count` bytes; raises Malformed if there are fewer."""
        start = self.at
        end = start + count
        if end > self._end:
            raise Malformed(
                f"{what} needs {count} bytes at byte {start}, but {self.left} are left; "
                "the data was cut short or is not of this format"
            )
        self.at = end
        return self._data[start:end]

    def unpack(self, layout: Struct, what: str) -> tuple[Any, ...]:
        """Return the next fields of fixed widths; raises Malformed if there are fewer bytes."""
        start = self.at
        if start + layout.size > self._end:
            self.take(layout.size, what)
        self.at = start + layout.size
        return layout.unpack_from(self._data, start)

    def since(self, start: int) -> bytes:
        """Return what has been read since the reader stood at `start`."""
        return self._data[start : self.at]

    def number(self, width: int, what: str) -> int:
        """Return the next `width` bytes as a number."""
        return int.from_bytes(self.take(width, what), "big")

    def counted(self, what: str) -> bytes:
        """Return the bytes behind a length of four bytes."""
        (length,) = self.unpack(_LENGTH, what)
        return self.take(length, what)

    def end(self, what: str) -> None:
        """Raise Malformed if anything is left."""
        if self.left:
            raise Malformed(f"{self.left} bytes follow after the {what}; expected none")


def check_fields(record: object, *, hashes: Sequence[str], **bits: int) -> None:
    """Raise Malformed unless fields are hashes or addresses, and numbers of at most some bits."""
    for name in hashes:
        value = getattr(record, name)
        if not isinstance(value, bytes) or len(value) != HASH_BYTES:
            raise Malformed(f"the {name} is {value!r}; expected {HASH_BYTES} bytes")
    for name, most in bits.items():
        value = getattr(record, name)
        if type(value) is not int or not 0 <= value < 1 << most:
            expected = f"expected a whole number from 0 to 2^{most} - 1"
            raise Malformed(f"the {name} is {value!r}; {expected}")


def expect(value: int, allowed: Collection[int], what: str) -> int:
    """Return the value if it is allowed; raises Malformed otherwise."""
    if value not in allowed:
        raise Malformed(f"{what} is {value}; expected {' or '.join(map(str, allowed))}")
    return value
