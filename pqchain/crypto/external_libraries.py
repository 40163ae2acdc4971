"""Libraries of other interfaces than ours, through ctypes, and where Python finds libraries."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def library(*files: str | Path, functions: Mapping[str, str]) -> Any | None:
    """Load the first of `files` that opens: paths, or names that the system's loader knows.

    Each function is given by the letters of its parameters: i for an int, q for an int64_t or a
    length, p for a pointer; and before them, with "=", by that of its result if it has one. Returns
    None if the library, or one of the functions, is not here.
    """
    kinds = {"i": ctypes.c_int, "p": ctypes.c_void_p, "q": ctypes.c_int64, "": None}
    for file in files:
        try:
            handle = ctypes.CDLL(str(file))
            for function, letters in functions.items():
                declared = getattr(handle, function)
                result, _, parameters = letters.rpartition("=")
                declared.restype = kinds[result]
                declared.argtypes = [kinds[letter] for letter in parameters]
        except (OSError, AttributeError):
            continue
        return handle
    return None


@contextmanager
def only(path: Path) -> Iterator[None]:
    """Let `ctypes.util.find_library` find this file, whatever it is asked for, within the block."""
    find = ctypes.util.find_library
    ctypes.util.find_library = lambda name: str(path)
    try:
        yield
    finally:
        ctypes.util.find_library = find
