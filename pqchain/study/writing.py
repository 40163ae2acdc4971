"""Conversion of plans to TOML, to command-line options, and to Python code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from pqchain.costs import GIVEN, Costs
from pqchain.errors import UsageError
from pqchain.schemes import TABLE
from pqchain.study.inputs import INPUTS, Plan


def toml(plan: Plan) -> str:
    """Return a plan as the text of a TOML file; inputs with their default value are left out.

    >>> from pqchain.study.reading import load, parse
    >>> plan = load("bitcoin").with_(block_seconds=300.0)
    >>> parse(toml(plan), "it") == plan
    True
    """
    tables: dict[str, list[str]] = {}
    for name, row in INPUTS.items():
        value = getattr(plan, name)
        # Defaults are left out, so that a file shows what its author decided.
        if value is None or value == plan.default(name):
            continue
        entries = value.items() if isinstance(value, Mapping) else [(name, value)]
        tables.setdefault(row.table, []).extend(
            f"{_key(key)} = {_value(entry)}" for key, entry in entries
        )
    tables["sources"] = [f"{_key(key)} = {_value(text)}" for key, text in plan.sources.items()]
    parts = [
        _table(f"[{name}]" if name else "", entries) for name, entries in tables.items() if entries
    ]
    parts += [_table("[[scheme]]", _entries(_scheme(row))) for row in plan.own_schemes]
    for observed in plan.observed:
        entry = observed._asdict()
        entry["set"] = entry.pop("settings")
        parts.append(_table("[[observed]]", _entries(entry)))
    return "\n\n".join(parts) + "\n"


def changes(plan: Plan, start: Plan) -> dict[str, Any]:
    """Return the inputs in which `plan` differs from `start`, as arguments of `Plan.with_`."""
    # Another law or world resets the network; its other inputs are compared with those defaults.
    of_law = start.with_(law=plan.law)
    of_world = of_law if plan.world == of_law.world else of_law.with_(world=plan.world)
    before = {"law": start, "world": of_law}
    return {
        name: getattr(plan, name)
        for name in INPUTS
        if name not in plan.unused
        and getattr(plan, name) != getattr(before.get(name, of_world), name)
    }


def options(plan: Plan, start: Plan) -> list[str]:
    """Return the options --set and --scheme that change `start` into `plan`.

    Inputs without such options, such as shares of a migration, are left out.

    >>> from pqchain.study.reading import load
    >>> start = load("bitcoin")
    >>> options(start.with_(block_seconds=300.0, algorithms=("ML-DSA-44",)), start)
    ['--set', 'algorithms=ML-DSA-44', '--set', 'block_seconds=300.0']
    """
    before = {row.algorithm for row in start.own_schemes}
    added = [row for row in plan.own_schemes if row.algorithm not in before]
    arguments = [text for row in added for text in ("--scheme", _in_one_line(row))]
    for name, value in changes(plan, start).items():
        if isinstance(value, tuple):
            value = ",".join(value)
        elif isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, Mapping):
            arguments += ["--set", f"{name}={value}"]
    return arguments


def python(plan: Plan, start: Plan, name: str) -> str:
    """Return the Python expression that creates `plan` from `start`, the study `name`."""
    loaded = f"pq.study.load({json.dumps(name, ensure_ascii=False)})"
    arguments = [
        f"{key}={dict(value) if isinstance(value, Mapping) else value!r}"
        for key, value in changes(plan, start).items()
    ]
    before = {row.algorithm for row in start.own_schemes}
    if added := [row for row in plan.own_schemes if row.algorithm not in before]:
        rows = [f"pq.Costs.given({_arguments(row)})" for row in (*start.own_schemes, *added)]
        arguments.append(f"own_schemes=({', '.join(rows)},)")
    if not arguments:
        return loaded
    return f"{loaded}.with_(\n" + "".join(f"    {text},\n" for text in arguments) + ")"


def _table(heading: str, entries: list[str]) -> str:
    return "\n".join([heading, *entries] if heading else entries)


def _entries(row: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in row.items() if value not in ("", {})]


def _scheme(row: Costs) -> dict[str, Any]:
    values = {"name": row.algorithm} | {
        name: getattr(row, name) for name, *_ in TABLE if name not in ("name", "source")
    }
    if not row.anchor_seconds:
        del values["anchor_seconds"]
    known = {key: value for key, value in values.items() if value == value}  # no NaN
    return known | {"source": row.source.removeprefix(GIVEN).strip()}


def _in_one_line(row: Costs) -> str:
    """Return a user-defined scheme as an argument of --scheme, separated by commas."""
    fields = _scheme(row)
    parts = [str(fields.pop("name"))]
    for key, value in fields.items():
        short = key.removesuffix("_seconds").removesuffix("_bytes")
        # Commas separate the parts of the argument.
        text = str(value).replace(",", ";")
        parts.append(f"{short}={text}{'s' if key.endswith('_seconds') else ''}")
    return ",".join(parts)


def _arguments(row: Costs) -> str:
    fields = _scheme(row)
    listed = [f"{key}={value!r}" for key, value in fields.items() if key != "name"]
    return ", ".join([repr(fields["name"]), *listed])


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
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"numbers in a TOML file must be finite; got {value}")
    return repr(value)
