"""Conversion of plans to TOML, and of their inputs to rows of tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict
from datetime import date
from typing import Any

from pqchain import schemes
from pqchain.costs import GIVEN, Costs
from pqchain.errors import UsageError
from pqchain.study.inputs import PARAMETERS
from pqchain.study.plan import INPUTS, Plan


def toml(plan: Plan) -> str:
    """Return a plan as the text of a TOML file; inputs with their default value are left out.

    >>> from pqchain.study.reading import load, parse
    >>> plan = load("bitcoin").with_(block_seconds=300.0)
    >>> parse(toml(plan), "it") == plan
    True
    """
    tables: dict[str, dict[str, Any]] = {}
    for name, row in INPUTS.items():
        value = plan.value(name)
        # Defaults are left out, so that a file shows what its author decided.
        if value is None or value == plan.default(name):
            continue
        if isinstance(value, Mapping):
            tables[f"{row.table}.{name}"] = dict(value)
        else:
            tables.setdefault(row.table, {})[name] = value
    tables["sources"] = dict(plan.sources)
    parts = [_table(f"[{name}]" if name else "", rows) for name, rows in tables.items() if rows]
    parts += [_table("[[scheme]]", _scheme(row)) for row in plan.own_schemes]
    for seen in plan.observed:
        stated = {key: value for key, value in asdict(seen).items() if value not in ("", {})}
        parts.append(_table("[[observed]]", stated))
    return "\n\n".join(parts) + "\n"


def input_rows(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input with an effect."""
    rows: list[tuple[str, Any, str, str, str]] = []
    for name, row in INPUTS.items():
        value, source = plan.value(name), plan.source(name)
        idle = name in plan.unused and (value is None or source == "default")
        if name in ("title", "checked") or (name == "valid_until" and value is None) or idle:
            continue
        if isinstance(value, Mapping):
            value = [f"{algorithm} {share:g}" for algorithm, share in value.items()]
        if isinstance(value, (tuple, list)):
            value = ", ".join(value)
        rows.append((name, "none" if value == "" else value, row.unit, row.about, source))
    return rows


def input_help() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield table, name, unit, meaning and default of every key that a study file may have."""
    for name, row in INPUTS.items():
        is_table = row.default == {}
        default = "none" if is_table or row.default is None else str(row.default)
        default = "needed" if row.default is MISSING else default
        table = f"{row.table}.{name}" if is_table else row.table
        key = "SCHEME" if is_table else name
        unnamed = any(choice not in row.about for choice in row.field.choices)
        about = f"{row.about}: {', '.join(row.field.choices)}" if unnamed else row.about
        yield table, key, row.unit, about, "the law's" if name in PARAMETERS else default
    for field in schemes.TABLE:
        yield "[scheme]", *field, "none"
    yield "sources", "INPUT", "", "source of each input", "none"


def _table(heading: str, row: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}" for key, value in row.items()]
    return "\n".join([heading, *lines] if heading else lines)


def _scheme(row: Costs) -> dict[str, Any]:
    values = {"name": row.algorithm} | {
        name: getattr(row, name) for name, *_ in schemes.TABLE if name not in ("name", "source")
    }
    if not row.anchor_seconds:
        del values["anchor_seconds"]
    known = {key: value for key, value in values.items() if value == value}  # no NaN
    return known | {"source": row.source.removeprefix(GIVEN).strip()}


def _key(name: str) -> str:
    return name if name and set(name) <= _BARE else _text(name)


_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def _text(value: str) -> str:
    # A string of JSON is one of TOML, except that TOML requires DEL to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(row)}' for key, row in value.items())} }}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"numbers in a TOML file must be finite; got {value}")
    return repr(value)
