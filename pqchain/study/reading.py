"""A plan from TOML: every problem of a file at once, each with its line and what was meant.

Knows tables, lines and near misses; what an input may be, the plan says.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from pqchain import installation, schemes
from pqchain.errors import PqchainError, UsageError, shown
from pqchain.installation import parse_toml
from pqchain.study.observed import observation
from pqchain.study.plan import DEFAULTS, Plan, check_name, wrong_values
from pqchain.study.quantities import INPUTS
from pqchain.study.ready import ready
from pqchain.study.wiring import WIRES, ImpossiblePlan, rewired


def load(source: str | Path) -> Plan:
    """Read a plan from a ready study or a TOML file.

    Raises UsageError that lists every problem with its line and what to do, and UnknownName if
    there is neither a ready study nor a file of that name.

    >>> load("bitcoin").block_seconds
    600.0
    """
    path = Path(source)
    if path.suffix != ".toml":
        return parse(ready(str(source)), str(source))
    try:
        text = installation.read_bytes(path, installation.MOST_TEXT_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the study {path}: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Plan:
    """Return the plan that TOML describes. Raises UsageError with every problem and its line."""
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    observed, own = document.pop("observed", []), document.pop("scheme", [])
    opened = dict(_opened(document))
    tables, misspelt = _tables(opened)
    lines = _lines(text)
    lines = {(tables.get(table) or table, key): at for (table, key), at in lines.items()} | lines
    problems: list[str] = []

    def report(section: str, key: str, message: str) -> None:
        line = lines.get((section, key), lines.get((section, ""), 1))
        problems.append(f"{name}, line {line}: {message}")

    for table, message in misspelt.items():
        report(table, "", message)
    values: dict[str, Any] = {"sources": {}}
    settings: dict[str, Any] = {}
    for table, entries in opened.items():
        section = tables.get(table)
        if section is None:
            continue
        for key, value in entries.items():
            if section == "sources" and isinstance(value, str):
                values["sources"][key] = value
            elif section == "sources":
                report(section, key, f"the source of {key} is {shown(value)}; expected a text")
            elif section == "chain.migration":
                values.setdefault("migration", {})[key] = value
            elif key not in INPUTS or INPUTS[key].table != section:
                report(section, key, _unknown(section, key))
            elif key in WIRES:
                settings[key] = value
            else:
                values[key] = tuple(value) if isinstance(value, list) else value
    for key in values["sources"]:
        if key not in INPUTS:
            report("sources", key, f"a source of {key!r}, which is no input{_near(key)}")
    for key, row in INPUTS.items():
        if DEFAULTS.get(key) is MISSING and key not in values:
            report(row.table, key, f"[{row.table}] lacks {key} ({row.meaning})")
    try:
        values["network"] = rewired(None, settings)
    except ImpossiblePlan as error:
        for key, message in error.problems:
            report("network", key, message)
    for seen in observed if isinstance(observed, list) else [{"observed": observed}]:
        try:
            one = observation(seen)
            for name_of in one.settings:
                check_name(name_of)
            values["observed"] = (*values.get("observed", ()), one)
        except PqchainError as error:
            report("observed", "", str(error))
    for each in own if isinstance(own, list) else [{"scheme": own}]:
        try:
            values["own_schemes"] = (*values.get("own_schemes", ()), schemes.from_table(each))
        except PqchainError as error:
            report("scheme", "", str(error))
    # A scheme that is given is meant to be compared.
    named = {str(name) for name in (*values.get("schemes", ()), *values.get("migration", ()))}
    given = [scheme.algorithm for scheme in values.get("own_schemes", ())]
    if isinstance(values.get("schemes"), tuple):
        values["schemes"] += tuple(name for name in given if name not in named)
    wrong = wrong_values(values)
    try:
        if not problems:
            return Plan(**values)
    except ImpossiblePlan as error:
        wrong = error.problems
    for key, message in wrong:
        report(INPUTS[key].table, key, message)
    raise UsageError("\n".join(problems))


def _opened(document: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of every table, "" for the document, and what stands in it itself."""
    inner = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    yield name, {key: value for key, value in document.items() if key not in inner}
    for key, table in inner.items():
        yield from _opened(table, f"{name}.{key}" if name else key)


def _tables(names: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the section that each known table of a document stands for, and what is misspelt.

    A misspelt table is read as the one that was meant, so that its inputs are not missed as well.
    """
    known = {*(row.table for row in INPUTS.values()), "sources"}
    tables: dict[str, str] = {}
    misspelt: dict[str, str] = {}
    for name in names:
        parent, dot, rest = name.rpartition(".")
        section = f"{tables.get(parent, parent)}{dot}{rest}"
        near = difflib.get_close_matches(section, known, n=1, cutoff=0.6)
        if section not in known and (parent in tables or parent not in names):
            expected = f"expected {', '.join(f'[{each}]' for each in sorted(known - {''}))}"
            hint = f"did you mean [{near[0]}]?" if near else expected
            misspelt[name] = f"unknown table [{name}]; {hint}"
        if section in known or near:
            tables[name] = section if section in known else near[0]
    return tables, misspelt


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line on which each key of each table stands, and each table itself."""
    lines: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[\[?\s*([\w.\-]+)\s*\]", line)
        key = re.match(r"\s*(?:\"([^\"]+)\"|([\w.\-+]+))\s*=", line)
        if heading:
            table = heading[1]
            lines.setdefault((table, ""), number)
        elif key:
            lines.setdefault((table, key[1] or key[2]), number)
    return lines


def _unknown(section: str, key: str) -> str:
    """Say where a key belongs, or what it may have meant."""
    if key in INPUTS:
        return f"{key} belongs into [{INPUTS[key].table}], not into [{section}]"
    return f"unknown input {key!r}{_near(key)}"


def _near(key: str) -> str:
    """Suggest the inputs whose names are nearest, with their units."""
    near = difflib.get_close_matches(key, INPUTS, n=2, cutoff=0.5)
    if not near:
        return "; see `pqchain study --inputs`"
    shown = [f"{name} ({INPUTS[name].unit})" if INPUTS[name].unit else name for name in near]
    return f"; did you mean {' or '.join(shown)}?"
