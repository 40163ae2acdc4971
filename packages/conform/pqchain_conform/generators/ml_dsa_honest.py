"""ML-DSA vectors under a generated key, with signatures at the boundaries of the rules.

A verifier that rejects weak keys never applies the other rules under t1 = 0, so they are probed
here again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models import ml_dsa_signer as signer
from pqchain_conform.models.bits import N
from pqchain_conform.models.ml_dsa import PARAMETER_SETS
from pqchain_conform.vector import Collector

BLOCKS = (0, 1, 69, 70, 71, 205, 206, 207, 1000, 100_000)
"""Message lengths in bytes; after a 66-byte prefix, some end or begin a block of SHAKE256."""


def extend(collector: Collector) -> None:
    """Add the vectors of a FIPS 204 algorithm; Dilithium has none under honest keys."""
    if PARAMETER_SETS[collector.algorithm].standard:
        honest = HonestVectors(collector)
        honest.bounds_on_z()
        honest.hints()
        honest.messages_and_contexts()
        honest.lengths()


class HonestVectors:
    """Generator of vectors under one honest key pair; the signer can choose values of z."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.p = PARAMETER_SETS[collector.algorithm]
        self.random = np.random.default_rng([1, *collector.algorithm.encode()])
        self.key = signer.generate(collector.algorithm, bytes(32))

    def add(
        self,
        family: str,
        probe: str,
        valid: bool,
        signature: bytes,
        message: bytes = b"honest",
        *,
        context: bytes = b"",
        public_key: bytes = b"",
        other_key: bool = False,
    ) -> None:
        """Add a vector under the honest key, or under `public_key` if `other_key` is set."""
        # An empty public key is a case of its own, hence the flag instead of an empty default.
        self.collector.add(
            family, f"honest key, {probe}", valid, key="honest",
            public_key=public_key if other_key else self.key.public_key,
            message=message, signature=signature, context=context,
        )  # fmt: skip

    def sign(
        self,
        message: bytes = b"honest",
        prefix: bytes = b"\0\0",
        *,
        public_key: bytes | None = None,
        position: tuple[int, int] = (0, 0),
        value: int | None = None,
        condition: Callable[[bytes], bool] = lambda signature: True,
    ) -> bytes:
        """Return a signature that satisfies `condition` and whose z has `value` at `position`.

        `prefix` precedes the message; `public_key` is hashed in place of the honest key.
        """
        key = self.key.public_key if public_key is None else public_key
        mu = model.message_hash(self.p, key, message, prefix)
        return signer.steered(
            self.key, mu, self.random, position=position, value=value, condition=condition
        )

    def bounds_on_z(self) -> None:
        """Add vectors with z at its bound, for verifiers that reject t1 = 0."""
        bound = self.p.bound
        for column, n in ((0, 0), (0, N - 1), (self.p.columns - 1, 0), (self.p.columns - 1, N - 1)):
            for value in (bound - 1, 1 - bound, bound, -bound, bound + 1, -bound - 1):
                signature = self.sign(position=(column, n), value=value)
                probe = f"z[{column}][{n}] = {value}"
                self.add("z-bound", probe, abs(value) < bound, signature)

    def hints(self) -> None:
        """Add vectors with an honest signature, and with invalid encodings of its hints."""
        p = self.p
        start = p.signature_bytes - p.omega - p.rows

        # Swaps need two hints in the first and in the last row; insertions need free positions.
        def has_space(signature: bytes) -> bool:
            counts = signature[start + p.omega :]
            first_row, last_row = counts[0], counts[-1] - counts[-2]
            return first_row >= 2 and last_row >= 2 and counts[-1] < p.omega - 2

        good = self.sign(b"hints", condition=has_space)
        counts = list(good[start + p.omega :])
        positions = list(good[start : start + counts[-1]])
        self.add("hint-order", "hints as they should be", True, good, b"hints")

        def put(family: str, probe: str, positions: list[int], counts: list[int]) -> None:
            filled = bytes([*positions, *[0] * (p.omega - len(positions)), *counts])
            self.add(family, probe, False, good[:start] + filled, b"hints")

        def swapped(at: int) -> list[int]:
            return [*positions[:at], positions[at + 1], positions[at], *positions[at + 2 :]]

        put("hint-order", "first two hints exchanged", swapped(0), counts)
        put("hint-order", "last two hints exchanged", swapped(len(positions) - 2), counts)
        doubled = [count + 1 for count in counts]
        put("hint-order", "first hint twice", [positions[0], *positions], doubled)
        more = [*counts[:-1], counts[-1] + 1]
        put("hint-order", "last hint twice", [*positions, positions[-1]], more)
        free = p.omega - len(positions)
        for value in (1, 255):
            put("hint-padding", f"first byte of padding {value}", [*positions, value], counts)
            last = [*positions, *[0] * (free - 1), value]
            put("hint-padding", f"last byte of padding {value}", last, counts)

    def messages_and_contexts(self) -> None:
        """Add vectors with several message lengths, with contexts of up to 255 bytes and longer."""
        for length in BLOCKS:
            message = bytes(i * 7 % 251 for i in range(length))
            signature = self.sign(message)
            self.add("message", f"message of {length} bytes", True, signature, message)
        self.add("message", "another message", False, self.sign(b"message"), b"massage")
        plain = self.sign()
        for length in (1, 127, 128, 254, 255):
            context = bytes(range(length))
            signature = self.sign(prefix=bytes([0, length]) + context)
            self.add("context", f"context of {length} bytes", True, signature, context=context)
            probe = f"context of {length} bytes, signature without"
            self.add("context", probe, False, plain, context=context)
        moved = self.sign(prefix=b"\0\2ab")
        self.add("context", "context moved into the message", False, moved, b"abhonest")
        probe = "end of the context moved into the message"
        self.add("context", probe, False, moved, b"bhonest", context=b"a")
        for length in (256, 257, 511, 512, 65536):
            probe = f"context of {length} bytes, signature without"
            self.add("context", probe, False, plain, context=bytes(length))
        # Each prefix is what a faulty verifier would hash for a context of 256 bytes.
        long = bytes(range(256))
        for name, prefix in (
            ("length modulo 256", b"\0\0" + long),
            ("length cut to 255", b"\0\xff" + long),
            ("context and length cut to 255", b"\0\xff" + long[:255]),
            ("two bytes of length, big end first", b"\0\1\0" + long),
            ("two bytes of length, little end first", b"\0\0\1" + long),
            ("none at all", b"\0\0"),
        ):
            probe = f"context of 256 bytes, signed as {name}"
            self.add("context", probe, False, self.sign(prefix=prefix), context=long)
        for name, prefix in (
            ("signed as prehashed (first byte 1)", b"\1\0"),
            ("signed without domain and length, as Dilithium does", b""),
        ):
            self.add("context", name, False, self.sign(prefix=prefix))

    def lengths(self) -> None:
        """Add vectors with signatures and keys of wrong lengths, and signatures for such keys."""
        p = self.p
        good, key = self.sign(), self.key.public_key
        self.add("length", "all lengths as they should be", True, good)
        for name, other in (
            ("empty", b""),
            ("one byte", good[:1]),
            ("last byte missing", good[:-1]),
            ("first byte missing", good[1:]),
            ("a zero appended", good + b"\0"),
            ("a one appended", good + b"\1"),
            ("its message appended", good + b"honest"),
            ("challenge alone", good[: p.challenge_bytes]),
            ("hints missing", good[: -p.omega - p.rows]),
            ("twice", good + good),
        ):
            self.add("length", f"signature {name}", False, other)
        for name, other in (
            ("empty", b""),
            ("rho alone", key[:32]),
            ("last byte missing", key[:-1]),
            ("first byte missing", key[1:]),
            ("a zero appended", key + b"\0"),
        ):
            probe = f"public key {name}"
            self.add("length", probe, False, good, public_key=other, other_key=True)
            signature = self.sign(public_key=other)
            probe = f"{probe}, signed for it"
            self.add("length", probe, False, signature, public_key=other, other_key=True)
