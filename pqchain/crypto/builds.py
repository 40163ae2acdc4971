"""Availability of implementations: processor flags, Python packages, built libraries."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pqchain import algorithms, installation
from pqchain.algorithms import Implementation
from pqchain.errors import NativeLibraryMissing, Unsupported
from pqchain.installation import install_command
from pqchain.results import machine

INSTALL_HINT = "build it with `make`, or `pip install .` (needs a C compiler, cmake and cargo)"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Reason why an implementation cannot run on this machine."""

    reason: str
    remedy: str = ""
    error: type[Unsupported] = Unsupported
    """Exception that opening the implementation raises."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}" if self.remedy else self.reason


def built_library(row: Implementation) -> Path | None:
    """Return the path of an implementation's library or of its fallback; None if missing."""
    if row.file is not None:
        return row.file if row.file.is_file() else None
    stems = filter(None, (row.library, row.fallback_library))
    return next(filter(None, map(installation.library_path, stems)), None)


def obstacle(implementation: str) -> Obstacle | None:
    """Return why the implementation cannot run here, or None. Raises UnknownImplementation."""
    row = algorithms.implementation(implementation)
    # find_spec looks for the package without importing it.
    if row.package and find_spec(row.package) is None:
        reason = f"the Python package {row.package} is not installed"
        return Obstacle(reason, install_command(row.package))
    if missing := machine.missing_flags(row):
        return Obstacle(f"this processor lacks {', '.join(missing)}, which {row.name} needs")
    if not row.library or built_library(row) is not None:
        return None
    why = installation.omission_reason(row.library)
    reason = f"the native library of {row.name} is not installed{why and f' ({why})'}"
    return Obstacle(reason, INSTALL_HINT, NativeLibraryMissing)


def unavailable_reason(implementation: str) -> str:
    """Return why the implementation cannot run here; "" if it can. Raises UnknownImplementation."""
    return str(obstacle(implementation) or "")
