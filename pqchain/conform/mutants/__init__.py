"""Mutation tests of the vectors: verifiers with one rule removed or changed."""

from __future__ import annotations

from pqchain.conform.mutants.table import (
    CAUGHT,
    caught,
    detection_table,
    mutants,
    survives,
    survivors,
)

__all__ = ["CAUGHT", "caught", "detection_table", "mutants", "survives", "survivors"]


def __dir__() -> list[str]:
    return __all__
