"""Parameter sets, hashing and encodings of Falcon (specification 1.2, round 3).

Written from the specification, independent of the tested C code, with integers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

Q = 12289
SALT_BYTES = 40
MAX_COEFFICIENT = 2047
"""Greatest absolute coefficient of s2 that the reference code encodes and decodes."""
SECOND_ROUND_BOUNDS = {512: 43533782, 1024: 87067565}
"""Bound on the squared norm in the reference code of the second-round submission, by n."""


@dataclass(frozen=True, slots=True)
class FalconParameters:
    """One column of the specification's table 3.3, with padded or unpadded signatures."""

    name: str
    n: int
    bound: int
    """Greatest squared norm of a signature."""
    padded_bytes: int
    padded: bool

    @property
    def log_n(self) -> int:
        """Binary logarithm of n, in the low bits of both header bytes."""
        return self.n.bit_length() - 1

    @property
    def public_key_bytes(self) -> int:
        """Length of a public key: a header byte and n values of 14 bits."""
        return 1 + 14 * self.n // 8


PARAMETER_SETS = {
    parameters.name: parameters
    for parameters in (
        FalconParameters("Falcon-512", 512, 34034726, 666, False),
        FalconParameters("Falcon-1024", 1024, 70265242, 1280, False),
        FalconParameters("Falcon-padded-512", 512, 34034726, 666, True),
        FalconParameters("Falcon-padded-1024", 1024, 70265242, 1280, True),
    )
}


def centred(values: Integers) -> Integers:
    """Reduce values modulo q to representatives in (-q/2, q/2)."""
    reduced: Integers = (values + Q // 2) % Q - Q // 2
    return reduced


def times(a: Integers, b: Integers) -> Integers:
    """Return the product of two polynomials modulo x^n + 1, over the integers."""
    # The convolution of int64 arrays is exact; x^n = -1 folds its upper half back with a minus.
    n = len(a)
    full = np.convolve(a, b)
    product: Integers = full[:n] - np.append(full[n:], 0)
    return product


def samples_used(n: int, data: bytes, limit: int = 5 * Q) -> Integers:
    """Return the 16-bit samples drawn until n of them are below `limit` (algorithm 3)."""
    samples = np.frombuffer(shake_256(data).digest(4 * n), ">u2").astype(np.int64)
    accepted = np.flatnonzero(samples < limit)
    assert len(accepted) >= n, "fewer than n of 2n samples are below the limit: 1 in 2^300"
    return samples[: accepted[n - 1] + 1]


@lru_cache(maxsize=4096)
def hash_to_point(n: int, data: bytes, limit: int = 5 * Q) -> Integers:
    """Return the n coefficients to which `data`, salt and message, hashes (algorithm 3)."""
    samples = samples_used(n, data, limit)
    return samples[samples < limit] % Q


def to_bytes(bits: str) -> bytes:
    """Return bits as bytes, highest bit first, padded with zeros."""
    bits += "0" * (-len(bits) % 8)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big")


def to_bits(data: bytes) -> str:
    """Return the bits of bytes, highest bit first."""
    return f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}" if data else ""


def compress(s2: Sequence[int]) -> str:
    """Compress s2 to bits: for each value, sign, seven low bits, rest in unary (algorithm 17)."""
    return "".join(f"{int(v < 0)}{abs(v) & 127:07b}{'0' * (abs(v) >> 7)}1" for v in map(int, s2))


@dataclass(frozen=True, slots=True)
class Decoded:
    """Result of decoding the compressed bits of s2."""

    s2: list[int]
    """The coefficients; fewer than n if the bits end early."""
    minus_zeros: list[int]
    used_bits: int


@lru_cache(maxsize=4096)
def decompress(n: int, data: bytes) -> Decoded:
    """Decode n coefficients (algorithm 18), without the validity checks of the algorithm."""
    bits, at = to_bits(data), 0
    s2: list[int] = []
    minus_zeros = []
    while len(s2) < n:
        end = bits.find("1", at + 8)
        if end < 0:
            break
        size = int(bits[at + 1 : at + 8], 2) + 128 * (end - at - 8)
        if bits[at] == "1" and not size:
            minus_zeros.append(len(s2))
        s2.append(-size if bits[at] == "1" else size)
        at = end + 1
    return Decoded(s2, minus_zeros, at)


def encode_key(coefficients: Sequence[int], header: int | None = None) -> bytes:
    """Return an encoded public key: header, 14 bits per coefficient (section 3.11.4)."""
    n = len(coefficients)
    head = n.bit_length() - 1 if header is None else header
    return bytes([head]) + to_bytes("".join(f"{int(value):014b}" for value in coefficients))


@lru_cache(maxsize=256)
def decode_key(body: bytes) -> Integers:
    """Return the 14-bit values of a public key without its header; values of q or more are kept."""
    bits = np.unpackbits(np.frombuffer(body, np.uint8)).reshape(-1, 14)
    values: Integers = bits @ (np.int64(1) << np.arange(13, -1, -1))
    return values


def encode_uncompressed(s2: Sequence[int]) -> bytes:
    """Encode s2 with 12 bits per coefficient, in two's complement (section 3.11.3, cc = 10)."""
    return to_bytes("".join(f"{int(value) & 4095:012b}" for value in s2))
