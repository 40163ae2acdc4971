"""The builds of liboqs that tests compare, permitted skips, and sets that sign slowly."""

from __future__ import annotations

import pytest

from pqchain import algorithms
from pqchain.crypto import native
from pqchain.results import machine

BUILDS = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
"""Both builds of the same source."""

ROUND3_BUILDS = ("liboqs-0.7.1/avx2", "liboqs-0.7.1/ref")
"""Both builds of the older source."""

IMPLEMENTATIONS = (*BUILDS, None)
"""Both builds and the default."""


def has_small_signatures(name: str) -> bool:
    """Whether this is a small set of SLH-DSA or SPHINCS+, which takes up to a second to sign."""
    hash_based = name.startswith(("SLH-DSA", "SPHINCS+"))
    return hash_based and name.removesuffix("-simple").endswith("s")


def need(implementation: str | None, name: str) -> None:
    """Skip a build that this processor cannot run; a missing expected build fails."""
    row = algorithms.implementation(implementation or "liboqs-0.13/dispatch")
    if missing := machine.missing_flags(row):
        pytest.skip(f"{row.name} needs {', '.join(missing)}")
    optional = not algorithms.get(name).default_build
    if optional and name not in native.library(row.name).names():
        pytest.skip("not in this build; PQCHAIN_ALGORITHMS=all builds it")
