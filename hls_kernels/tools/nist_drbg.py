"""Deterministic random generator of NIST's known-answer tests.

Not for real keys: the seed determines every byte.
"""

from __future__ import annotations

from Crypto.Cipher import AES

from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.errors import BadLength, UsageError

SEED_BYTES = 48
"""A seed is a key of 32 bytes and a counter block of 16."""

_BLOCK_BYTES = 16


class NistDrbg:
    """AES-256-CTR-DRBG of SP 800-90A without derivation function, as NIST's KAT programs use it.

    Each request counts: `random_bytes(2)` twice is not `random_bytes(4)`. Not thread-safe.
    """

    __slots__ = ("_counter", "_key")

    def __init__(self, seed: BytesLike) -> None:
        self.reseed(seed)

    def reseed(self, seed: BytesLike) -> None:
        """Reset the state from a 48-byte seed."""
        seed = as_bytes("seed", seed)
        if len(seed) != SEED_BYTES:
            raise BadLength(f"seed must have {SEED_BYTES} bytes; got {len(seed)}")
        self._key = bytes(32)
        self._counter = 0
        self._update(seed)

    def random_bytes(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        if count < 0:
            raise UsageError(f"count must be at least 0; got {count}")
        stream = self._blocks(-(-count // _BLOCK_BYTES))
        self._update(bytes(SEED_BYTES))
        return stream[:count]

    __call__ = random_bytes

    def save(self) -> tuple[bytes, int]:
        """Return the state, for `restore`."""
        return self._key, self._counter

    def restore(self, state: tuple[bytes, int]) -> None:
        """Continue from a state that `save` returned."""
        self._key, self._counter = state

    def copy(self) -> NistDrbg:
        """Return an independent generator with the same state."""
        copy = object.__new__(NistDrbg)
        copy.restore(self.save())
        return copy

    def _blocks(self, count: int) -> bytes:
        """Return the AES encryptions of the next `count` values of the counter."""
        modulus = 1 << (8 * _BLOCK_BYTES)
        counters = b"".join(
            ((self._counter + step) % modulus).to_bytes(_BLOCK_BYTES, "big")
            for step in range(1, count + 1)
        )
        self._counter = (self._counter + count) % modulus
        return AES.new(self._key, AES.MODE_ECB).encrypt(counters)

    def _update(self, data: bytes) -> None:
        """Replace key and counter, so that earlier output cannot be computed from them."""
        fresh = self._blocks(SEED_BYTES // _BLOCK_BYTES)
        mixed = bytes(a ^ b for a, b in zip(fresh, data, strict=True))
        self._key = mixed[:32]
        self._counter = int.from_bytes(mixed[32:], "big")
