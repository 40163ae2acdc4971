"""Plans as TOML files: reading with the line of every problem, writing, and changes by texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict
from datetime import date
from pathlib import Path
from typing import Any

from pqchain import installation, schemes
from pqchain.costs import GIVEN, Costs
from pqchain.errors import UnknownName, UsageError
from pqchain.study.figures import QUANTITIES
from pqchain.study.inputs import PARAMETERS
from pqchain.study.plan import INPUTS, TABLES, ImpossiblePlan, Plan, check_name
from pqchain.study.plans import ready


def load(source: str | Path) -> Plan:
    """Read a plan from a ready study or a TOML file.

    Raises UsageError with every problem and its line, and UnknownName if there is neither a ready
    study nor a file of that name.

    >>> load("bitcoin").chain.block_seconds
    600.0
    """
    path = Path(source)
    if path.suffix != ".toml":
        return parse(ready(str(source)), str(source))
    try:
        text = installation.read_bytes(path, installation.MAX_TEXT_BYTES).decode()
    except OSError as error:
        raise UsageError(f"cannot read the study {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the study {path} must be UTF-8: {error.reason}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Plan:
    """Parse a plan in TOML. Raises UsageError with every problem and its line."""
    try:
        tables = installation.parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{name}: invalid TOML: {error}") from error
    try:
        plan = Plan.of(tables)
    except ImpossiblePlan as error:
        # TOML parsers give no positions of valid keys, so lines are found by a scan of the text.
        lines = _line_numbers(text)
        problems = []
        for path, message in error.problems:
            places = (path[end:] and path[: len(path) - end] for end in range(len(path)))
            line = next((lines[place] for place in places if place in lines), None)
            where = f"line {line}" if line else f"[{path[0]}]"
            problems.append(f"{name}, {where}: {message}")
        raise UsageError("\n".join(problems)) from None
    for observed in plan.observed:
        if observed.quantity not in QUANTITIES:
            see = "`pqchain study` lists them."
            raise UnknownName("figure", observed.quantity, QUANTITIES, see)
    # A scheme that the file defines is compared even if `algorithms` does not name it.
    defined = [row.algorithm for row in plan.own_schemes if row.algorithm not in plan.names]
    return plan.with_(algorithms=(*plan.chain.algorithms, *defined)) if defined else plan


def _line_numbers(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each table and key, by the path of a problem."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[\[?\s*([\w.\-]+)\s*\]", line)
        key = re.match(r"\s*(?:\"([^\"]+)\"|([\w.\-+]+))\s*=", line)
        if heading:
            table = tuple(heading[1].split("."))
        if heading or key:
            path = table if heading else (*table, key[1] or key[2])  # type: ignore[index]
            lines.setdefault(path, number)
    return lines


def toml(plan: Plan) -> str:
    """Return a plan as the text of a TOML file; inputs with their default value are left out.

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


def _table(heading: str, row: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_toml_value(value)}" for key, value in row.items()]
    return "\n".join([heading, *lines] if heading else lines)


def _scheme(row: Costs) -> dict[str, Any]:
    names = [name for name, *_ in schemes.TABLE if name not in ("name", "source")]
    values = {name: getattr(row, name) for name in names}
    if not row.anchor_seconds:
        del values["anchor_seconds"]
    known = {key: value for key, value in values.items() if value == value}  # no NaN
    return {"name": row.algorithm, **known, "source": row.source.removeprefix(GIVEN).strip()}


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_value(name)


def _toml_value(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_toml_value(row)}" for key, row in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"numbers in a TOML file must be finite; got {value}")
    # A scalar of JSON is one of TOML, except that TOML requires DEL to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def input_rows(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input with an effect."""
    rows: list[tuple[str, Any, str, str, str]] = []
    for name, row in INPUTS.items():
        value, source = plan.value(name), plan.source(name)
        idle = name in plan.unused and (value is None or source == "default")
        if name in ("title", "checked") or (name == "valid_until" and value is None) or idle:
            continue
        if isinstance(value, Mapping):
            value = [
                f"{algorithm} {entry if isinstance(entry, str) else format(entry, 'g')}"
                for algorithm, entry in value.items()
            ]
        if isinstance(value, (tuple, list)):
            value = ", ".join(value)
        rows.append((name, "none" if value == "" else value, row.unit, row.field.help, source))
    return rows


def input_help() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield table, name, unit, meaning and default of every key that a study file may have."""
    for name, row in INPUTS.items():
        value, about = row.field.default, row.field.help
        is_table = value == {}
        default = "none" if is_table or value is None else str(value)
        default = "needed" if value is MISSING else default
        table = f"{row.table}.{name}" if is_table else row.table
        key = "SCHEME" if is_table else name
        if any(choice not in about for choice in row.field.choices):
            about = f"{about}: {', '.join(row.field.choices)}"
        yield table, key, row.unit, about, "the law's" if name in PARAMETERS else default
    for field in schemes.TABLE:
        yield "[scheme]", *field, "none"
    yield "sources", "INPUT", "", "source of each input", "none"


def with_settings(plan: Plan, changes: Sequence[str], names: Sequence[str] = ()) -> Plan:
    """Return the plan with changes such as "nodes=1024", and with the user's schemes.

    Raises UsageError, which lists all invalid changes.
    """
    spellings = {name.casefold(): name for name in INPUTS}
    settings: dict[str, Any] = {}
    problems: list[str] = []
    for change in changes:
        path, sign, text = change.partition("=")
        if not sign:
            problems.append(f"--set must be INPUT=VALUE, such as nodes=1024; got {change}")
            continue
        # chain.block_seconds=6 or block_seconds=6; gas_prices.ML-DSA-44=4500 is of one scheme.
        table, _, rest = path.partition(".")
        name, _, scheme = (rest if table.casefold() in TABLES else path).partition(".")
        name = spellings.get(name.casefold(), name)
        try:
            check_name(name)
        except UsageError as error:
            problems.append(str(error))
            continue
        kind = INPUTS[name].field.type if name in INPUTS else None
        if kind is Mapping and scheme:
            by_scheme = settings.get(name, plan.value(name))
            settings[name] = {**by_scheme, scheme: _parsed(text, float)}
        elif kind in (None, Mapping):
            problems.append(f"--set cannot change {name!r}; set it in a TOML file")
        else:
            settings[name] = text.casefold() if name == "law" else _parsed(text, kind)
    # Costs of the schemes that --scheme defines by numbers; others are measured.
    defined = tuple(row for row in map(schemes.costs_of, names) if row is not None)
    chosen = settings.get("algorithms", plan.chain.algorithms)
    known = {name.casefold() for name in chosen}
    settings["algorithms"] = (*chosen, *(name for name in names if name.casefold() not in known))
    try:
        changed = plan.with_(own_schemes=plan.own_schemes + defined, **settings)
        problems += [
            f"{name} must be {plan.value(name)}, because no figure depends on it; got {value}. "
            "Leave it out."
            for name in changed.unused & {*settings}
            if (value := changed.value(name)) != plan.value(name)
        ]
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changed


def _parsed(text: str, kind: type) -> Any:
    """Parse a value of a type; return invalid text as is, for the plan to reject."""
    if kind is tuple:
        return tuple(filter(None, map(str.strip, text.split(","))))
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    if kind not in (int, float, date):
        return text
    parse_number: Any = date.fromisoformat if kind is date else kind
    try:
        return parse_number(text.replace("_", ""))
    except ValueError:
        return text
