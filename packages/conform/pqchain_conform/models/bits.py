"""Encoding of polynomials of 256 coefficients with a fixed number of bits for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

N = 256


def pack(values: Integers, bits: int) -> bytes:
    """Encode each value with `bits` bits, the lowest bit first (FIPS 203 and 204)."""
    digits = (values.reshape(-1, 1) >> np.arange(bits)) & 1
    return np.packbits(digits.astype(np.uint8), bitorder="little").tobytes()


def unpack(data: bytes, bits: int) -> Integers:
    """Decode rows of 256 values with `bits` bits each, without reduction."""
    digits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, bits)
    values: Integers = digits @ (np.int64(1) << np.arange(bits, dtype=np.int64))
    return values.reshape(-1, N)
