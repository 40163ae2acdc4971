"""Wallets: the keys of one account, and the transactions they sign."""

from __future__ import annotations

from collections.abc import Sequence

from pqchain.chain.encoding import (
    KEY_MODES,
    RECOVERABLE,
    KeyForm,
    KeyMode,
    algorithm_identifier,
    no_recovery,
    signature_schemes,
)
from pqchain.chain.transaction import Credential, Payment, Transaction, address_of
from pqchain.checks import one_of
from pqchain.crypto import RecoverableSigner, Signer, open_signer
from pqchain.errors import UsageError


class Wallet:
    """One account: a key pair for each of its algorithms. Keeps no nonce; the ledger knows it."""

    __slots__ = ("_secret_keys", "_signers", "address", "algorithms", "keys", "public_key")

    def __init__(
        self,
        algorithm: str | Sequence[str],
        *,
        public_key: KeyMode = "inline",
        implementation: str | None = None,
        signers: Sequence[Signer] | None = None,
        keypairs: Sequence[tuple[bytes, bytes]] | None = None,
    ) -> None:
        """Make fresh keys, or take `keypairs`: public and secret key for each algorithm.

        Several algorithms make a hybrid: all of them sign. `public_key` says how verifiers come to
        the keys: "inline" puts them into every transaction, "registered" into the first one only,
        "recovered" into none where the scheme allows that, and inline elsewhere. `signers` saves
        opening the schemes again for many wallets. Raises what `open_signer` raises, and
        UsageError unless there are 1 to 4 algorithms, each once.
        """
        names = [row.name for row in signature_schemes(algorithm)]
        one_of("public_key", public_key, KEY_MODES)
        if public_key == "recovered" and not set(names) & set(RECOVERABLE):
            raise no_recovery(names)
        opened = (open_signer(name, implementation) for name in names)
        self._signers = tuple(opened if signers is None else signers)
        given = [signer.algorithm.name for signer in self._signers]
        if given != names:
            raise UsageError(f"signers of {given} were given; expected those of {names}, in order")
        made = (signer.generate_keypair() for signer in self._signers)
        pairs = tuple(made if keypairs is None else keypairs)
        if len(pairs) != len(names):
            raise UsageError(f"{len(pairs)} key pairs for {len(names)} algorithms")
        self.public_key = public_key
        self.algorithms = tuple(names)
        """Names of the algorithms that sign."""
        self._secret_keys = tuple(secret_key for _, secret_key in pairs)
        public_keys = (key for key, _ in pairs)
        self.keys = tuple(zip(map(algorithm_identifier, names), public_keys, strict=True))
        """The algorithm identifier and public key of each."""
        self.address = address_of(self.keys)

    def __repr__(self) -> str:
        """Name the algorithms and the address, never a secret."""
        return f"<Wallet {'+'.join(self.algorithms)} {self.address.hex()[:16]}>"

    def transfer(
        self, recipient: bytes, amount: int, *, nonce: int, data: bytes = b"", chain: int = 1
    ) -> Transaction:
        """Return a signed transaction that pays `amount` to `recipient`.

        `nonce` is how many transactions of this account the ledger holds.
        """
        return self.sign(Payment(self.address, recipient, amount, nonce, data, chain))

    def sign(self, payment: Payment) -> Transaction:
        """Sign a payment as it stands, even one that the ledger will refuse."""
        forms = [self._form(signer, payment.nonce) for signer in self._signers]
        identifiers = [identifier for identifier, _ in self.keys]
        message = payment.message(list(zip(identifiers, forms, strict=True)))
        credentials = []
        signing = zip(self._signers, self._secret_keys, self.keys, forms, strict=True)
        for signer, secret_key, (identifier, key), form in signing:
            if form is KeyForm.RECOVERED and isinstance(signer, RecoverableSigner):
                signature = signer.sign_recoverable(message, secret_key)
            else:
                signature = signer.sign(message, secret_key)
            carried = key if form.carries_key else b""
            credentials.append(Credential(identifier, form, carried, signature))
        return Transaction(payment, tuple(credentials))

    def seal(self, message: bytes) -> Credential:
        """Sign as the proposer of a block, with the first algorithm."""
        if len(self.keys) > 1:
            raise UsageError(f"{self!r} has several algorithms; a block is sealed with one")
        identifier, key = self.keys[0]
        signature = self._signers[0].sign(message, self._secret_keys[0])
        return Credential(identifier, KeyForm.INLINE, key, signature)

    def _form(self, signer: Signer, nonce: int) -> KeyForm:
        if self.public_key == "registered":
            return KeyForm.REGISTERING if nonce == 0 else KeyForm.REGISTERED
        if self.public_key == "recovered" and isinstance(signer, RecoverableSigner):
            return KeyForm.RECOVERED
        return KeyForm.INLINE
