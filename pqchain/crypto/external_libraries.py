"""Loading, through ctypes, of libraries whose interface is not pq_native.h."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def library(*files: str | Path, functions: Mapping[str, str]) -> Any | None:
    """Load the first of `files` (paths, or names for the system's loader) with all functions.

    `functions` maps a name to its signature "result=parameters", or "parameters" for a void
    function, with the letters i (int), q (int64_t or a length) and p (pointer). Returns None if no
    file can be loaded and has all functions.
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
    """Make `ctypes.util.find_library` return this file for every name within the block."""
    # Global to the process; the only caller, `liboqs.module`, holds a lock.
    find = ctypes.util.find_library
    ctypes.util.find_library = lambda name: str(path)
    try:
        yield
    finally:
        ctypes.util.find_library = find
