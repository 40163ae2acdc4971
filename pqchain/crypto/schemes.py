"""Signature schemes and KEMs of our native libraries, behind the interface of all schemes."""

from __future__ import annotations

from collections.abc import Callable

from pqchain.algorithms import Algorithm
from pqchain.crypto import native
from pqchain.crypto.interface import Kem, Scheme, Signer


class _Native(Scheme):
    """What both kinds share: the library, and its key pairs."""

    def __init__(self, algorithm: Algorithm, implementation: str) -> None:
        """Load the library; raises Unsupported if it is not here or lacks the algorithm."""
        super().__init__(algorithm, implementation)
        self.library = native.library(implementation)
        self.library.scheme(algorithm.name)

    def _generate_keypair(self) -> tuple[bytes, bytes]:
        public_key, secret_key = self._filled("keypair", "public_key_bytes secret_key_bytes")
        return public_key, secret_key

    def _filled(self, operation: str, lengths: str, *given: bytes) -> list[bytes]:
        return self.library.filled(operation, self.algorithm, lengths.split(), *given)


class NativeSigner(_Native, Signer):
    """A signature scheme of a native library."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        return self.library.sign(self.algorithm, message, secret_key, context)

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        return self.library.verify(self.algorithm, message, signature, public_key, context)

    def _verify_batch(
        self,
        messages: list[bytes],
        signatures: list[bytes],
        public_keys: list[bytes],
        *,
        threads: int,
        stop_at_first: bool,
    ) -> list[int]:
        """Lay everything out in memory once, then make one call of C."""
        if not messages:
            return []
        batch = native.Batch(self.library, self.algorithm, messages, signatures, public_keys)
        if not batch.run(threads, stop_at_first=stop_at_first):
            return []
        return batch.wrong()[:1] if stop_at_first else batch.wrong()


class NativeKem(_Native, Kem):
    """A key-encapsulation mechanism of a native library."""

    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        lengths = "ciphertext_bytes shared_secret_bytes"
        ciphertext, shared_secret = self._filled("encapsulate", lengths, public_key)
        return ciphertext, shared_secret

    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        return self._filled("decapsulate", "shared_secret_bytes", ciphertext, secret_key)[0]


def plain_loop(
    signer: Signer, messages: list[bytes], signatures: list[bytes], public_keys: list[bytes]
) -> Callable[[], int] | None:
    """Return a call that is nothing but the loop in C over these signatures, for comparison.

    It counts the wrong ones. None if the scheme is not in a native library of ours.
    """
    if not isinstance(signer, NativeSigner):
        return None
    batch = native.Batch(signer.library, signer.algorithm, messages, signatures, public_keys)
    return lambda: batch.run(1)
