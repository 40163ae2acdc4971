"""Systematic Reed-Solomon code over GF(256): any k of the k + m chunks restore the block.

The code is defined by the generator polynomial of reedsolo. Three engines give identical bytes:
`isal` (ISA-L of the system or of the pyeclib wheel), `numpy` (no further dependency), and
`reedsolo` (reference: pure Python, one codeword per byte column, for small chunks only). This
module processes byte arrays that the caller has allocated, and no files, hashes or nodes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pqchain.crypto import external_libraries
from pqchain.errors import BadLength, DataError, Unsupported, UsageError
from pqchain.reencode.storage import check_code, chunk_bytes

Bytes = NDArray[np.uint8]
Multiplier = Callable[[Bytes, Sequence[Bytes], Sequence[Bytes]], None]
"""Function (matrix, inputs, outputs) that writes the product with the input rows to the outputs."""

ENGINES = ("isal", "numpy", "reedsolo")
"""Engines, the fastest first."""

POLYNOMIAL = 0x11D
"""Field polynomial x^8 + x^4 + x^3 + x^2 + 1 of reedsolo, ISA-L and QR codes."""

# Eight-byte words that the numpy engine processes at once, chosen to fit into the cache.
_TILE_WORDS = 8192

_LANES = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_REDUCTION = np.uint64(0x1D)


def unavailable_reason(engine: str) -> str:
    """Return the reason why an engine cannot run here; "" if it can."""
    if engine == "isal" and not _isal():
        return "ISA-L is not installed: pip install pyeclib, or libisal2"
    if engine == "reedsolo" and importlib.util.find_spec("reedsolo") is None:
        return "reedsolo is not installed: pip install reedsolo"
    return ""


class ReedSolomon:
    """Reed-Solomon code with k data and m parity chunks, computed by the selected engine."""

    def __init__(self, data_chunks: int, parity_chunks: int, *, engine: str = "auto") -> None:
        """Select an engine (`auto`: the fastest available). Raises UsageError or Unsupported."""
        check_code(data_chunks, parity_chunks)
        if engine == "auto":
            engine = next(name for name in ENGINES if not unavailable_reason(name))
        if engine not in ENGINES:
            raise UsageError(f"unknown engine {engine!r}; expected auto, {', '.join(ENGINES)}")
        if reason := unavailable_reason(engine):
            raise Unsupported(f"the engine {engine!r} cannot run: {reason}")
        self.data_chunks = data_chunks
        self.parity_chunks = parity_chunks
        self.engine = engine
        self._multiply = (_isal() if engine == "isal" else None) or multiply_numpy

    @property
    def chunks(self) -> int:
        """Number of chunks of a block, k + m."""
        return self.data_chunks + self.parity_chunks

    def encode(self, data: Sequence[Bytes], parity: Sequence[Bytes]) -> None:
        """Compute the parity rows from the data rows, in place.

        All rows are contiguous uint8 arrays of one length. Raises BadLength and UsageError.
        """
        self._check_rows(data, self.data_chunks, "data")
        self._check_rows(parity, self.parity_chunks, "parity", like=data[0])
        self._fill(dict(enumerate(data)), dict(enumerate(parity, self.data_chunks)))

    def chunks_of(self, buffer: Bytes, block_bytes: int) -> list[Bytes]:
        """Return all chunks of a zero-padded block; data chunks are views of `buffer`."""
        size = chunk_bytes(block_bytes, self.data_chunks)
        rows = buffer[: self.data_chunks * size].reshape(self.data_chunks, size)
        parity = np.empty((self.parity_chunks, size), np.uint8)
        self.encode(list(rows), list(parity))
        return [*rows, *parity]

    def recover(self, present: Mapping[int, Bytes], missing: Mapping[int, Bytes]) -> None:
        """Compute missing chunks, data or parity, from any k present ones, in place.

        Rows are contiguous uint8 arrays of one length, by chunk index. Raises DataError with the
        missing indices if fewer than k are present, UsageError for an invalid index or row, and
        BadLength for rows of different lengths.
        """
        needed = self.data_chunks
        for index in [*present, *missing]:
            if not 0 <= index < self.chunks:
                raise UsageError(f"a chunk index must be from 0 to {self.chunks - 1}; got {index}.")
        # Data chunks first: they make more of the matrix zeros and ones.
        chosen = tuple(sorted(present)[:needed])
        if len(chosen) < needed:
            absent = [index for index in range(self.chunks) if index not in present]
            raise DataError(
                f"at least {needed} chunks must be present; got {len(chosen)}. Missing: {absent}"
            )
        if not missing:
            return
        rows = [present[index] for index in chosen]
        self._check_rows(rows, needed, "present")
        self._check_rows(list(missing.values()), len(missing), "missing", like=rows[0])
        self._fill(dict(zip(chosen, rows, strict=True)), missing)

    def _fill(self, present: Mapping[int, Bytes], missing: Mapping[int, Bytes]) -> None:
        if self.engine == "reedsolo":
            self._fill_columns(present, missing)
            return
        size = self.data_chunks, self.parity_chunks
        matrix = recovery_matrix(*size, tuple(present), tuple(missing))
        self._multiply(matrix, list(present.values()), list(missing.values()))

    def _fill_columns(self, present: Mapping[int, Bytes], missing: Mapping[int, Bytes]) -> None:
        import reedsolo

        codec = reedsolo.RSCodec(self.parity_chunks)
        absent = [index for index in range(self.chunks) if index not in present]
        columns = np.zeros((len(next(iter(present.values()))), self.chunks), np.uint8)
        columns[:, list(present)] = np.transpose(list(present.values()))
        for at, column in enumerate(columns):
            _, word, _ = codec.decode(column.tobytes(), erase_pos=absent, only_erasures=True)
            for index, row in missing.items():
                row[at] = word[index]

    def _check_rows(
        self, rows: Sequence[Bytes], count: int, kind: str, *, like: Bytes | None = None
    ) -> None:
        # ISA-L gets addresses and one length, so that a wrong row would corrupt memory.
        if len(rows) != count:
            raise BadLength(f"the number of {kind} chunks must be {count}; got {len(rows)}.")
        length = len(rows[0] if like is None else like) if rows else 0
        for index, row in enumerate(rows):
            if row.dtype != np.uint8 or row.ndim != 1 or not row.flags.c_contiguous:
                raise UsageError(
                    f"{kind} chunk {index} must be a contiguous uint8 array of one dimension."
                )
            if len(row) != length:
                raise BadLength(
                    f"{kind} chunk {index} must have {length} bytes, as the others; got {len(row)}."
                )


@cache
def products() -> Bytes:
    """Return the 256 x 256 uint8 multiplication table of GF(256)."""
    left = right = np.arange(256)
    table = np.zeros((256, 256), np.uint8)
    for bit in range(8):
        table ^= np.outer(left, right >> bit & 1).astype(np.uint8)
        left = left << 1 ^ (left >> 7) * POLYNOMIAL
    return table


@cache
def parity_matrix(data_chunks: int, parity_chunks: int) -> Bytes:
    """Return the m x k uint8 matrix that maps data to parity.

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
    """Return the uint8 matrix that maps k `present` chunks to the `missing` ones."""
    table, unit = products(), np.eye(data_chunks, dtype=np.uint8)
    matrix = np.vstack([unit, parity_matrix(data_chunks, parity_chunks)])
    # Gauss-Jordan elimination. The matrix is invertible: any k chunks determine the data.
    work = np.hstack([matrix[list(present)], unit])
    for column in range(data_chunks):
        pivot = column + np.flatnonzero(work[column:, column])[0]
        work[[column, pivot]] = work[[pivot, column]]
        inverse = np.flatnonzero(table[work[column, column]] == 1)[0]
        work[column] = table[inverse, work[column]]
        factors = work[:, column].copy()
        factors[column] = 0
        work ^= table[factors[:, None], work[column]]
    terms = table[matrix[list(missing)][:, :, None], work[:, data_chunks:]]
    recovery: Bytes = np.bitwise_xor.reduce(terms, axis=1)
    return recovery


