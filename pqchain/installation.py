"""Paths, data files, shared libraries and version of this installation; bounded reading of files.

Loading a truncated library ends the process by a signal, and a changed one is not the code that the
build recorded. Size and SHA-256 digest are therefore compared with the record before loading.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import platform
import re
import stat
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

import lazy_loader

from pqchain.errors import DataError, NativeLibraryBroken, PackageMissing, Unsupported, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import ctypes


MAX_TEXT_BYTES, MAX_JSON_BYTES, MAX_TABLE_BYTES = 4 << 20, 64 << 20, 1 << 30
"""Maximum lengths of the TOML, JSON and CSV files that are read."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, and UsageError for a file of another kind.

    Every file that a user names is read through this function: a device such as /dev/zero has no
    end, and opening a pipe blocks until there is a writer.
    """
    # Non-blocking, and checked again after opening: the name may refer to another file by then.
    _check_regular(path, path.stat().st_mode)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_regular(path, os.fstat(descriptor).st_mode)
    except UsageError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _check_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} must be a regular file, not a device or folder; name a file")


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Raises OSError, UsageError for a file of another kind, and DataError for a longer one.
    """
    parts: list[bytes] = []
    with open_regular(path) as file:
        # Python allocates a buffer of the requested length, however short the file is, so the size
        # of the file bounds the request. It may be wrong: files of /proc have a size of 0.
        size = os.fstat(file.fileno()).st_size
        remaining = most + 1 if size <= most else 0
        while remaining and (part := file.read(min(max(size + 1, 1 << 16), remaining))):
            parts.append(part)
            remaining -= len(part)
    if not remaining:
        raise DataError(f"{path} must have at most {most} bytes; it is longer. Name another file")
    return b"".join(parts)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError, also for brackets nested too deeply."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


VERSION = "0.1.0"

HOME = Path(__file__).resolve().parent
"""Folder of the package's Python code; in an editable install, that of the checkout."""


def folders() -> list[Path]:
    """Return the folders of the package: two in an editable install (checkout, native build)."""
    spec = find_spec("pqchain")
    assert spec is not None and spec.submodule_search_locations is not None
    return [Path(folder) for folder in spec.submodule_search_locations]


def data(name: str) -> Path:
    """Return the named data folder, of the package or else of the checkout. Raises DataError."""
    candidates = [root / "data" / name for root in (HOME, HOME.parent)]
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise DataError(
        f"the data of pqchain is missing: neither {candidates[0]} nor {candidates[1]} is a folder; "
        "install pqchain again"
    )


def cache_folder() -> Path:
    """Return the user's cache folder: PQCHAIN_CACHE, or pqchain in XDG_CACHE_HOME or ~/.cache."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("PQCHAIN_CACHE") or f"{cache_home}/pqchain").expanduser()


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file of pqchain. Raises DataError."""
    try:
        return parse_toml(read_bytes(path, MAX_TEXT_BYTES).decode())
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error


_DISTRIBUTIONS = {"Crypto": "pycryptodome", "oqs": "liboqs-python", "py_lean_pq": "py-lean-pq"}
"""pip names of packages that are imported by another name."""

_DEBIAN_PACKAGES = ("cryptography", "matplotlib", "numpy", "pandas", "scipy")
"""Packages that Debian and Ubuntu have as binaries for 32-bit ARM, and pip only as source."""


def install_command(package: str) -> str:
    """Return the command that installs a Python package, given by its import name."""
    if platform.machine() == "armv7l" and package in _DEBIAN_PACKAGES:
        return f"apt-get install python3-{package}"
    return f"pip install {_DISTRIBUTIONS.get(package, package)}"


def package_version(package: str) -> str:
    """Return the version of an installed Python package, given by its import name; "" without."""
    try:
        return metadata.version(_DISTRIBUTIONS.get(package, package))
    except metadata.PackageNotFoundError:
        return ""


OLDEST = {"matplotlib": (3, 5), "numpy": (1, 21), "pandas": (1, 3)}
"""Oldest versions with which pqchain is tested, those of Ubuntu 22.04: `make test-oldest`."""


