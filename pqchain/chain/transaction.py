"""Signed transactions: payments, credentials, and their encoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
"""Domain-separation prefix of the signed message: the signature is valid for no other purpose."""

_ADDRESS = b"pqchain address 1\0"
_IDENTIFIER = b"pqchain transaction identifier 1\0"

_FIXED = Struct(">BI32s32sQQH")
FIXED_BYTES = _FIXED.size
"""Length of the fields before the free data."""

_KIND = Struct(">HB")
_FORMS = tuple(KeyForm)


def address_of(keys: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the address of a set of keys, given as (algorithm identifier, public key)."""
    parts = [_ADDRESS]
    for identifier, public_key in keys:
        # Identifier and length before each key make the input unambiguous.
        parts += (_key_front(identifier, len(public_key)), public_key)
    return sha3_256(b"".join(parts)).digest()


def address_prefix(identifier: int, key_bytes: int) -> bytes:
    """Return the bytes hashed before the public key for the address of a single key."""
    return _ADDRESS + _key_front(identifier, key_bytes)


def _key_front(identifier: int, key_bytes: int) -> bytes:
    return identifier.to_bytes(2, "big") + key_bytes.to_bytes(4, "big")


# Anybody can change a signature that a scheme accepts in several forms into another valid one,
# without a key. The transaction would then have another identifier and length, so a chain accepts
# one form only.

_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Order of the group (SEC 2, version 2, section 2.4.2)."""


def _unpadded(signature: bytes) -> bytes:
    # A compressed coefficient ends with a set bit: a last byte of zero is padding.
    return signature.rstrip(b"\0")


def _low_s(signature: bytes) -> bytes:
    # If (r, s) is valid, so is (r, n - s). Other values of s are invalid in any form.
    r, s = signature[:32], int.from_bytes(signature[32:], "big")
    return r + min(s, _P256_ORDER - s).to_bytes(32, "big") if 0 < s < _P256_ORDER else signature


FORMS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "Falcon-512": ("without padding", _unpadded),
    "Falcon-1024": ("without padding", _unpadded),
    "ECDSA-P256": ("with the lower of both values of s", _low_s),
}
"""Condition and conversion of each scheme that accepts a signature in several forms.