def multiply_numpy(matrix: Bytes, inputs: Sequence[Bytes], outputs: Sequence[Bytes]) -> None:
    """Multiply in GF(256), eight bytes at a time, by Horner's rule on the coefficients' bits.

    For each bit, from the highest, every output is doubled and the inputs whose coefficient has
    that bit are added. Doubling shifts each byte and reduces it by the polynomial on overflow.
    """
    length = len(inputs[0])
    aligned = length - length % 8
    # Which inputs are added to which output at which bit, highest bit first.
    plan = [
        [
            [index for index, factor in enumerate(row) if factor >> bit & 1]
            for row in matrix.tolist()
        ]
        for bit in range(7, -1, -1)
    ]
    if aligned:
        _horner(plan, [row[:aligned] for row in inputs], [row[:aligned] for row in outputs])
    if aligned < length:
        padded = [np.pad(row[aligned:], (0, 8 - length + aligned)) for row in inputs]
        results = [np.zeros(8, np.uint8) for _ in outputs]
        _horner(plan, padded, results)
        for result, row in zip(results, outputs, strict=True):
            row[aligned:] = result[: length - aligned]


def _horner(plan: list[list[list[int]]], input_rows: list[Bytes], output_rows: list[Bytes]) -> None:
    inputs, outputs = ([row.view(np.uint64) for row in rows] for rows in (input_rows, output_rows))
    length = len(inputs[0])
    tile = min(_TILE_WORDS, length)
    sums = np.empty((len(outputs), tile), np.uint64)
    carry = np.empty_like(sums)
    bit, seven = np.uint64(1), np.uint64(7)
    for start in range(0, length, tile):
        size = min(tile, length - start)
        total, high = sums[:, :size], carry[:, :size]
        parts = [row[start : start + size] for row in inputs]
        total[:] = 0
        for step, additions in enumerate(plan):
            if step:
                np.right_shift(total, seven, out=high)
                np.bitwise_and(high, _ONES, out=high)
                np.multiply(high, _REDUCTION, out=high)
                np.bitwise_and(total, _LANES, out=total)
                np.left_shift(total, bit, out=total)
                np.bitwise_xor(total, high, out=total)
            for row, chosen in zip(total, additions, strict=True):
                for index in chosen:
                    np.bitwise_xor(row, parts[index], out=row)
        for row, result in zip(outputs, total, strict=True):
            row[start : start + size] = result


