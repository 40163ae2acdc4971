"""Loading of libraries through ctypes, with the types of their functions."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.errors import NativeLibraryBroken

_TYPES: dict[str, Any] = {
    "i": ctypes.c_int, "q": ctypes.c_int64, "d": ctypes.c_double, "p": ctypes.c_void_p,
    "t": ctypes.c_char_p, "": None,
}  # fmt: skip
"""Types by letter; q is also that of lengths, and t that of texts."""


def library(*files: str | Path, functions: Mapping[str, str]) -> Any | None:
    """Load the first of `files` (paths, or names for the system's loader) with all functions.

    `functions` maps a name to its signature "result=parameters", or "parameters" for a void
    function, with the letters of `_TYPES`. Returns None if no file exists or none has all
    functions. Raises NativeLibraryBroken for one that cannot be loaded.
    """
    for file in files:
        try:
            return declared(ctypes.CDLL(str(file)), functions)
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
    return checked(path, functions=functions, abi=abi)


def checked(path: Path, *, functions: Mapping[str, str], abi: int) -> Any:
    """Load a library, also of a user, as `bundled` does. Raises NativeLibraryBroken."""
    handle, version = installation.load_library(path), None
    with suppress(AttributeError):
        version = getattr(declared(handle, functions), next(iter(functions)))()
    if version != abi:
        raise NativeLibraryBroken(
            f"{path.name} lacks the interface of pqchain, version {abi}; got {version}. "
            f"{installation.library_remedy(path)}"
        )
    return handle


def declared(handle: ctypes.CDLL, functions: Mapping[str, str]) -> ctypes.CDLL:
    """Return the library with the types of its functions. Raises AttributeError without one."""
    for name, letters in functions.items():
        function = getattr(handle, name)
        result, _, parameters = letters.rpartition("=")
        function.restype = _TYPES[result]
        function.argtypes = [_TYPES[letter] for letter in parameters]
    return handle
