"""Wallets: the key pairs of one account, and signing of transactions and blocks."""

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
from pqchain.chain.transaction import Credential, Payment, Transaction, address_of, canonical_form
from pqchain.checks import one_of
from pqchain.crypto import RecoverableSigner, Signer, open_signer
from pqchain.errors import UsageError


class Wallet:
    """Keys of one account: a key pair per algorithm. The nonce is kept by the ledger, not here."""

    __slots__ = ("_secret_keys", "_signers", "address", "algorithms", "key_mode", "keys")

    def __init__(
        self,
        algorithm: str | Sequence[str],
        *,
        key_mode: KeyMode = "inline",
        implementation: str | None = None,
        signers: Sequence[Signer] | None = None,
        keypairs: Sequence[tuple[bytes, bytes]] | None = None,
    ) -> None:
        """Generate keys, or use `keypairs`: (public key, secret key) for each algorithm.

        Several algorithms make a hybrid account: every transaction has a signature of each.
        `key_mode` "inline" puts the keys into every transaction, "registered" into the first one
        only, "recovered" leaves out that of the first scheme with key recovery.
        `signers` are open schemes in the order of the algorithms, which wallets can share. Raises
        the errors of `open_signer`, and UsageError unless there are 1 to 4 distinct algorithms,
        with signers and key pairs that match them.
        """
        names = [row.name for row in signature_schemes(algorithm)]
        one_of("key_mode", key_mode, KEY_MODES)
        if key_mode == "recovered" and not set(names) & set(RECOVERABLE):
            raise no_recovery(names)
        # Generators: nothing is opened or generated if it is an argument.
        opened = (open_signer(name, implementation) for name in names)
        self._signers = tuple(opened if signers is None else signers)
        if (signed := [signer.algorithm.name for signer in self._signers]) != names:
            raise UsageError(f"signers must be those of {names}, in order; got those of {signed}")
        generated = (signer.generate_keypair() for signer in self._signers)
        pairs = tuple(generated if keypairs is None else keypairs)
        if len(pairs) != len(names):
            raise UsageError(f"keypairs must have {len(names)} entries; got {len(pairs)}")
        self.key_mode = key_mode
        self.algorithms = tuple(names)
        """Canonical names of the signing algorithms."""
        self._secret_keys = tuple(secret_key for _, secret_key in pairs)
        public_keys = (key for key, _ in pairs)
        self.keys = tuple(zip(map(algorithm_identifier, names), public_keys, strict=True))
        """Pairs of algorithm identifier and public key."""
        self.address = address_of(self.keys)

    def __repr__(self) -> str:
        # Never a secret key: a repr ends up in logs and error messages.
        return f"<Wallet {'+'.join(self.algorithms)} {self.address.hex()[:16]}>"

    def transfer(
        self, recipient: bytes, amount: int, *, nonce: int, data: bytes = b"", chain: int = 1
    ) -> Transaction:
        """Return a signed transaction that pays `amount` to `recipient`.

        `nonce` is the number of transactions that this account has made so far. Raises Malformed
        for a field out of range.
        """
        return self.sign(Payment(self.address, recipient, amount, nonce, data, chain))

    def sign(self, payment: Payment) -> Transaction:
        """Return the payment as a signed transaction, without checking it against a ledger."""
        forms = [self._form(signer, payment.nonce) for signer in self._signers]
        identifiers = [identifier for identifier, _ in self.keys]
        # All signatures of a hybrid cover the same message, which lists every algorithm: none can
        # be removed without invalidating the others.
        message = payment.message(list(zip(identifiers, forms, strict=True)))
        credentials = []
        signing = zip(self._signers, self._secret_keys, self.keys, forms, strict=True)
        for signer, secret_key, (identifier, key), form in signing:
            if form is KeyForm.RECOVERED and isinstance(signer, RecoverableSigner):
                signature = signer.sign_recoverable(message, secret_key)
            else:
                signature = signer.sign(message, secret_key)
            public_key = key if form.carries_key else b""
            signature = canonical_form(signer.algorithm.name, signature)
            credentials.append(Credential(identifier, form, public_key, signature))
        return Transaction(payment, tuple(credentials))

    def seal(self, message: bytes) -> Credential:
        """Return the proposer's signature of a header. Raises UsageError for several algorithms."""
        if len(self.keys) > 1:
            raise UsageError(f"the wallet of a proposer must have one algorithm; got {self!r}")
        identifier, key = self.keys[0]
        signature = self._signers[0].sign(message, self._secret_keys[0])
        signature = canonical_form(self.algorithms[0], signature)
        return Credential(identifier, KeyForm.INLINE, key, signature)

    def _form(self, signer: Signer, nonce: int) -> KeyForm:
        if self.key_mode == "registered":
            # The first transaction carries the key; the ledger keeps it for all later ones.
            return KeyForm.REGISTERING if nonce == 0 else KeyForm.REGISTERED
        able = (row for row in self._signers if isinstance(row, RecoverableSigner))
        if self.key_mode == "recovered" and signer is next(able, None):
            return KeyForm.RECOVERED
        return KeyForm.INLINE