def check_version(package: ModuleType) -> None:
    """Raise Unsupported if a package is older than in `OLDEST`; on 32-bit ARM pip checks none."""
    name, version = package.__name__, str(package.__version__)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST[name]:
        raise Unsupported(
            f"the version of {name} must be at least {'.'.join(map(str, OLDEST[name]))}; got "
            f"{version}. Use an image of Ubuntu 22.04 or newer, or install a newer {name}"
        )


def missing(error: ModuleNotFoundError) -> PackageMissing:
    """Return an error with the install command; re-raise an error about a module of pqchain."""
    package = (error.name or "").partition(".")[0]
    if not package or package.startswith("pqchain"):
        raise error
    return PackageMissing(
        f"this needs the Python package {package}, which is not installed: "
        f"{install_command(package)}"
    )


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package with names for first use.

    The names are those that the stub of the package, next to `file`, imports for type checkers.
    """
    return with_remedies(package, lazy_loader.attach_stub(package, file))


def with_remedies(package: str, exports: Any) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Return lazy exports whose errors name what is missing, or a similar name."""
    find, _, names = exports

    def get(name: str) -> Any:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else "see its __all__"
            raise AttributeError(f"module {package!r} has no attribute {name!r}; {hint}")
        try:
            return find(name)
        except ModuleNotFoundError as error:
            raise missing(error) from error

    return get, lambda: names, names


REINSTALL = "`make -B install` in a checkout, else `pip install --force-reinstall pqchain`"

_BUNDLED, _RECORD = "_native", "build.json"  # folder of the libraries; facts of a build

_loaded: dict[str, dict[str, Any]] = {}


def library_path(name: str) -> Path | None:
    """Return the path of a bundled library, such as "block", or None if it is not installed."""
    paths = (path for folder in folders() for path in folder.glob(f"{_BUNDLED}/{name}/lib/*.so"))
    return next(filter(Path.is_file, paths), None)


def omission_reason(name: str) -> str:
    """Return the reason recorded by the build for omitting a library; "" if there is none."""
    paths = (folder / _BUNDLED / name / "reason.txt" for folder in folders())
    path = next(filter(Path.is_file, paths), None)
    return path.read_text(encoding="utf-8").strip() if path else ""


def installed_libraries() -> dict[str, dict[str, Any]]:
    """Return the build record of each bundled library by name, loaded or not; raise DataError.

    Keys: source, source_version, source_origin, source_digest, variant, corrections, algorithms,
    compiler, flags, processor, library_bytes, library_sha256.
    """
    records: dict[str, dict[str, Any]] = {}
    for folder in folders():
        for path in sorted(folder.glob(f"{_BUNDLED}/*/{_RECORD}")):
            records.setdefault(path.parent.name, _read_record(path))
    return records


def loaded_libraries() -> dict[str, dict[str, Any]]:
    """Return the build records of the libraries that values of this process come from, by name.

    They were loaded by this process, by its child processes, or by an earlier run that was resumed.
    """
    return dict(sorted(_loaded.items()))


def add_loaded_libraries(records: Mapping[str, dict[str, Any]]) -> None:
    """Add libraries that another process loaded to compute values of this one."""
    _loaded.update(records)


def load_library(path: Path) -> ctypes.CDLL:
    """Load a library, after comparing it with its build record, which every bundled one must have.

    Raises NativeLibraryBroken.
    """
    import ctypes  # here, because the chain and the command line work without it

    try:
        name, record = _checked_library(path)
        handle = ctypes.CDLL(str(path))
    except (OSError, DataError, UsageError) as error:
        raise NativeLibraryBroken(
            f"{path} cannot be loaded: {error}. {library_remedy(path)}"
        ) from error
    if record:
        _loaded[name] = record
    return handle


def library_remedy(path: Path) -> str:
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


def _checked_library(path: Path) -> tuple[str, dict[str, Any]]:
    """Return a library's name and build record, {} without one. Raises DataError if they differ."""
    # The record of a bundled library is next to its folder lib, that of `make rtl` in its folder.
    for file in (path.parent.parent / _RECORD, path.with_name(_RECORD)):
        if file.is_file() and "library_sha256" in (record := _read_record(file)):
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


def _read_record(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(read_bytes(path, MAX_JSON_BYTES)))
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"cannot read {path}: {error}; install it again: {REINSTALL}") from error
