"""Shared libraries of this installation: where they are, and loading them after a check.

Loading a truncated library ends the process by a signal, and a changed one is not the code that the
build recorded. Size and SHA-256 digest are therefore compared with the record before loading.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pqchain.errors import DataError, NativeLibraryBroken, UsageError
from pqchain.installation import MAX_JSON_BYTES, folders, open_regular, read_bytes

REINSTALL = "`make -B install` in a checkout, else `pip install --force-reinstall pqchain`"

_BUNDLED, _RECORD = "_native", "build.json"
"""Folder of the bundled libraries, and the file with the facts of a build."""

_loaded: dict[str, dict[str, Any]] = {}


def find(name: str) -> Path | None:
    """Return the path of a bundled library, such as "block", or None if it is not installed."""
    paths = (path for folder in folders() for path in folder.glob(f"{_BUNDLED}/{name}/lib/*.so"))
    return next(filter(Path.is_file, paths), None)


def omission_reason(name: str) -> str:
    """Return the reason recorded by the build for omitting a library; "" if there is none."""
    paths = (folder / _BUNDLED / name / "reason.txt" for folder in folders())
    path = next(filter(Path.is_file, paths), None)
    return path.read_text(encoding="utf-8").strip() if path else ""


def installed() -> dict[str, dict[str, Any]]:
    """Return the build record of each bundled library by name, loaded or not; raise DataError.

    Keys: source, source_version, source_origin, source_digest, variant, corrections, algorithms,
    compiler, flags, processor, library_bytes, library_sha256.
    """
    records: dict[str, dict[str, Any]] = {}
    for folder in folders():
        for path in sorted(folder.glob(f"{_BUNDLED}/*/{_RECORD}")):
            records.setdefault(path.parent.name, _read(path))
    return records


def loaded() -> dict[str, dict[str, Any]]:
    """Return the build records of the libraries that values of this process come from, by name.

    They were loaded by this process, by its child processes, or by an earlier run that was resumed.
    """
    return dict(sorted(_loaded.items()))


def add_loaded(records: Mapping[str, dict[str, Any]]) -> None:
    """Add libraries that another process loaded to compute values of this one."""
    _loaded.update(records)


def load(path: Path) -> ctypes.CDLL:
    """Load a library, after comparing it with its build record, which every bundled one must have.

    Raises NativeLibraryBroken.
    """
    try:
        name, record = _checked(path)
        handle = ctypes.CDLL(str(path))
    except (OSError, DataError, UsageError) as error:
        raise NativeLibraryBroken(f"{path} cannot be loaded: {error}. {remedy(path)}") from error
    if record:
        _loaded[name] = record
    return handle


def remedy(path: Path) -> str:
    """Return how to build a library again; only those of this installation are built by make."""
    if _is_bundled(path):
        return f"Install it again: {REINSTALL}"
    return "Compile it as `pqchain doctor --example` says, with all its dependencies"


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a regular file in hexadecimal. Raises OSError and UsageError.

    The file is read again only if its size, time or inode changed.
    """
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns, status.st_ino)


@cache
def _digest(path: Path, *_: int) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _checked(path: Path) -> tuple[str, dict[str, Any]]:
    """Return a library's name and build record, {} without one. Raises DataError if they differ."""
    # The record of a bundled library is next to its folder lib, that of `make rtl` in its folder.
    for file in (path.parent.parent / _RECORD, path.with_name(_RECORD)):
        if file.is_file() and "library_sha256" in (record := _read(file)):
            size, digest = path.stat().st_size, record["library_sha256"]
            if size != record.get("library_bytes"):
                raise DataError(f"it must have {record.get('library_bytes')} bytes; got {size}")
            if digest != (actual := sha256(path)):
                raise DataError(f"its SHA-256 digest must be {digest}; got {actual}")
            return file.parent.name, record
    if _is_bundled(path):
        raise DataError(f"its size and SHA-256 digest are missing in {_RECORD}")
    return path.stem, {}


def _is_bundled(path: Path) -> bool:
    return path.parent.parent.parent.name == _BUNDLED


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(read_bytes(path, MAX_JSON_BYTES)))
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"cannot read {path}: {error}; install it again: {REINSTALL}") from error
