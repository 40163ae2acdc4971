"""A plan written down, so that others get it again: as TOML, for the command line, as Python.

Knows the layout of a file, as `reading` does; a plan that is written and read is the same plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pqchain.consensus import named
from pqchain.costs import GIVEN, Costs
from pqchain.errors import UsageError
from pqchain.schemes import TABLE
from pqchain.study.plan import DEFAULTS, Plan, value_of
from pqchain.study.quantities import INPUTS
from pqchain.study.wiring import WIRES, without_effect


def toml(plan: Plan) -> str:
    """Return the file of a plan; inputs that are as by default are left out.

    Raises UsageError if its network has parameters that a file cannot say.

    >>> from pqchain.study.reading import load, parse
    >>> plan = load("bitcoin").with_(block_seconds=300.0)
    >>> parse(toml(plan), "it") == plan
    True
    """
    tables: dict[str, list[str]] = {}
    for name, row in INPUTS.items():
        value = value_of(plan, name)
        if _is_default(plan, name, value):
            continue
        entries = value.items() if isinstance(value, Mapping) else [(name, value)]
        tables.setdefault(row.table, []).extend(
            f"{_key(key)} = {_value(each)}" for key, each in entries
        )
    tables["sources"] = [f"{_key(key)} = {_value(text)}" for key, text in plan.sources.items()]
    parts = [_table(f"[{name}]" if name else "", lines) for name, lines in tables.items() if lines]
    parts += [_table("[[scheme]]", _entries(_given(row))) for row in plan.own_schemes]
    for seen in plan.observed:
        told = {"set" if key == "settings" else key: each for key, each in seen._asdict().items()}
        parts.append(_table("[[observed]]", _entries(told)))
    _check_network(plan)
    return "\n\n".join(parts) + "\n"


def settings(plan: Plan, start: Plan) -> dict[str, Any]:
    """Return the inputs in which a plan differs from another, as `Plan.with_` takes them."""
    law_changes = plan.network.law != start.network.law
    usual = named(plan.network.law) if law_changes else start.network
    changed: dict[str, Any] = {}
    for name in INPUTS:
        before = getattr(usual, name, None) if name in WIRES else value_of(start, name)
        if name == "law":
            before = start.network.law
        if value_of(plan, name) != before and name not in without_effect(plan.network):
            changed[name] = value_of(plan, name)
    return changed


def words(plan: Plan, start: Plan) -> list[str]:
    """Return what changes one plan into another on the command line: --set and --scheme.

    What has no words there, such as shares of a migration, is left out.

    >>> from pqchain.study.reading import load
    >>> start = load("bitcoin")
    >>> words(start.with_(block_seconds=300.0, schemes=("ML-DSA-44",)), start)
    ['--set', 'schemes=ML-DSA-44', '--set', 'block_seconds=300.0']
    """
    before = {row.algorithm for row in start.own_schemes}
    given = [row for row in plan.own_schemes if row.algorithm not in before]
    said = [word for row in given for word in ("--scheme", _in_one_line(row))]
    for name, value in settings(plan, start).items():
        if isinstance(value, tuple):
            value = ",".join(value)
        elif isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, Mapping):
            said += ["--set", f"{name}={value}"]
    return said


def python(plan: Plan, start: Plan, name: str) -> str:
    """Return the expression that makes a plan of the study of that name."""
    made = f"pq.study.load({json.dumps(name, ensure_ascii=False)})"
    changes = [
        f"{key}={dict(value) if isinstance(value, Mapping) else value!r}"
        for key, value in settings(plan, start).items()
    ]
    before = {row.algorithm for row in start.own_schemes}
    if given := [row for row in plan.own_schemes if row.algorithm not in before]:
        rows = [f"pq.Costs.given({_arguments(row)})" for row in (*start.own_schemes, *given)]
        changes.append(f"own_schemes=({', '.join(rows)},)")
    if not changes:
        return made
    return f"{made}.with_(\n" + "".join(f"    {change},\n" for change in changes) + ")"


def _is_default(plan: Plan, name: str, value: Any) -> bool:
    """Whether a file need not say an input."""
    if name in WIRES and name != "law":
        return name in without_effect(plan.network) or value == getattr(
            named(plan.network.law), name
        )
    return name != "law" and name in DEFAULTS and value == DEFAULTS[name]


def _check_network(plan: Plan) -> None:
    """Raise UsageError if the network differs from its law's in what no file says."""
    usual = named(plan.network.law)
    odd = [
        each.name
        for each in fields(usual)
        if each.name not in WIRES and getattr(usual, each.name) != getattr(plan.network, each.name)
    ]
    if odd:
        raise UsageError(
            f"{', '.join(odd)} of the network cannot be written to a file; keep the lines of "
            "Python that make it"
        )


def _table(heading: str, lines: list[str]) -> str:
    return "\n".join([heading, *lines] if heading else lines)


def _entries(row: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in row.items() if value not in ("", {})]


def _given(row: Costs) -> dict[str, Any]:
    """Return a scheme of the user's own as a table [[scheme]] holds it."""
    values = {"name": row.algorithm} | {
        name: getattr(row, name) for name, *_ in TABLE if name not in ("name", "source")
    }
    known = {key: value for key, value in values.items() if value == value}  # no NaN
    return known | {"source": row.source.removeprefix(GIVEN).strip()}


def _in_one_line(row: Costs) -> str:
    """Return a scheme of the user's own as --scheme takes it; commas part its fields."""
    own = _given(row)
    parts = [str(own.pop("name"))]
    for key, value in own.items():
        short = key.removesuffix("_seconds").removesuffix("_bytes")
        text = str(value).replace(",", ";")
        parts.append(f"{short}={text}{'s' if key.endswith('_seconds') else ''}")
    return ",".join(parts)


def _arguments(row: Costs) -> str:
    own = _given(row)
    return ", ".join([repr(own.pop("name")), *(f"{key}={value!r}" for key, value in own.items())])


def _key(name: str) -> str:
    """Write a key of TOML, in quotes where it has other characters than a bare one may have."""
    return name if name and set(name) <= _BARE else _text(name)


_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def _text(value: str) -> str:
    # A string of JSON is one of TOML but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """Write a value of TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{value} cannot be written to a file; expected a finite number")
    return repr(value)
