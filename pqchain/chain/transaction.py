"""Signed transactions: what they hold, their bytes, and how they are read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha3_256
from struct import Struct

from pqchain.algorithms import Algorithm
from pqchain.chain.encoding import (
    CREDENTIAL_BYTES,
    MAX_CREDENTIALS,
    MAX_DATA_BYTES,
    RECOVERABLE,
    VERSION,
    KeyForm,
    Reader,
    algorithm_of,
    check_fields,
    expect,
)
from pqchain.crypto.interface import as_bytes
from pqchain.errors import Malformed

SIGNED = b"pqchain transaction 1\0"
"""Stands before the body in what is signed, so that a signature means nothing elsewhere."""

_ADDRESS = b"pqchain address 1\0"
_IDENTIFIER = b"pqchain transaction identifier 1\0"

_FIXED = Struct(">BI32s32sQQH")
FIXED_BYTES = _FIXED.size
"""A transaction up to its free data."""

_KIND = Struct(">HB")
_FORMS = tuple(KeyForm)


def address_of(keys: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the address of whoever holds these keys: (algorithm identifier, public key) each."""
    parts = [_ADDRESS]
    for identifier, public_key in keys:
        parts += (_key_front(identifier, len(public_key)), public_key)
    return sha3_256(b"".join(parts)).digest()


def address_prefix(identifier: int, key_bytes: int) -> bytes:
    """Return what stands before the only public key in what is hashed to an address."""
    return _ADDRESS + _key_front(identifier, key_bytes)


def _key_front(identifier: int, key_bytes: int) -> bytes:
    return identifier.to_bytes(2, "big") + key_bytes.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class Credential:
    """One signature, its algorithm, and how the public key is found."""

    identifier: int
    """Two bytes that name the algorithm; possibly one that this registry does not know."""
    form: KeyForm
    public_key: bytes
    """Empty if the transaction does not carry it."""
    signature: bytes

    def __post_init__(self) -> None:
        if not 0 < self.identifier <= 0xFFFF:
            raise Malformed(f"algorithm identifier {self.identifier}; expected 1 to 65535")
        carries_key, recovered = self.form.carries_key, self.form is KeyForm.RECOVERED
        if self.public_key and not carries_key:
            raise Malformed(f"a public key stands where the form {self.form.name} has none")
        algorithm = algorithm_of(self.identifier)
        if algorithm is None:
            return
        if recovered and algorithm.name not in RECOVERABLE:
            raise Malformed(f"{algorithm.name} has no key recovery; the key must be given")
        if carries_key and len(self.public_key) != algorithm.public_key_bytes:
            given, expected = len(self.public_key), algorithm.public_key_bytes
            raise Malformed(f"a public key of {given} bytes; {algorithm.name} has {expected}")
        limit = RECOVERABLE[algorithm.name] if recovered else algorithm.signature_max_bytes
        given = len(self.signature)
        if not 0 < given <= limit:
            raise Malformed(f"a signature of {given} bytes; {algorithm.name} has 1 to {limit}")

    @property
    def algorithm(self) -> Algorithm | None:
        """The row of the registry, or None if the registry does not know the identifier."""
        return algorithm_of(self.identifier)

    def encode(self) -> bytes:
        """Return the public key and the signature, each behind its length."""
        parts = (self.public_key, self.signature)
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    @classmethod
    def read(cls, reader: Reader, identifier: int, form: KeyForm) -> Credential:
        """Read what `encode` wrote."""
        return cls(identifier, form, reader.counted("a public key"), reader.counted("a signature"))


@dataclass(frozen=True, slots=True)
class Payment:
    """What a transaction says, before anybody signs it."""

    sender: bytes
    recipient: bytes
    amount: int
    nonce: int
    data: bytes = b""
    chain: int = 1

    def __post_init__(self) -> None:
        check_fields(self, hashes=("sender", "recipient"), amount=64, nonce=64, chain=32)
        if not isinstance(self.data, bytes):
            object.__setattr__(self, "data", as_bytes("data of a payment", self.data))
        if len(self.data) > MAX_DATA_BYTES:
            raise Malformed(f"{len(self.data)} bytes of data; expected at most {MAX_DATA_BYTES}")

    def message(self, kinds: Sequence[tuple[int, KeyForm]]) -> bytes:
        """Return what is signed, given the algorithms and forms of all who sign."""
        _check_kinds(kinds)
        parties = (self.chain, self.sender, self.recipient)
        fixed = _FIXED.pack(VERSION, *parties, self.amount, self.nonce, len(self.data))
        signers = (_KIND.pack(identifier, form) for identifier, form in kinds)
        return b"".join((SIGNED, fixed, self.data, bytes([len(kinds)]), *signers))


@dataclass(frozen=True, slots=True)
class Transaction:
    """A payment and the signatures under it. Immutable, and encoded once, when it is made."""

    payment: Payment
    credentials: tuple[Credential, ...]
    message: bytes = field(init=False, repr=False, compare=False)
    """What was signed."""
    encoded: bytes = field(init=False, repr=False, compare=False)
    """All its bytes."""

    def __post_init__(self) -> None:
        kinds = [(credential.identifier, credential.form) for credential in self.credentials]
        message = self.payment.message(kinds)
        parts = [message[len(SIGNED) :], *(each.encode() for each in self.credentials)]
        object.__setattr__(self, "message", message)
        object.__setattr__(self, "encoded", b"".join(parts))

    @property
    def identifier(self) -> bytes:
        """Its hash, by which people refer to it."""
        return sha3_256(_IDENTIFIER + self.encoded).digest()

    @classmethod
    def read(cls, reader: Reader) -> Transaction:
        """Read one transaction; raises Malformed.

        There is one encoding of every value, so its bytes are those that were read.
        """
        start = reader.at
        version, chain, sender, recipient, amount, nonce, data_bytes = reader.unpack(
            _FIXED, "a transaction"
        )
        expect(version, (VERSION,), "the version of a transaction")
        data = reader.take(data_bytes, "the data of a transaction")
        count = reader.number(1, "the number of credentials")
        named = reader.take(CREDENTIAL_BYTES * count, "the kinds of credentials")
        kinds = [
            (identifier, _FORMS[expect(form, range(len(_FORMS)), "a key form")])
            for identifier, form in _KIND.iter_unpack(named)
        ]
        _check_kinds(kinds)
        transaction = object.__new__(cls)
        keep = object.__setattr__
        keep(transaction, "payment", Payment(sender, recipient, amount, nonce, data, chain))
        keep(transaction, "message", SIGNED + reader.since(start))
        keep(transaction, "credentials", tuple([Credential.read(reader, *kind) for kind in kinds]))
        keep(transaction, "encoded", reader.since(start))
        return transaction

    @classmethod
    def decode(cls, data: bytes) -> Transaction:
        """Return the transaction that `encoded` holds; raises Malformed, BadType."""
        reader = Reader(as_bytes("transaction", data))
        transaction = cls.read(reader)
        reader.end("transaction")
        return transaction


def _check_kinds(kinds: Sequence[tuple[int, KeyForm]]) -> None:
    """Raise Malformed unless there are some credentials, each of an algorithm of its own."""
    identifiers = {identifier for identifier, _ in kinds}
    if not 1 <= len(kinds) <= MAX_CREDENTIALS or len(identifiers) < len(kinds):
        raise Malformed(
            f"{len(kinds)} credentials with {len(identifiers)} algorithms; expected 1 to "
            f"{MAX_CREDENTIALS}, each of an algorithm of its own"
        )
