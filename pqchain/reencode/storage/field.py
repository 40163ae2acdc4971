"""Arithmetic in GF(256) and the matrices of a systematic Reed-Solomon code over it.

Small numbers in plain Python: knows nothing of chunks, and is asked once for each matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pqchain.errors import DataError

Bytes = NDArray[np.uint8]

POLYNOMIAL = 0x11D
"""x^8 + x^4 + x^3 + x^2 + 1, the field of reedsolo, ISA-L and QR codes."""


@cache
def _tables() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the powers of the generator 2, twice around, and the logarithms."""
    powers, logarithms, value = [0] * 510, [0] * 256, 1
    for exponent in range(255):
        powers[exponent] = powers[exponent + 255] = value
        logarithms[value] = exponent
        value = (value << 1) ^ (POLYNOMIAL if value & 0x80 else 0)
    return tuple(powers), tuple(logarithms)


def multiply(left: int, right: int) -> int:
    """Return the product of two elements."""
    powers, logarithms = _tables()
    return powers[logarithms[left] + logarithms[right]] if left and right else 0


def inverse(value: int) -> int:
    """Return the inverse of an element that is not 0."""
    powers, logarithms = _tables()
    return powers[255 - logarithms[value]]


@cache
def parity_matrix(data_chunks: int, parity_chunks: int) -> tuple[tuple[int, ...], ...]:
    """Return the rows that turn data into parity: reedsolo's code as a linear map.

    A codeword is the data followed by the remainder of its division by the generator polynomial
    (x - 1)(x - 2)(x - 4)...; column j is the remainder of the j-th unit vector.
    """
    powers, _ = _tables()
    generator = [1]
    for index in range(parity_chunks):
        timed = [multiply(coefficient, powers[index]) for coefficient in generator]
        generator = _sum([*generator, 0], [0, *timed])
    columns = []
    for unit in range(data_chunks):
        remainder = [0] * parity_chunks
        for place in range(data_chunks):
            feedback = remainder[0] ^ (place == unit)
            timed = [multiply(feedback, coefficient) for coefficient in generator[1:]]
            remainder = _sum([*remainder[1:], 0], timed)
        columns.append(remainder)
    return tuple(zip(*columns, strict=True))


@cache
def recovery_matrix(
    data_chunks: int, parity_chunks: int, present: tuple[int, ...], missing: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the rows that turn the `present` chunks (as many as data) into the `missing` ones."""
    parity = parity_matrix(data_chunks, parity_chunks)

    def row(index: int) -> list[int]:
        if index < data_chunks:
            return [int(index == column) for column in range(data_chunks)]
        return list(parity[index - data_chunks])

    inverted = _inverted([row(index) for index in present])
    return tuple(tuple(_times(row(index), inverted)) for index in missing)


def _sum(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [one ^ other for one, other in zip(left, right, strict=True)]


def _times(row: Sequence[int], matrix: Sequence[Sequence[int]]) -> list[int]:
    product = [0] * len(matrix[0])
    for factor, line in zip(row, matrix, strict=True):
        product = _sum(product, [multiply(factor, value) for value in line])
    return product


def _inverted(matrix: list[list[int]]) -> list[list[int]]:
    """Return the inverse by Gauss and Jordan; every such matrix of a Reed-Solomon code has one."""
    size = len(matrix)
    work = [[*line, *(int(index == at) for at in range(size))] for index, line in enumerate(matrix)]
    for column in range(size):
        pivot = next((at for at in range(column, size) if work[at][column]), None)
        if pivot is None:
            raise DataError(f"chunks repeat in {matrix}; give different ones")
        work[column], work[pivot] = work[pivot], work[column]
        scale = inverse(work[column][column])
        work[column] = [multiply(scale, value) for value in work[column]]
        for at in range(size):
            factor = work[at][column]
            if at != column and factor:
                work[at] = _sum(work[at], [multiply(factor, value) for value in work[column]])
    return [line[size:] for line in work]
