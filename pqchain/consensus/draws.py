"""Counter-based random numbers: functions of (seed, purpose, i, j), equal in every engine.

There is no generator state, so the order of draws does not matter. The mixing function is
SplitMix64's (Steele, Lea, Flood, OOPSLA 2014). All values are unsigned 64-bit integers, in Python,
numpy and compiled code; the tests compare the three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MASK = 0xFFFF_FFFF_FFFF_FFFF
"""Mask of 64 bits."""

GOLDEN = 0x9E37_79B9_7F4A_7C15
"""SplitMix64's increment: 2^64 divided by the golden ratio."""

MULTIPLIERS = 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB
"""SplitMix64's two multipliers."""

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = map(np.uint64, MULTIPLIERS)

# The position of a purpose enters its key: a new one goes last, so that existing draws stay.
PURPOSES = "jitter loss (delay) peer region luck ballot (weight) length"
"""Purposes of random numbers, numbered from 1; each has its own keys."""


def mix(value: int) -> int:
    """Apply SplitMix64's output function to a 64-bit state."""
    value = ((value ^ (value >> 30)) * MULTIPLIERS[0]) & MASK
    value = ((value ^ (value >> 27)) * MULTIPLIERS[1]) & MASK
    return value ^ (value >> 31)


def key(seed: int, purpose: str, *, round_number: int = 0) -> int:
    """Return the 64-bit key of the random numbers for one purpose and round."""
    number = PURPOSES.split().index(purpose) + 1
    first = mix(((seed & MASK) + GOLDEN) & MASK)
    return mix((first + number * GOLDEN + mix((round_number + GOLDEN) & MASK)) & MASK)


def draw(stream_key: int, i: int, j: int = 0) -> int:
    """Return the 64-bit random number of the pair (i, j); i and j must be below 2^32."""
    return mix((mix(stream_key ^ ((i << 32) | j)) + GOLDEN) & MASK)


def draw_unsigned(stream_key: Any, i: Any, j: Any) -> Any:
    """Compute `draw` with unsigned 64-bit numbers that wrap around, for numpy and numba."""
    # `mix` written out twice: it masks Python integers, while these wrap around by themselves.
    value = stream_key ^ ((np.uint64(i) << np.uint64(32)) | np.uint64(j))
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    value = (value ^ (value >> np.uint64(31))) + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def draw_array(stream_key: int, i: Any, j: Any) -> npt.NDArray[np.uint64]:
    """Compute `draw` for arrays of i and j."""
    # Wrapping around is intended here; numpy warns of it for scalars.
    with np.errstate(over="ignore"):
        numbers: npt.NDArray[np.uint64] = draw_unsigned(np.uint64(stream_key), i, j)
    return numbers


def scale(number: int, bound: int) -> int:
    """Scale a 64-bit random number to an integer from 0 to bound - 1; bound must be below 2^32."""
    # Upper 32 bits times the bound: fits into 64 bits in every implementation.
    return ((number >> 32) * bound) >> 32


def integers_below(stream_key: int, i: Any, j: Any, bound: Any) -> npt.NDArray[np.int64]:
    """Return random integers from 0 to bound - 1 for arrays of i, j and bound."""
    high = draw_array(stream_key, i, j) >> np.uint64(32)
    numbers = (high * np.asarray(bound, dtype=np.uint64)) >> np.uint64(32)
    return numbers.astype(np.int64)


def threshold(probability: float) -> int:
    """Return the bound such that a 64-bit random number is below it with this probability."""
    # 2^64 does not fit into 64 bits; with probability 1 one draw of 2^64 is missed.
    return min(MASK, int(probability * 2.0**64))
