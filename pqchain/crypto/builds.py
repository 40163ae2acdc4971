"""Availability of implementations: processor flags, Python packages, built libraries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pqchain import algorithms, installation
from pqchain.algorithms import Implementation
from pqchain.errors import NativeLibraryMissing, Unsupported
from pqchain.results import machine

INSTALL_HINT = "build it with `make`, or `pip install .` (needs a C compiler, cmake and cargo)"


def built_library(row: Implementation) -> Path | None:
    """Return the path of an implementation's library or of its fallback; None if missing."""
    if row.file is not None:
        return row.file if row.file.is_file() else None
    stems = filter(None, (row.library, row.fallback_library))
    return next(filter(None, map(installation.library_path, stems)), None)


def obstacle(implementation: str) -> Unsupported | None:
    """Return the error of an implementation that cannot run here, or None.

    Raises UnknownImplementation.
    """
    row = algorithms.implementation(implementation)
    # find_spec looks for the package without importing it.
    if row.package and find_spec(row.package) is None:
        remedy = installation.install_command(row.package)
        return Unsupported(f"the Python package {row.package} is not installed: {remedy}")
    if missing := machine.missing_flags(row):
        return Unsupported(f"this processor lacks {', '.join(missing)}, which {row.name} needs")
    if not row.library or built_library(row) is not None:
        return None
    why = installation.omission_reason(row.library)
    reason = f"the native library of {row.name} is not installed{why and f' ({why})'}"
    return NativeLibraryMissing(f"{reason}: {INSTALL_HINT}")


def unavailable_reason(implementation: str) -> str:
    """Return why the implementation cannot run here; "" if it can. Raises UnknownImplementation."""
    return str(obstacle(implementation) or "")
