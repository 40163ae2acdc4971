"""Random numbers by counter: the same (seed, purpose, i, j) gives the same number in every engine.

No generator has a state, so the order in which an engine asks does not matter. The mixing function
is SplitMix64's (Steele, Lea, Flood, OOPSLA 2014). Everything is an unsigned integer of 64 bits, in
Python, in numpy and in compiled code alike; the tests compare the three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MASK = 0xFFFF_FFFF_FFFF_FFFF
"""Keeps 64 bits."""

GOLDEN = 0x9E37_79B9_7F4A_7C15
"""SplitMix64's increment, 2^64 over the golden ratio."""

MULTIPLIERS = 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB
"""SplitMix64's two multipliers."""

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = map(np.uint64, MULTIPLIERS)

PURPOSES = "jitter loss delay peer region luck ballot weight length arrival"
"""What a draw is for, numbered from 1; two purposes never share a number."""


def mix(value: int) -> int:
    """Return SplitMix64's output function of a 64-bit state."""
    value = ((value ^ (value >> 30)) * MULTIPLIERS[0]) & MASK
    value = ((value ^ (value >> 27)) * MULTIPLIERS[1]) & MASK
    return value ^ (value >> 31)


def key(seed: int, purpose: str, *, round_number: int = 0) -> int:
    """Return the 64-bit key of a family of draws."""
    number = PURPOSES.split().index(purpose) + 1
    first = mix(((seed & MASK) + GOLDEN) & MASK)
    return mix((first + number * GOLDEN + mix((round_number + GOLDEN) & MASK)) & MASK)


def draw(family: int, i: int, j: int = 0) -> int:
    """Return the 64-bit number of the pair (i, j), each below 2^32."""
    return mix((mix(family ^ ((i << 32) | j)) + GOLDEN) & MASK)


def drawn(family: Any, i: Any, j: Any) -> Any:
    """Return `draw` in unsigned numbers of 64 bits that wrap around: for numpy and for numba."""
    value = family ^ ((np.uint64(i) << np.uint64(32)) | np.uint64(j))
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    value = (value ^ (value >> np.uint64(31))) + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def draws(family: int, i: Any, j: Any) -> npt.NDArray[np.uint64]:
    """Return `draw` for arrays of i and j at once."""
    with np.errstate(over="ignore"):
        numbers: npt.NDArray[np.uint64] = drawn(np.uint64(family), i, j)
    return numbers


def scaled(number: int, span: int) -> int:
    """Return the draw as a whole number from 0 to span - 1; span is below 2^32, or 1 gives 0."""
    return ((number >> 32) * span) >> 32


def below(family: int, i: Any, j: Any, span: Any) -> npt.NDArray[np.int64]:
    """Return `scaled` draws for arrays of i, j and span at once."""
    high = draws(family, i, j) >> np.uint64(32)
    numbers = (high * np.asarray(span, dtype=np.uint64)) >> np.uint64(32)
    return numbers.astype(np.int64)


def threshold(probability: float) -> int:
    """Return the bound below which a draw happens with that probability."""
    return min(MASK, int(probability * 2.0**64))