Verifiers of all other schemes accept one form only.
"""


def canonical_form(algorithm: str, signature: bytes) -> bytes:
    """Return the form of a valid signature that a chain accepts; `algorithm` is the full name."""
    return FORMS[algorithm][1](signature) if algorithm in FORMS else signature


@dataclass(frozen=True, slots=True)
class Credential:
    """One signature with its algorithm and the form of its public key."""

    identifier: int
    """Algorithm identifier of two bytes, which the registry may not know."""
    form: KeyForm
    public_key: bytes
    """Public key; empty if the transaction does not contain it."""
    signature: bytes

    def __post_init__(self) -> None:
        if not 0 < self.identifier <= 0xFFFF:
            raise Malformed(f"algorithm identifiers must be from 1 to 65535; got {self.identifier}")
        carries_key, recovered = self.form.carries_key, self.form is KeyForm.RECOVERED
        if self.public_key and not carries_key:
            raise Malformed(f"the public key must be empty in the key form {self.form.name}")
        # An unknown algorithm is well-formed; `State` rejects it, with another reason.
        algorithm = algorithm_of(self.identifier)
        if algorithm is None:
            return
        if recovered and algorithm.name not in RECOVERABLE:
            raise Malformed(f"{algorithm.name} does not support key recovery")
        if carries_key and len(self.public_key) != algorithm.public_key_bytes:
            raise Malformed(
                f"a public key of {algorithm.name} must have {algorithm.public_key_bytes} bytes; "
                f"got {len(self.public_key)}"
            )
        most = RECOVERABLE[algorithm.name] if recovered else algorithm.signature_max_bytes
        if not 0 < len(self.signature) <= most:
            raise Malformed(
                f"a signature of {algorithm.name} must have 1 to {most} bytes; got "
                f"{len(self.signature)}"
            )
        if canonical_form(algorithm.name, self.signature) != self.signature:
            raise Malformed(
                f"a signature of {algorithm.name} must be {FORMS[algorithm.name][0]}; got another "
                "form. Convert it with chain.transaction.canonical_form"
            )

    @property
    def algorithm(self) -> Algorithm | None:
        """Row of the registry, or None for an unknown identifier."""
        return algorithm_of(self.identifier)

    def encode(self) -> bytes:
        """Return the public key and the signature, each after its length of 4 bytes."""
        parts = (self.public_key, self.signature)
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    @classmethod
    def read(cls, reader: Reader, identifier: int, form: KeyForm) -> Credential:
        """Read the output of `encode`. Raises Malformed."""
        return cls(
            identifier,
            form,
            reader.length_prefixed("a public key"),
            reader.length_prefixed("a signature"),
        )


@dataclass(frozen=True, slots=True)
class Payment:
    """Unsigned content of a transaction."""

    sender: bytes
    """Address of 32 bytes, like `recipient`."""
    recipient: bytes
    amount: int
    nonce: int
    """Number of earlier transactions of the sender."""
    data: bytes = b""
    chain: int = 1

    def __post_init__(self) -> None:
        check_fields(self, hashes=("sender", "recipient"), amount=64, nonce=64, chain=32)
        if not isinstance(self.data, bytes):
            object.__setattr__(self, "data", as_bytes("data of a payment", self.data))
        if len(self.data) > MAX_DATA_BYTES:
            raise Malformed(f"data must have at most {MAX_DATA_BYTES} bytes; got {len(self.data)}")

    def message(self, kinds: Sequence[tuple[int, KeyForm]]) -> bytes:
        """Return the message to sign, given (algorithm identifier, key form) of each signature."""
        _check_kinds(kinds)
        parties = (self.chain, self.sender, self.recipient)
        fixed = _FIXED.pack(VERSION, *parties, self.amount, self.nonce, len(self.data))
        signers = (_KIND.pack(identifier, form) for identifier, form in kinds)
        return b"".join((SIGNED, fixed, self.data, bytes([len(kinds)]), *signers))


@dataclass(frozen=True, slots=True)
class Transaction:
    """A payment with its signatures. Immutable; encoded once, on construction."""

    payment: Payment
    credentials: tuple[Credential, ...]
    message: bytes = field(init=False, repr=False, compare=False)
    encoded: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kinds = [(credential.identifier, credential.form) for credential in self.credentials]
        message = self.payment.message(kinds)
        parts = [message[len(SIGNED) :], *(row.encode() for row in self.credentials)]
        object.__setattr__(self, "message", message)
        object.__setattr__(self, "encoded", b"".join(parts))

    @property
    def identifier(self) -> bytes:
        """SHA3-256 hash of the encoded transaction after a domain-separation prefix."""
        return sha3_256(_IDENTIFIER + self.encoded).digest()

    @classmethod
    def read(cls, reader: Reader) -> Transaction:
        """Read one transaction. Raises Malformed."""
        # The encoding is canonical, so message and encoding are slices of the input. Setting the
        # fields directly avoids encoding every transaction of a block again.
        start = reader.position
        version, chain, sender, recipient, amount, nonce, data_bytes = reader.unpack(
            _FIXED, "a transaction"
        )
        expect(version, (VERSION,), "the version of a transaction")
        data = reader.take(data_bytes, "the data of a transaction")
        count = reader.number(1, "the number of credentials")
        encoded_kinds = reader.take(CREDENTIAL_BYTES * count, "the kinds of credentials")
        kinds = [
            (identifier, _FORMS[expect(form, range(len(_FORMS)), "a key form")])
            for identifier, form in _KIND.iter_unpack(encoded_kinds)
        ]
        _check_kinds(kinds)
        transaction = object.__new__(cls)
        set_field = object.__setattr__
        set_field(transaction, "payment", Payment(sender, recipient, amount, nonce, data, chain))
        set_field(transaction, "message", SIGNED + reader.since(start))
        set_field(
            transaction, "credentials", tuple([Credential.read(reader, *kind) for kind in kinds])
        )
        set_field(transaction, "encoded", reader.since(start))
        return transaction

    @classmethod
    def decode(cls, data: bytes) -> Transaction:
        """Return the transaction encoded in `data`. Raises Malformed and BadType."""
        reader = Reader(as_bytes("transaction", data))
        transaction = cls.read(reader)
        reader.end("transaction")
        return transaction


def _check_kinds(kinds: Sequence[tuple[int, KeyForm]]) -> None:
    identifiers = {identifier for identifier, _ in kinds}
    if not 1 <= len(kinds) <= MAX_CREDENTIALS or len(identifiers) < len(kinds):
        raise Malformed(
            f"a transaction must have 1 to {MAX_CREDENTIALS} credentials of distinct algorithms; "
            f"got {len(kinds)} of {len(identifiers)} algorithms"
        )
    # Only the address of all keys together shows whether a recovered one is that of the sender.
    recovered = sum(form is KeyForm.RECOVERED for _, form in kinds)
    if recovered > 1:
        raise Malformed(f"a transaction must have at most one recovered key; got {recovered}")
