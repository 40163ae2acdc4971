"""Keys of delegates and wallets, signing and verification.

On a modelled clock liboqs draws keys from their owner and number and signatures from the signed
statement, so that a seed gives the same bytes; classical schemes sign deterministically with fresh
keys. On a real clock all keys are made once and passed to every process, and signing uses the
system's randomness.
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
"""Maximum signing attempts; half of them fit a field of the mean length."""

Keypair = tuple[bytes, bytes]
"""Public and secret key."""


def opened(algorithm: str) -> Signer:
    """Return the signer of a scheme, opened once and shared by threads. Raises Unsupported."""
    return _opened(algorithms.get(algorithm))


@lru_cache(maxsize=4096)
def _opened(row: Algorithm) -> Signer:
    return open_signer(row.name)


def keypair(algorithm: str, owner: str, number: int) -> Keypair:
    """Return the key pair of an owner, "delegate" or "wallet", with that number."""
    return _keypair(algorithms.get(algorithm), owner, number)


@lru_cache(maxsize=65536)
def _keypair(row: Algorithm, owner: str, number: int) -> Keypair:
    signer = _opened(row)
    with seeded_randomness(f"{owner} {number}".encode()):
        return signer.generate_keypair()


def keypairs(algorithm: str, owner: str, numbers: Iterable[int]) -> list[Keypair]:
    """Return the key pairs of an owner with those numbers."""
    return [keypair(algorithm, owner, int(number)) for number in numbers]


class Directory:
    """Key pairs of the delegates by rank, to sign and to verify."""

    def __init__(
        self, algorithm: str, pairs: Sequence[Keypair], field_bytes: int, *, remember: bool
    ) -> None:
        """Take the delegates' key pairs by rank, and the length of the signature field.

        `remember` is for delegates that share a process and a modelled clock: verifications are
        cached, and randomness follows from what is signed.
        """
        self.signer = opened(algorithm)
        self.field_bytes = field_bytes
        self._keys = pairs
        self._known: dict[tuple[int, bytes, bytes], bool] | None = {} if remember else None

    def public_key(self, rank: int) -> bytes:
        """Return the public key of a delegate."""
        return self._keys[rank][0]

    def sign(self, rank: int, statement: bytes) -> bytes:
        """Sign as a delegate, repeatedly until the signature fits into its field.

        Raises CryptoFailure if no attempt fits.
        """
        secret_key = self._keys[rank][1]
        modelled = self._known is not None
        purpose = b"%d sign " % rank + statement
        # The seed covers all attempts: seeded again, each would give the same signature.
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
        """Return whether a delegate's signature is valid; False for an unknown rank."""
        if not 0 <= rank < len(self._keys):
            return False
        if self._known is None:
            return self.signer.verify(statement, signature, self._keys[rank][0])
        known = self._known.get(case := (rank, statement, signature))
        if known is None:
            known = self.signer.verify(statement, signature, self._keys[rank][0])
            self._known[case] = known
        return known
