"""SHRINCS, a draft: stateful signatures of a tree of one-time keys, and a stateless fallback.

The proposal is SHRINCS/shrincs-bip at commit 18044f4ea7bf002c6cedcf7650b020feae2f475f
(impl/shrincs.py). It may change, and keys and signatures with it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal

from pqchain import algorithms, checks
from pqchain.crypto import native
from pqchain.crypto.abi import OK
from pqchain.crypto.builds import obstacle
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.errors import BadLength, CryptoFailure, UsageError

IMPLEMENTATIONS = algorithms.get("SLH-DSA-SHA2-128s").implementations
"""Implementations, preferred first: SHRINCS is in the libraries of SLH-DSA."""

SEED_BYTES, PUBLIC_KEY_BYTES, SECRET_KEY_BYTES, STATELESS_BYTES = 48, 48, 82, 5777
SHAPES = ("unbalanced", "balanced")
MOST_DEPTH = {"unbalanced": 255, "balanced": 20}
"""Greatest depth of each shape. The draft has no bound; a balanced tree of 20 takes minutes."""
MOST_CONTEXT_BYTES = 255


@dataclass(frozen=True, slots=True)
class Structure:
    """The stateful tree: depth + 1 leaves if unbalanced, 2^depth if balanced; none for depth 0."""

    shape: Literal["unbalanced", "balanced"]
    depth: int

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise UsageError(f"shape must be unbalanced or balanced; got {self.shape!r}.")
        most = MOST_DEPTH[self.shape]
        if type(self.depth) is not int or not 0 <= self.depth <= most:
            raise UsageError(
                f"depth must be a whole number from 0 to {most} if {self.shape}; got "
                f"{self.depth!r}."
            )

    def encode(self) -> bytes:
        """Return the two bytes that the secret key contains."""
        return bytes((SHAPES.index(self.shape), self.depth))

    @property
    def leaves(self) -> int:
        """Number of stateful signatures of a key."""
        if self.depth == 0:
            return 0
        return 1 << self.depth if self.shape == "balanced" else self.depth + 1


class ShrincsSigner:
    """SHRINCS in one implementation. Keeps no keys and no state: the caller counts signatures."""

    def __init__(self, implementation: str | None = None) -> None:
        if implementation is None:
            usable = (name for name in IMPLEMENTATIONS if not obstacle(name))
            implementation = next(usable, IMPLEMENTATIONS[0])
        if implementation not in IMPLEMENTATIONS:
            raise UsageError(
                f"the implementation of SHRINCS must be one of {', '.join(IMPLEMENTATIONS)}; got "
                f"{implementation!r}."
            )
        self.implementation = implementation
        self._library = native.library(implementation)

    def generate_keypair(
        self, structure: Structure, seed: BytesLike | None = None
    ) -> tuple[bytes, bytes]:
        """Return (public key of 48 bytes, secret key of 82 bytes), by default of a random seed."""
        drawn = secrets.token_bytes(SEED_BYTES) if seed is None else _exactly("seed", seed, 48)
        public_key, secret_key = bytearray(PUBLIC_KEY_BYTES), bytearray(SECRET_KEY_BYTES)
        code = self._library.call(
            "shrincs_make_keypair", public_key, secret_key, drawn, structure.encode()
        )
        if code != OK:
            raise CryptoFailure(f"no key of {structure}: code {code}")
        return bytes(public_key), bytes(secret_key)

    def sign(
        self,
        message: BytesLike,
        secret_key: BytesLike,
        *,
        counter: int | None,
        context: BytesLike = b"",
        randomness: BytesLike | None = None,
    ) -> bytes:
        """Return a signature by leaf number `counter`, or a stateless one if it is None.

        Never sign two messages with one counter: write counter + 1 to stable storage before the
        signature leaves. `randomness` (16 bytes, drawn by default) is for stateless signatures.
        Raises UsageError if the tree has no such leaf, BadType, BadLength, and CryptoFailure if
        the secret key is damaged.
        """
        key = _exactly("secret key", secret_key, SECRET_KEY_BYTES)
        text, ctx = as_bytes("message", message), _context(context)
        number, length = -1, STATELESS_BYTES
        if counter is not None:
            checks.integer("counter", counter, least=0)
            number = counter
            length = self._library.call("shrincs_length", key[64:66], number)
            if length == 0:
                raise UsageError(
                    f"counter must be below the number of leaves of the key; got {counter}. Sign "
                    "without state (counter=None), or with a new key."
                )
        drawn = (
            secrets.token_bytes(16)
            if randomness is None
            else _exactly("randomness", randomness, 16)
        )
        signature = bytearray(length)
        arguments = (text, len(text), ctx, len(ctx), key, number, drawn)
        code = self._library.call("shrincs_sign", signature, *arguments)
        if code != OK:
            raise CryptoFailure(f"SHRINCS, operation sign: code {code}; the key may be damaged")
        return bytes(signature)

    def verify(
        self,
        message: BytesLike,
        signature: BytesLike,
        public_key: BytesLike,
        context: BytesLike = b"",
    ) -> bool:
        """Return whether a signature of either kind is valid. Raises BadType and BadLength."""
        key = _exactly("public key", public_key, PUBLIC_KEY_BYTES)
        text, signed, ctx = (
            as_bytes("message", message), as_bytes("signature", signature), _context(context)
        )  # fmt: skip
        arguments = (text, len(text), signed, len(signed), ctx, len(ctx), key)
        return self._library.call("shrincs_check", *arguments) == OK


def _exactly(name: str, value: BytesLike, count: int) -> bytes:
    checked = as_bytes(name, value)
    if len(checked) != count:
        raise BadLength(f"the {name} of SHRINCS must have {count} bytes; got {len(checked)}.")
    return checked


def _context(value: BytesLike) -> bytes:
    checked = as_bytes("context", value)
    if len(checked) > MOST_CONTEXT_BYTES:
        raise BadLength(
            f"the context of SHRINCS must have at most {MOST_CONTEXT_BYTES} bytes; got "
            f"{len(checked)}. Shorten or hash it."
        )
    return checked
