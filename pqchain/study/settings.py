"""Changes of a plan by texts, such as those of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pqchain import schemes
from pqchain.errors import UsageError
from pqchain.study.plan import INPUTS, TABLES, Plan, check_name


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
            settings[name] = {**by_scheme, scheme: _value(text, float)}
        elif kind in (None, Mapping):
            problems.append(f"--set cannot change {name!r}; set it in a TOML file")
        else:
            settings[name] = text.casefold() if name == "law" else _value(text, kind)
    # Costs of the schemes that --scheme defines by numbers; others are measured.
    defined = tuple(row for row in map(schemes.costs_of, names) if row is not None)
    chosen = settings.get("algorithms", plan.chain.algorithms)
    known = {name.casefold() for name in chosen}
    settings["algorithms"] = (*chosen, *(name for name in names if name.casefold() not in known))
    try:
        changed = plan.with_(own_schemes=plan.own_schemes + defined, **settings)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changed


def _value(text: str, kind: type) -> Any:
    """Parse a value of a type; return invalid text as is, for the plan to reject."""
    if kind is tuple:
        return tuple(filter(None, map(str.strip, text.split(","))))
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    if kind not in (int, float, date):
        return text
    parse: Any = date.fromisoformat if kind is date else kind
    try:
        return parse(text.replace("_", ""))
    except ValueError:
        return text
