"""Lengths of messages and signatures, and the mean number of transactions per block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

from pqchain import installation
from pqchain.consensus import draws

MESSAGE_HEADER_BYTES = 16
"""Length of the header before the body of each message; `delegates.messages` has its fields."""

HASH_BYTES = 32
"""Length of the block hash in a vote."""

VOTE_BYTES = MESSAGE_HEADER_BYTES + HASH_BYTES
"""Length of a vote without its signature."""


def certificate_bytes(signature_bytes: int, count: int) -> int:
    """Return the length of a certificate, a list of `count` votes without the block's hash.

    It has the view (2 bytes) and the number of votes (2), then for each the rank of the voter (3),
    the length of its signature (2) and a field of `signature_bytes`.
    """
    return 4 + count * (5 + signature_bytes)


@cache
def observed() -> Mapping[str, Mapping[int, int]]:
    """Return observed signatures per length in bytes, by algorithm.

    All other schemes of the registry have one length. A test compares them with new signatures.
    """
    tables = installation.read_toml(installation.data("consensus") / "lengths.toml")
    return {name: dict(enumerate(row["counts"], row["first"])) for name, row in tables.items()}


def distribution(algorithm: str, nominal_bytes: int) -> Mapping[int, int]:
    """Return the observed number of signatures by length; without data, 1 of nominal length."""
    return observed().get(algorithm, {nominal_bytes: 1})


def mean(lengths: Mapping[int, int]) -> float:
    """Return the mean length in bytes, weighted by count."""
    return sum(length * count for length, count in lengths.items()) / sum(lengths.values())


def mean_fill(lengths: Mapping[int, int], *, capacity_bytes: int, fixed_bytes: int) -> float:
    """Return the mean number of transactions that fit into a block, computed by convolution.

    A transaction has `fixed_bytes` and a signature of random length; a block takes transactions in
    order until the next does not fit, so the mean is the sum over n of P(n transactions fit).

    >>> mean_fill({100: 1, 200: 1}, capacity_bytes=300, fixed_bytes=0)
    1.875
    """
    low, high = min(lengths), max(lengths)
    single = np.zeros(high - low + 1)
    for length, count in lengths.items():
        single[length - low] = count
    single /= single.sum()
    # So many fit even if all are of the greatest length, so their terms of the sum are 1.
    number = max(0, capacity_bytes // (fixed_bytes + high))
    offset, total = _power(single, number)
    mean = float(number)
    while True:
        number += 1
        offset, total = _trimmed(offset, np.convolve(total, single))
        left_bytes = capacity_bytes - number * (fixed_bytes + low) - offset
        probability = float(total[: left_bytes + 1].sum()) if left_bytes >= 0 else 0.0
        if probability <= 0.0:
            return mean
        mean += probability


_Sum = tuple[int, npt.NDArray[np.float64]]
"""Distribution of a sum: its smallest value, and the probabilities from there on."""


def _power(single: npt.NDArray[np.float64], number: int) -> _Sum:
    """Return the distribution of the sum of `number` independent values, by repeated squaring."""
    offset, total = 0, np.ones(1)
    square_offset, square = 0, single
    while number:
        if number & 1:
            offset, total = _trimmed(offset + square_offset, np.convolve(total, square))
        number >>= 1
        square_offset, square = _trimmed(2 * square_offset, np.convolve(square, square))
    return offset, total


def _trimmed(offset: int, total: npt.NDArray[np.float64]) -> _Sum:
    """Drop values at both ends of a distribution whose probability is at most 1e-25."""
    # Far below the rounding error of a sum of doubles near 1; without it the arrays keep growing.
    kept = np.flatnonzero(total > 1e-25)
    return offset + int(kept[0]), total[kept[0] : kept[-1] + 1]


def sample(
    lengths: Mapping[int, int], *, count: int, seed: int, block: int
) -> npt.NDArray[np.int64]:
    """Draw the lengths in bytes of the first `count` signatures of a block."""
    values = np.array(sorted(lengths), dtype=np.int64)
    if len(values) == 1:
        return np.full(count, values[0])
    bounds = np.cumsum([lengths[int(value)] for value in values])
    key = draws.key(seed, "length", round_number=block)
    numbers = draws.integers_below(key, np.arange(count), 0, bounds[-1])
    drawn: npt.NDArray[np.int64] = values[np.searchsorted(bounds, numbers, side="right")]
    return drawn
