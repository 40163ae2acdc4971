"""Which implementations can run here: processor, Python packages, libraries that were built."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pqchain import algorithms, machine
from pqchain.algorithms import Implementation
from pqchain.errors import NativeLibraryMissing, Unsupported
from pqchain.installation import folders, install_command

MEND = "build it with `make`, or `pip install .` (needs a C compiler, cmake and cargo)"
"""What to do about a missing native library."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps an implementation from running here."""

    reason: str
    remedy: str = ""
    """What would help; "" if nothing would."""
    error: type[Unsupported] = Unsupported
    """What opening the implementation raises."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}" if self.remedy else self.reason


def library_path(stem: str) -> Path | None:
    """Return the file of the native library of that stem, or None if it is not installed."""
    paths = (folder / "_native" / stem / "lib" / "liboqs.so" for folder in folders())
    return next(filter(Path.is_file, paths), None)


def built(row: Implementation) -> Path | None:
    """Return the file of the library behind an implementation, or of the one in its place."""
    if row.file is not None:
        return row.file if row.file.is_file() else None
    path = library_path(row.library)
    return library_path(row.fallback_library) if path is None and row.fallback_library else path


def left_out(stem: str) -> str:
    """Return why the build left a library out, as it wrote down; "" if it did not."""
    paths = (folder / "_native" / stem / "reason.txt" for folder in folders())
    path = next(filter(Path.is_file, paths), None)
    return path.read_text(encoding="utf-8").strip() if path else ""


def obstacle(implementation: str) -> Obstacle | None:
    """Return what keeps the implementation from running here, or None if it can run.

    Raises UnknownImplementation.
    """
    row = algorithms.implementation(implementation)
    if row.package and find_spec(row.package) is None:
        reason = f"the Python package {row.package} is not installed"
        return Obstacle(reason, install_command(row.package))
    if missing := machine.missing_flags(row):
        return Obstacle(f"this processor lacks {', '.join(missing)}, which {row.name} needs")
    if not row.library or built(row) is not None:
        return None
    if row.setting:
        remedy = f"only `{row.setting} make -B install` builds it"
        return Obstacle(f"{row.name} is not installed", remedy, NativeLibraryMissing)
    why = left_out(row.library)
    reason = f"the native library of {row.name} is not installed{why and f' ({why})'}"
    return Obstacle(reason, MEND, NativeLibraryMissing)


def available(implementation: str) -> str:
    """Return "" if the implementation can run here, else the reason why not.

    Raises UnknownImplementation.
    """
    return str(obstacle(implementation) or "")
