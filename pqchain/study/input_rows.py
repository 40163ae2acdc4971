"""Inputs of a plan as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pqchain.study.inputs import INPUTS, Plan


def input_rows(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input with an effect."""
    rows: list[tuple[str, Any, str, str, str]] = []
    for name, row in INPUTS.items():
        value, source = getattr(plan, name), plan.source(name)
        idle = name in plan.unused and (value is None or source == "default")
        if name in ("title", "checked") or (name == "valid_until" and value is None) or idle:
            continue
        if isinstance(value, Mapping):
            value = [f"{algorithm} {share:g}" for algorithm, share in value.items()]
        if isinstance(value, (tuple, list)):
            value = ", ".join(value)
        rows.append((name, "none" if value == "" else value, row.unit, row.about, source))
    return rows
