"""Verifiers with one rule removed or shifted, and which vectors tell them from a right one."""

from __future__ import annotations

from pqchain.conform.mutants.table import CAUGHT, caught, mutants, shown, survives, survivors

__all__ = ["CAUGHT", "caught", "mutants", "shown", "survives", "survivors"]
