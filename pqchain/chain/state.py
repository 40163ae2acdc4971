"""Ledger state: accounts, chain tip, and the validation of the next block.

A state is immutable; `apply` returns the next one or raises `BlockRejected`. Checks go from cheap
to expensive, so that a hostile block costs little: form, size, position in the chain, hash of the
transactions, seal, then nonces, balances and keys in order, and all signatures last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha3_256
from struct import pack
from types import MappingProxyType
from typing import NamedTuple

from pqchain import algorithms
from pqchain.chain.block import Block, Header, transactions_root
from pqchain.chain.encoding import ADDRESS_BYTES, MIN_TRANSACTION_BYTES, KeyForm, algorithm_of
from pqchain.chain.transaction import Credential, Transaction, address_of
from pqchain.chain.verification import Check, Verifier
from pqchain.chain.wallet import Wallet
from pqchain.checks import boolean, integer
from pqchain.crypto.interface import as_bytes
from pqchain.errors import Malformed, PqchainError, UsageError

_GENESIS = b"pqchain genesis 2\0"

LEAST_IN_BULK = 32
"""Minimum number of transactions of a uniform block that is checked in C."""


class Reason(Enum):
    """Reason for rejecting a block, in the order of the checks."""

    MALFORMED = "malformed"
    OVERSIZE = "oversize"
    DUPLICATE = "duplicate"
    """The last block again, a transaction twice in one block, or a key registered twice."""
    WRONG_HEIGHT = "wrong height"
    WRONG_PREVIOUS_HASH = "wrong previous hash"
    BAD_TIMESTAMP = "bad timestamp"
    WRONG_ROOT = "wrong root"
    WRONG_CHAIN = "wrong chain"
    UNKNOWN_ALGORITHM = "unknown algorithm"
    """An algorithm that is not in the registry, or not allowed on this chain."""
    UNKNOWN_KEY = "unknown key"
    """A transaction refers to a registered key that the ledger does not have."""
    BAD_NONCE = "bad nonce"
    OVERSPEND = "overspend"
    BAD_SIGNATURE = "bad signature"
    """Also keys that do not match the sender's or proposer's address, or a missing seal."""


class BlockRejected(PqchainError):
    """An invalid block. The state is unchanged."""

    def __init__(self, reason: Reason, detail: str, indices: tuple[int, ...] = ()) -> None:
        super().__init__(reason, detail, indices)
        self.reason = reason
        self.detail = detail
        self.indices = indices
        """Indices of the transactions concerned, from 0; empty if it is the whole block."""

    def __str__(self) -> str:
        return f"block rejected, {self.reason.value}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Rules:
    """Validity rules of one chain."""

    chain: int = 1
    """Chain identifier, part of every transaction to prevent replay on another chain."""
    limit_bytes: int = 4_000_000
    algorithms: frozenset[str] | None = None
    """Names of the schemes that may sign; None allows all of the registry."""
    sealed: bool = True
    """Whether proposers must sign; otherwise only the next block confirms proposer and time."""

    def __post_init__(self) -> None:
        integer("chain", self.chain, least=0, most=2**32 - 1)
        integer("limit_bytes", self.limit_bytes, least=1)
        boolean("sealed", self.sealed)
        if self.algorithms is not None:
            if not isinstance(self.algorithms, frozenset) or not all(
                isinstance(name, str) for name in self.algorithms
            ):
                raise UsageError(
                    f"algorithms must be a frozenset of names or None; got {self.algorithms!r}"
                )
            canonical = frozenset(algorithms.get(name).name for name in self.algorithms)
            object.__setattr__(self, "algorithms", canonical)

    def encode(self) -> bytes:
        """Return the encoded rules, for the hash of the genesis."""
        # Self-delimiting, so that different rules differ whatever balances follow.
        numbers = pack(">IQ?", self.chain, self.limit_bytes, self.sealed)
        if self.algorithms is None:
            return numbers + b"\0"
        names = [name.encode() for name in sorted(self.algorithms)]
        encoded = b"".join(pack(">H", len(name)) + name for name in names)
        return numbers + b"\1" + pack(">I", len(names)) + encoded


class Account(NamedTuple):
    """Balance, nonce and registered keys of one address."""

    balance: int = 0
    nonce: int = 0
    """Number of transactions sent from the address."""
    keys: tuple[tuple[int, bytes], ...] = ()
    """Registered public keys as (algorithm identifier, key)."""


_EMPTY_ACCOUNT = Account()

_Keys = tuple[tuple[int, bytes | None], ...]
"""(algorithm identifier, public key) of each signature; None for a key to recover."""

_Checked = tuple[Header, dict[bytes, Account], int | None]
"""Header, accounts after the block, and index of the first transaction with a wrong signature."""


@dataclass(frozen=True, slots=True)
class State:
    """Immutable state of a chain after one block."""

    rules: Rules
    height: int
    tip: bytes
    """Hash of the last block; before the first block, hash of the rules and genesis balances."""
    timestamp: int
    accounts: Mapping[bytes, Account] = field(repr=False)
    block: Block | bytes | None = field(default=None, repr=False, compare=False)
    """The last block, as `apply` got it; None before the first block."""

    @classmethod
    def genesis(cls, balances: Mapping[bytes, int], rules: Rules | None = None) -> State:
        """Return the state before the first block.

        Raises UsageError for an invalid address or balance, or if the sum exceeds 2^64 - 1.
        """
        rules = rules or Rules()
        for address, balance in balances.items():
            if not isinstance(address, bytes) or len(address) != ADDRESS_BYTES:
                raise UsageError(f"an address must be 32 bytes, as Wallet.address; got {address!r}")
            integer("the balance", balance, least=0, most=2**64 - 1)
        if sum(balances.values()) >= 2**64:
            raise UsageError("the sum of the balances must be below 2^64: amounts have 8 bytes")
        encoded = b"".join(a + b.to_bytes(8, "big") for a, b in sorted(balances.items()))
        # The rules are part of the hash, so that a later change of them invalidates every block.
        tip = sha3_256(_GENESIS + rules.encode() + encoded).digest()
        accounts = {address: Account(balance) for address, balance in balances.items()}
        return cls(rules, 0, tip, 0, MappingProxyType(accounts))

    def account(self, address: bytes) -> Account:
        """Return the account of an address; an unknown address has an empty one."""
        return self.accounts.get(address, _EMPTY_ACCOUNT)

    @property
    def total(self) -> int:
        """Sum of all balances, which no block changes."""
        return sum(account.balance for account in self.accounts.values())

    def propose(
        self, transactions: Iterable[Transaction], *, proposer: Wallet | bytes, timestamp: int
    ) -> Block:
        """Return an unvalidated block of these transactions on top of this state.

        A proposer given as a wallet seals the block; with an address the block has no seal.
        `timestamp` is in seconds since 1970. Raises Malformed for a field out of range.
        """
        rows = tuple(transactions)
        address = proposer.address if isinstance(proposer, Wallet) else proposer
        header = Header(self.height + 1, self.tip, transactions_root(rows), timestamp, address)
        seal = proposer.seal(header.seal_message) if isinstance(proposer, Wallet) else None
        return Block(header, rows, seal)

    def apply(self, block: Block | bytes, *, verifier: Verifier | None = None) -> State:
        """Return the state after the block. Raises BlockRejected with the reason.

        Raises Unsupported if an algorithm of the block cannot run here, so that the block can be
        neither accepted nor rejected.
        """
        verifier = verifier or Verifier()
        block = block if isinstance(block, Block) else as_bytes("block", block)
        in_bulk = self._in_bulk(block, verifier)
        header, accounts, wrong = in_bulk or self._one_by_one(self._decoded(block), verifier)
        if wrong is not None:
            raise BlockRejected(Reason.BAD_SIGNATURE, f"transaction {wrong}", (wrong,))
        return replace(
            self,
            height=header.height,
            tip=header.hash(),
            timestamp=header.timestamp,
            accounts=MappingProxyType(accounts),
            block=block,
        )

    def _one_by_one(self, block: Block, verifier: Verifier) -> _Checked:
        self._check_place(block.header)
        if block.header.root != transactions_root(block.transactions, threads=verifier.threads):
            raise BlockRejected(Reason.WRONG_ROOT, "the transactions do not match the header")
        names = self._algorithms(block)
        self._check_seal(block.header, block.seal, names, verifier)
        accounts, checks, wrong = self._transfer(block, names)
        # One wrong sender rejects the block, whose signatures are then not verified.
        return block.header, accounts, verifier.wrong(checks) if wrong is None else wrong

    def _in_bulk(self, block: Block | bytes, verifier: Verifier) -> _Checked | None:
        """Check a large uniform block in C; the result is that of `_one_by_one`.

        Returns None for other blocks, and if a transaction is invalid for a reason other than its
        signature: `_one_by_one` then finds which one and why.
        """
        if isinstance(block, Block) and len(block.transactions) >= LEAST_IN_BULK:
            block = block.encode()
        least = LEAST_IN_BULK * MIN_TRANSACTION_BYTES
        if isinstance(block, Block) or not least <= len(block) <= self.rules.limit_bytes:
            return None
        from pqchain.chain import bulk  # imported here: small blocks need no numpy

        read = bulk.read(block, self.rules.chain)
        if read is None:
            return None
        self._check_place(read.header)
        if read.header.root != read.root(verifier.threads):
            return None
        first: dict[int, tuple[int, ...]] = {} if read.seal is None else {read.seal.identifier: ()}
        first.setdefault(read.identifier, (0,))
        names = self._allowed(first)
        self._check_seal(read.header, read.seal, names, verifier)
        settled = read.settle(self.account)
        if settled is None:
            return None
        wrong = verifier.wrong_packed(names[read.identifier], read.packed())
        if wrong is None:
            return None
        accounts = dict(self.accounts)
        for address, balance, nonce in settled:
            accounts[address] = Account(balance, nonce, self.account(address).keys)
        return read.header, accounts, min(wrong, default=None)

    def checks(self, block: Block) -> list[Check]:
        """Return the signatures to verify in a block. Raises BlockRejected for invalid payments."""
        return self._transfer(block, self._algorithms(block))[1]

    def _decoded(self, block: Block | bytes) -> Block:
        # The limit comes first: longer bytes are not decoded.
        length = block.encoded_bytes if isinstance(block, Block) else len(block)
        if length > self.rules.limit_bytes:
            detail = f"at most {self.rules.limit_bytes} bytes are allowed; got {length}"
            raise BlockRejected(Reason.OVERSIZE, detail)
        if isinstance(block, Block):
            return block
        try:
            return Block.decode(block)
        except Malformed as error:
            raise BlockRejected(Reason.MALFORMED, str(error)) from error

    def _check_place(self, header: Header) -> None:
        if header.height == self.height and header.hash() == self.tip:
            raise BlockRejected(Reason.DUPLICATE, f"block {self.height} is already the last one")
        if header.height != self.height + 1:
            detail = f"height {header.height}; the next is {self.height + 1}"
            raise BlockRejected(Reason.WRONG_HEIGHT, detail)
        if header.previous != self.tip:
            detail = f"{header.previous.hex()}; the last block has {self.tip.hex()}"
            raise BlockRejected(Reason.WRONG_PREVIOUS_HASH, detail)
        if header.timestamp < self.timestamp:
            detail = f"{header.timestamp} s is before {self.timestamp} s"
            raise BlockRejected(Reason.BAD_TIMESTAMP, detail)

    def _algorithms(self, block: Block) -> dict[int, str]:
        first: dict[int, tuple[int, ...]] = {}
        if block.seal is not None:
            first[block.seal.identifier] = ()
        for index, transaction in enumerate(block.transactions):
            for credential in transaction.credentials:
                first.setdefault(credential.identifier, (index,))
        return self._allowed(first)

    def _allowed(self, first: Mapping[int, tuple[int, ...]]) -> dict[int, str]:
        """Return names by identifier; `first` has the index of each one's first transaction."""
        names = {}
        for identifier, indices in first.items():
            row, allowed = algorithm_of(identifier), self.rules.algorithms
            if row is None or (allowed is not None and row.name not in allowed):
                name = f"0x{identifier:04x}" if row is None else row.name
                raise BlockRejected(Reason.UNKNOWN_ALGORITHM, f"{name} is not allowed", indices)
            names[identifier] = row.name
        return names

    def _check_seal(
        self, header: Header, seal: Credential | None, names: Mapping[int, str], verifier: Verifier
    ) -> None:
        if seal is None:
            if self.rules.sealed:
                raise BlockRejected(Reason.BAD_SIGNATURE, "the block has no seal")
            return
        if address_of([(seal.identifier, seal.public_key)]) != header.proposer:
            raise BlockRejected(Reason.BAD_SIGNATURE, "the key of the seal is not the proposer's")
        message = header.seal_message
        check = Check(0, names[seal.identifier], message, seal.signature, seal.public_key)
        if verifier.wrong([check]) is not None:
            raise BlockRejected(Reason.BAD_SIGNATURE, "the signature of the seal is wrong")

    def _transfer(
        self, block: Block, names: Mapping[int, str]
    ) -> tuple[dict[bytes, Account], list[Check], int | None]:
        """Apply all payments to a copy of the accounts.

        Returns the copy, the signatures to verify, and the index of the first transaction whose
        keys do not match its sender's address.
        """
        accounts = dict(self.accounts)
        checks: list[Check] = []
        wrong: int | None = None
        addresses: dict[_Keys, bytes] = {}
        for index, transaction in enumerate(block.transactions):
            payment = transaction.payment
            if payment.chain != self.rules.chain:
                raise _rejected(Reason.WRONG_CHAIN, index, f"is for chain {payment.chain}")
            sender = accounts.get(payment.sender, _EMPTY_ACCOUNT)
            keys, registered = _resolve(transaction, sender, index)
            if payment.nonce != sender.nonce:
                # Searched after a nonce mismatch only, so that valid blocks do not pay for it.
                if transaction in block.transactions[:index]:
                    raise _rejected(Reason.DUPLICATE, index, "occurs twice in the block")
                detail = f"has nonce {payment.nonce}; the next is {sender.nonce}"
                raise _rejected(Reason.BAD_NONCE, index, detail)
            if payment.amount > sender.balance:
                detail = f"pays {payment.amount} from a balance of {sender.balance}"
                raise _rejected(Reason.OVERSPEND, index, detail)
            balance = sender.balance - payment.amount
            accounts[payment.sender] = Account(balance, sender.nonce + 1, registered)
            recipient = accounts.get(payment.recipient, _EMPTY_ACCOUNT)
            received = recipient.balance + payment.amount
            accounts[payment.recipient] = Account(received, recipient.nonce, recipient.keys)
            if all(key is not None for _, key in keys):  # else recovery compares the address
                if keys not in addresses:
                    addresses[keys] = address_of([(i, key or b"") for i, key in keys])
                if wrong is None and addresses[keys] != payment.sender:
                    wrong = index
            message, address = transaction.message, payment.sender
            for credential, (identifier, key) in zip(transaction.credentials, keys, strict=True):
                name, signature = names[identifier], credential.signature
                checks.append(Check(index, name, message, signature, key, address, keys))
        return accounts, checks, wrong


def _rejected(reason: Reason, index: int, detail: str) -> BlockRejected:
    return BlockRejected(reason, f"transaction {index} {detail}", (index,))


def _resolve(
    transaction: Transaction, sender: Account, index: int
) -> tuple[_Keys, tuple[tuple[int, bytes], ...]]:
    """Return the signing keys (None for one to recover) and the keys registered afterwards."""
    known_keys, registered = dict(sender.keys), sender.keys
    keys: list[tuple[int, bytes | None]] = []
    for credential in transaction.credentials:
        identifier, form, key = credential.identifier, credential.form, credential.public_key
        if form is KeyForm.REGISTERED:
            if identifier not in known_keys:
                raise _rejected(Reason.UNKNOWN_KEY, index, "refers to a key that is not registered")
            key = known_keys[identifier]
        elif form is KeyForm.REGISTERING:
            if identifier in known_keys:
                raise _rejected(Reason.DUPLICATE, index, "registers a key again")
            registered = (*registered, (identifier, key))
        keys.append((identifier, None if form is KeyForm.RECOVERED else key))
    return tuple(keys), registered
