"""Inputs of a plan, and all possible inputs, as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pqchain import schemes
from pqchain.study.checking import NETWORK, REQUIRED
from pqchain.study.inputs import BY_SCHEME, INPUTS, Plan


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


def input_help() -> list[tuple[str, str, str, str, str]]:
    """Return table, name, unit, meaning and default of every key that a study file may have."""
    rows = []
    for name, row in INPUTS.items():
        default = "none" if row.default == {} else str(row.default)
        if row.default in (REQUIRED, None):
            default = "needed" if row.default is REQUIRED else "none"
        if name in NETWORK and row.default is None:
            default = "the law's"
        key = "SCHEME" if name in BY_SCHEME else name
        rows.append((row.table, key, row.unit, row.about, default))
    rows += [("[scheme]", *field, "none") for field in schemes.TABLE]
    return [*rows, ("sources", "INPUT", "", "source of each input", "none")]
