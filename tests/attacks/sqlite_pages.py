"""Offsets of the structure in an SQLite file: headers, pointers, cells.

From "Database File Format" of SQLite's documentation, sections 1.3, 1.6 and 2.1.
"""

from __future__ import annotations

_FILE_HEADER = 100
_INTERIOR_TABLE, _LEAF_TABLE = 5, 13
_RECORD_HEAD = 80
"""Bytes of a record that count as structure: its header, and short values."""


def structure(data: bytes) -> list[int]:
    """Return the offsets of bytes that are neither values of long records nor free space."""
    size = int.from_bytes(data[16:18], "big")
    places = set(range(_FILE_HEADER))
    overflow: set[int] = set()
    for page in range(len(data) // size):
        base = page * size
        if page in overflow:
            places.update(range(base, base + 4))
            overflow.add(int.from_bytes(data[base : base + 4], "big") - 1)
            continue
        places.update(_tree_page(data, base, size, overflow))
    return sorted(places)


def _tree_page(data: bytes, base: int, size: int, overflow: set[int]) -> set[int]:
    header = base + (_FILE_HEADER if base == 0 else 0)
    kind = data[header]
    if kind not in (_INTERIOR_TABLE, _LEAF_TABLE):
        return set(range(header, header + 4))
    cells = header + (12 if kind == _INTERIOR_TABLE else 8)
    count = int.from_bytes(data[header + 3 : header + 5], "big")
    places = set(range(header, cells + 2 * count))
    for index in range(cells, cells + 2 * count, 2):
        cell = base + int.from_bytes(data[index : index + 2], "big")
        if kind == _INTERIOR_TABLE:
            places.update(range(cell, _number(data, cell + 4)[1]))
            continue
        length, at = _number(data, cell)
        _, at = _number(data, at)
        places.update(range(cell, at + min(length, _RECORD_HEAD)))
        if length > size - 35:
            least = (size - 12) * 32 // 255 - 23
            local = least + (length - least) % (size - 4)
            end = at + (local if local <= size - 35 else least)
            places.update(range(end, end + 4))
            overflow.add(int.from_bytes(data[end : end + 4], "big") - 1)
    return places


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer of variable length, and the offset after it."""
    value = 0
    for index in range(8):
        value = value << 7 | data[at + index] & 0x7F
        if data[at + index] < 0x80:
            return value, at + index + 1
    return value << 8 | data[at + 8], at + 9
