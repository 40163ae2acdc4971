"""Parameter sets, addresses and hash functions of SLH-DSA (FIPS 205).

Written from the standard, independent of the tested C code. Slow and not constant-time, because
verification has no secret inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256, sha512, shake_256
from struct import Struct
from typing import Any, NamedTuple

WOTS_HASH, WOTS_PK, TREE, FORS_TREE, FORS_ROOTS, WOTS_PRF, FORS_PRF = range(7)
"""Types of addresses (FIPS 205, table 1)."""

W = 16
"""Length of a chain of WOTS+; its digits have 4 bits."""
CHECKSUM_DIGITS = 3


@dataclass(frozen=True, slots=True)
class SLHDSAParameters:
    """One row of FIPS 205, table 2."""

    name: str
    n: int
    h: int
    d: int
    a: int
    k: int

    @property
    def sha2(self) -> bool:
        """Whether the hash functions are SHA2, with compressed addresses, and not SHAKE256."""
        return "SHA2" in self.name

    @property
    def tree_height(self) -> int:
        """Height h' of each tree of the hypertree."""
        return self.h // self.d

    @property
    def chains(self) -> int:
        """Number of chains of a WOTS+ key."""
        return 2 * self.n + CHECKSUM_DIGITS

    @property
    def digest_parts(self) -> tuple[int, int, int]:
        """Lengths in bytes of the parts of a message digest: FORS indices, tree and leaf."""
        bits = (self.k * self.a, self.h - self.tree_height, self.tree_height)
        return tuple(-(-count // 8) for count in bits)  # type: ignore[return-value]

    @property
    def public_key_bytes(self) -> int:
        """Length of a public key: seed and root."""
        return 2 * self.n

    @property
    def fors_bytes(self) -> int:
        """Length of a FORS signature."""
        return self.k * (1 + self.a) * self.n

    @property
    def layer_bytes(self) -> int:
        """Length of the signature of one layer: chains and authentication path."""
        return (self.chains + self.tree_height) * self.n

    @property
    def signature_bytes(self) -> int:
        """Length of a signature: randomness, FORS signature and one signature per layer."""
        return self.n + self.fors_bytes + self.d * self.layer_bytes


PARAMETER_SETS = {
    name: SLHDSAParameters(name, *row)
    for size, row in {
        "128s": (16, 63, 7, 12, 14),
        "128f": (16, 66, 22, 6, 33),
        "192s": (24, 63, 7, 14, 17),
        "192f": (24, 66, 22, 8, 33),
        "256s": (32, 64, 8, 14, 22),
        "256f": (32, 68, 17, 9, 35),
    }.items()
    for name in (f"SLH-DSA-SHA2-{size}", f"SLH-DSA-SHAKE-{size}")
}


_ADDRESS, _COMPRESSED = Struct(">I4xQ4I"), Struct(">BQB3I")


class Address(NamedTuple):
    """An address; its last three words depend on the type (FIPS 205, section 4.2)."""

    layer: int = 0
    tree: int = 0
    """Index of the tree, of at most 64 bits in all sets; the address has 96."""
    type: int = 0
    words: tuple[int, int, int] = (0, 0, 0)

    def encoded(self) -> bytes:
        """Return the 32 bytes of the address."""
        layer, tree, kind, words = self
        return _ADDRESS.pack(layer, tree, kind, *words)

    def compressed(self) -> bytes:
        """Return the 22 bytes that the functions of SHA2 hash (FIPS 205, section 11.2)."""
        layer, tree, kind, words = self
        return _COMPRESSED.pack(layer, tree, kind, *words)


@lru_cache(maxsize=64)
def _seeded(hash_name: str, seed: bytes) -> Any:
    """Return a hash object that has absorbed the seed and, for SHA2, zeros up to a block."""
    if hash_name == "shake":
        return shake_256(seed)
    return (
        sha256(seed.ljust(64, b"\0")) if hash_name == "sha256" else sha512(seed.ljust(128, b"\0"))
    )


def tweaked_hash(p: SLHDSAParameters, seed: bytes, address: Address, data: bytes) -> bytes:
    """Return F of n bytes, or H or T of more (FIPS 205, section 11); also PRF of a secret seed."""
    if not p.sha2:
        function = _seeded("shake", seed).copy()
        function.update(address.encoded() + data)
        digest: bytes = function.digest(p.n)
        return digest
    # F and PRF use SHA-256 in all sets; H and T use SHA-512 from 24 bytes on.
    long = p.n > 16 and len(data) > p.n
    function = _seeded("sha512" if long else "sha256", seed).copy()
    function.update(address.compressed() + data)
    truncated: bytes = function.digest()[: p.n]
    return truncated


def message_digest(p: SLHDSAParameters, randomness: bytes, key: bytes, message: bytes) -> bytes:
    """Return H_msg of a message with its prefix (FIPS 205, section 11)."""
    length = sum(p.digest_parts)
    if not p.sha2:
        return shake_256(randomness + key + message).digest(length)
    function = sha256 if p.n == 16 else sha512
    inner = function(randomness + key + message).digest()
    return mgf1(function, randomness + key[: p.n] + inner, length)


def mgf1(function: Any, seed: bytes, length: int) -> bytes:
    """Return `length` bytes of MGF1 (RFC 8017, appendix B.2.1)."""
    blocks = -(-length // function().digest_size)
    mask = (function(seed + i.to_bytes(4, "big")).digest() for i in range(blocks))
    return b"".join(mask)[:length]


def digits(data: bytes, bits: int, count: int) -> list[int]:
    """Return `count` digits of `bits` bits, the highest bit first (FIPS 205, algorithm 4)."""
    value, total = int.from_bytes(data, "big"), 8 * len(data)
    return [value >> (total - bits * (i + 1)) & ((1 << bits) - 1) for i in range(count)]


def chain_digits(p: SLHDSAParameters, message: bytes) -> list[int]:
    """Return the digits of an n-byte message and its checksum (FIPS 205, algorithm 8)."""
    values = digits(message, 4, 2 * p.n)
    # 12 bits, shifted to the highest bits of two bytes.
    checksum = sum(W - 1 - value for value in values) << 4
    return values + digits(checksum.to_bytes(2, "big"), 4, CHECKSUM_DIGITS)


def nodes(leaves: Sequence[bytes], parent: Any) -> list[list[bytes]]:
    """Return the levels of a tree; `parent` is a function of height, index, and two nodes."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append(
            [
                parent(len(levels), i, below[2 * i] + below[2 * i + 1])
                for i in range(len(below) // 2)
            ]
        )
    return levels
