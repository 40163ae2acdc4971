"""Loading, through ctypes, of libraries whose interface is not pq_native.h."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.errors import NativeLibraryBroken


def library(*files: str | Path, functions: Mapping[str, str]) -> Any | None:
    """Load the first of `files` (paths, or names for the system's loader) with all functions.

    `functions` maps a name to its signature "result=parameters", or "parameters" for a void
    function, with the letters i (int), q (int64_t or a length) and p (pointer). Returns None if no
    file exists or none has all functions. Raises NativeLibraryBroken for one that cannot be loaded.
    """
    for file in files:
        try:
            return _declared(ctypes.CDLL(str(file)), functions)
        except AttributeError:
            continue
        except OSError as error:
            # A library that is present must not be replaced by slower code without a word.
            if "No such file" not in str(error):
                raise NativeLibraryBroken(f"{file}: {error}. Install it again") from error
    return None


def bundled(name: str, *, functions: Mapping[str, str], abi: int) -> Any | None:
    """Load a library of pqchain with `functions` as above, of which the first returns its `abi`.

    Returns None only if it is not installed. Raises NativeLibraryBroken.
    """
    if (path := installation.library_path(name)) is None:
        return None
    try:
        handle = _declared(installation.load_library(path), functions)
        version = getattr(handle, next(iter(functions)))()
    except AttributeError as error:
        version = error
    if version != abi:
        raise NativeLibraryBroken(
            f"the interface of {path} must be {abi}; got {version}. "
            f"{installation.library_remedy(path)}"
        )
    return handle


def _declared(handle: ctypes.CDLL, functions: Mapping[str, str]) -> ctypes.CDLL:
    kinds = {"i": ctypes.c_int, "p": ctypes.c_void_p, "q": ctypes.c_int64, "": None}
    for function, letters in functions.items():
        declared = getattr(handle, function)
        result, _, parameters = letters.rpartition("=")
        declared.restype = kinds[result]
        declared.argtypes = [kinds[letter] for letter in parameters]
    return handle
