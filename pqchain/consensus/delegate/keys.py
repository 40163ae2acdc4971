"""The keys of delegates and wallets, and the check of what they sign.

On a modelled clock keys follow from numbers, and what liboqs draws from what is signed, so that a
seed gives the same bytes; classical schemes sign deterministically with fresh keys. On a real clock
all keys are made once and handed to every process, and signing draws from the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import lru_cache

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.crypto import Signer, open_signer
from pqchain.crypto.seeded import seeded_randomness
from pqchain.errors import CryptoFailure

_MOST_ATTEMPTS = 10_000
"""Signatures until one fits: half of them do where the field has the mean length."""

Keypair = tuple[bytes, bytes]
"""Public and secret key."""


def opened(algorithm: str) -> Signer:
    """Return the open scheme; opened once, threads may share it. Raises Unsupported."""
    return _opened(algorithms.get(algorithm))


@lru_cache(maxsize=4096)
def _opened(row: Algorithm) -> Signer:
    return open_signer(row.name)


def keypair(algorithm: str, owner: str, number: int) -> Keypair:
    """Return the key pair of an owner, "delegate" or "wallet", of that number."""
    return _keypair(algorithms.get(algorithm), owner, number)


@lru_cache(maxsize=65536)
def _keypair(row: Algorithm, owner: str, number: int) -> Keypair:
    signer = _opened(row)
    with seeded_randomness(f"{owner} {number}".encode()):
        return signer.generate_keypair()


def keypairs(algorithm: str, owner: str, numbers: Iterable[int]) -> list[Keypair]:
    """Return the key pairs of several."""
    return [keypair(algorithm, owner, int(number)) for number in numbers]


class Directory:
    """Who may say what: the public key of each delegate, by rank."""

    def __init__(
        self, algorithm: str, pairs: Sequence[Keypair], field_bytes: int, *, remember: bool
    ) -> None:
        """Take the delegates' key pairs by rank, and how long a signature's field is.

        `remember` is for delegates that share a process and whose time is modelled: no signature is
        checked twice, and all follow from what is signed.
        """
        self.signer = opened(algorithm)
        self.field_bytes = field_bytes
        self._keys = pairs
        self._known: dict[tuple[int, bytes, bytes], bool] | None = {} if remember else None

    def public_key(self, rank: int) -> bytes:
        """Return the public key of a delegate."""
        return self._keys[rank][0]

    def sign(self, rank: int, statement: bytes) -> bytes:
        """Sign as a delegate, again and again until the signature fits into its field.

        Raises CryptoFailure if it does not.
        """
        secret_key = self._keys[rank][1]
        modelled = self._known is not None
        purpose = b"%d sign " % rank + statement
        with seeded_randomness(purpose) if modelled else nullcontext():
            for _ in range(_MOST_ATTEMPTS):
                signature = self.signer.sign(statement, secret_key)
                if len(signature) <= self.field_bytes:
                    return signature
        raise CryptoFailure(
            f"{self.signer.algorithm.name} gave {_MOST_ATTEMPTS} signatures of more than "
            f"{self.field_bytes} bytes; expected shorter ones: use costs with its real sizes"
        )

    def verify(self, rank: int, statement: bytes, signature: bytes) -> bool:
        """Return whether a delegate signed that; False for a rank that there is not."""
        if not 0 <= rank < len(self._keys):
            return False
        if self._known is None:
            return self.signer.verify(statement, signature, self._keys[rank][0])
        known = self._known.get(case := (rank, statement, signature))
        if known is None:
            known = self.signer.verify(statement, signature, self._keys[rank][0])
            self._known[case] = known
        return known
