"""Keys of delegates and wallets, signing and verification.

On a modelled clock liboqs draws keys from their owner and number and signatures from the signed
statement, so that a seed gives the same bytes; classical schemes sign deterministically with fresh
keys. On a real clock all keys are made once and passed to every process, and signing uses the
system's randomness.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache

from pqchain.algorithms import Algorithm
from pqchain.crypto import Signer, open_signer
from pqchain.crypto.native import seeded_randomness
from pqchain.errors import CryptoFailure

_MAX_ATTEMPTS = 10_000
"""Maximum signing attempts; half of them fit a field of the mean length."""

Keypair = tuple[bytes, bytes]
"""Public and secret key."""


@lru_cache(maxsize=4096)
def shared_signer(row: Algorithm) -> Signer:
    """Return the signer of a scheme, which is opened only once. Raises Unsupported."""
    return open_signer(row.name)


@lru_cache(maxsize=65536)
def keypair(row: Algorithm, owner: str, number: int) -> Keypair:
    """Return the key pair of the delegate or wallet (`owner`) with this number."""
    signer = shared_signer(row)
    with seeded_randomness(f"{owner} {number}".encode()):
        return signer.generate_keypair()


class DelegateKeys:
    """Key pairs of the delegates by rank, to sign and to verify."""

    def __init__(
        self,
        algorithm: Algorithm,
        pairs: Sequence[Keypair],
        field_bytes: int,
        *,
        modelled_clock: bool,
    ) -> None:
        """Store the delegates' key pairs, in order of rank, and the length of signature fields.

        On a modelled clock all delegates share a process, so verifications are cached, and the
        randomness of a signature is derived from its statement.
        """
        self.signer = shared_signer(algorithm)
        self.field_bytes = field_bytes
        self._keys = pairs
        self._verified: dict[tuple[int, bytes, bytes], bool] | None = {} if modelled_clock else None

    def sign(self, rank: int, statement: bytes) -> bytes:
        """Sign with a delegate's key, repeatedly until the signature fits into its field.

        Raises CryptoFailure if no attempt fits.
        """
        secret_key = self._keys[rank][1]
        seed = b"%d sign " % rank + statement
        # The seed covers all attempts: seeded again, each would give the same signature.
        with nullcontext() if self._verified is None else seeded_randomness(seed):
            for _ in range(_MAX_ATTEMPTS):
                signature = self.signer.sign(statement, secret_key)
                if len(signature) <= self.field_bytes:
                    return signature
        raise CryptoFailure(
            f"signatures of {self.signer.algorithm.name} must have at most {self.field_bytes} "
            f"bytes; got {_MAX_ATTEMPTS} longer ones. Use costs with the scheme's real sizes."
        )

    def verify(self, rank: int, statement: bytes, signature: bytes) -> bool:
        """Return whether a delegate's signature is valid; False for an unknown rank."""
        if not 0 <= rank < len(self._keys):
            return False
        verified = {} if self._verified is None else self._verified
        case = rank, statement, signature
        if case not in verified:
            verified[case] = self.signer.verify(statement, signature, self._keys[rank][0])
        return verified[case]
