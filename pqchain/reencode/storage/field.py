"""Arithmetic in GF(256) and the matrices of a systematic Reed-Solomon code over it.

Small matrices: knows nothing of chunks, and is asked once for each matrix.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

POLYNOMIAL = 0x11D
"""x^8 + x^4 + x^3 + x^2 + 1, the field of reedsolo, ISA-L and QR codes."""


@cache
def products() -> Bytes:
    """Return the table of all products: of elements a and b at [a, b]."""
    left = right = np.arange(256)
    table = np.zeros((256, 256), np.uint8)
    for bit in range(8):
        table ^= np.outer(left, right >> bit & 1).astype(np.uint8)
        left = left << 1 ^ (left >> 7) * POLYNOMIAL
    return table


@cache
def parity_matrix(data_chunks: int, parity_chunks: int) -> Bytes:
    """Return the rows that turn data into parity: reedsolo's code as a linear map.

    A codeword is the data followed by the remainder of its division by the generator polynomial
    (x - 1)(x - 2)(x - 4)...; column j is the remainder of the j-th unit vector.
    """
    table, root, generator = products(), 1, np.ones(1, np.uint8)
    for _ in range(parity_chunks):
        generator = np.pad(generator, (0, 1)) ^ np.pad(table[root, generator], (1, 0))
        root = table[root, 2]
    # The last unit vector is x^parity_chunks; each one before it is x times the next.
    columns = [generator[1:]]
    for _ in range(data_chunks - 1):
        first, *others = columns[-1]
        columns.append(np.array([*others, 0], np.uint8) ^ table[first, generator[1:]])
    return np.array(columns[::-1]).T


@cache
def recovery_matrix(
    data_chunks: int, parity_chunks: int, present: tuple[int, ...], missing: tuple[int, ...]
) -> Bytes:
    """Return the rows that turn the `present` chunks (as many as data) into the `missing` ones."""
    table, unit = products(), np.eye(data_chunks, dtype=np.uint8)
    matrix = np.vstack([unit, parity_matrix(data_chunks, parity_chunks)])
    # Gauss and Jordan; what turns data into as many chunks as data has an inverse.
    work = np.hstack([matrix[list(present)], unit])
    for column in range(data_chunks):
        pivot = column + np.flatnonzero(work[column:, column])[0]
        work[[column, pivot]] = work[[pivot, column]]
        inverse = np.flatnonzero(table[work[column, column]] == 1)[0]
        work[column] = table[inverse, work[column]]
        factors = work[:, column].copy()
        factors[column] = 0
        work ^= table[factors[:, None], work[column]]
    each = table[matrix[list(missing)][:, :, None], work[:, data_chunks:]]
    recovery: Bytes = np.bitwise_xor.reduce(each, axis=1)
    return recovery