@cache
def _isal() -> Multiplier | None:
    folder = importlib.util.find_spec("pyeclib")
    bundled: list[Path] = []
    if folder is not None and folder.submodule_search_locations:
        libraries = Path(folder.submodule_search_locations[0]).parent / "pyeclib.libs"
        bundled = sorted(libraries.glob("libisal*.so*"))
    # Not with find_library, which runs a compiler and leaves its files behind when it is killed.
    functions = {"ec_init_tables": "iipp", "ec_encode_data": "iiippp"}
    library = external_libraries.library(*bundled, "libisal.so.2", functions=functions)
    if library is None:
        return None

    def multiply(matrix: Bytes, inputs: Sequence[Bytes], outputs: Sequence[Bytes]) -> None:
        # The arrays are local variables, so that their addresses are valid during the calls.
        coefficients = np.ascontiguousarray(matrix)
        rows, columns = matrix.shape
        tables = np.empty(32 * rows * columns, np.uint8)
        library.ec_init_tables(columns, rows, coefficients.ctypes.data, tables.ctypes.data)
        sources = np.array([row.ctypes.data for row in inputs], np.uintp)
        targets = np.array([row.ctypes.data for row in outputs], np.uintp)
        pointers = (array.ctypes.data for array in (tables, sources, targets))
        library.ec_encode_data(len(inputs[0]), columns, rows, *pointers)

    return multiply
