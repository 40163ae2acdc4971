"""Changes of a plan by texts, such as those of a command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from pqchain import schemes
from pqchain.errors import UsageError
from pqchain.study.plan import INPUTS, TABLES, Plan, check_name


def with_settings(plan: Plan, changes: Sequence[str], names: Sequence[str] = ()) -> Plan:
    """Return the plan with changes such as "nodes=1024", and with the user's schemes.

    Raises UsageError, which lists all invalid changes.
    """
    return _with_schemes(_changed(_with_costs(plan, names), changes), names)


def _with_costs(plan: Plan, names: Sequence[str]) -> Plan:
    """Return the plan with the costs of the schemes that --scheme defines by numbers."""
    costs = tuple(row for row in map(schemes.costs_of, names) if row is not None)
    return plan.with_(own_schemes=plan.own_schemes + costs) if costs else plan


def _with_schemes(plan: Plan, names: Sequence[str]) -> Plan:
    known = {name.casefold() for name in plan.chain.algorithms}
    added = tuple(name for name in names if name.casefold() not in known)
    return plan.with_(algorithms=plan.chain.algorithms + added) if added else plan


def _changed(plan: Plan, changes: Sequence[str]) -> Plan:
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
            settings[name] = {**by_scheme, scheme: _value(text, float)}
        elif kind is tuple:
            settings[name] = tuple(filter(None, map(str.strip, text.split(","))))
        elif kind in (None, Mapping):
            problems.append(f"--set cannot change {name!r}; set it in a TOML file")
        else:
            settings[name] = text.casefold() if name == "law" else _value(text, kind)
    try:
        changed = plan.with_(**settings)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changed


def _value(text: str, kind: type) -> Any:
    """Parse a value of a type; return invalid text as is, for the plan to reject."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    parsers: dict[type, Callable[[str], Any]] = {
        int: int, float: float, date: date.fromisoformat
    }  # fmt: skip
    try:
        return parsers.get(kind, str)(text.replace("_", "") if kind in parsers else text)
    except ValueError:
        return text
