"""A plan from TOML: every problem of a file at once, each with its line and what was meant.

Knows tables, lines and near misses; what an input may be, the plan says.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pqchain.errors import UnknownName, UsageError
from pqchain.study import plan as inputs
from pqchain.study.plan import WIRES, ImpossiblePlan, Plan, Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

READY = ("pqdpol", "ethereum", "bitcoin")
"""Studies that come with the package."""

SECTIONS: Mapping[str, str] = {
    **{each.name: each.metadata["section"] for each in fields(Plan) if each.name != "sources"},
    **dict.fromkeys(WIRES, "network"),
    "migration": "chain.migration",
}
"""The table of a file in which each input stands."""


def ready(name: str) -> str:
    """Return the text of a study that comes with the package. Raises UnknownName."""
    if name not in READY:
        raise UnknownName("ready study", name, READY, "`pqchain study --list`.")
    return (files("pqchain.study") / "ready" / f"{name}.toml").read_text(encoding="utf-8")


def load(source: str | Path) -> Plan:
    """Read a plan from a ready study or a TOML file.

    Raises UsageError that lists every problem with its line and what to do, and UnknownName if
    there is neither a ready study nor a file of that name.

    >>> load("bitcoin").block_seconds
    600.0
    """
    path = Path(source)
    if str(source) in READY:
        return parse(ready(str(source)), str(source))
    if path.suffix != ".toml":
        raise UnknownName("ready study", str(source), READY, "`pqchain study --list`.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the study {path}: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Plan:
    """Return the plan that TOML describes. Raises UsageError with every problem and its line."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    tables, misspelt = _tables(document)
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
    for table, key, value in _entries(document):
        section = tables.get(table, "")
        if table and not section:
            continue
        if section == "sources" and isinstance(value, str):
            values["sources"][key] = value
        elif section == "sources":
            report(section, key, f"the source of {key} is {value!r}; expected a text")
        elif section == "chain.migration":
            values.setdefault("migration", {})[key] = value
        elif SECTIONS.get(key) != section or key == "network":
            report(section, key, _unknown(section, key))
        elif key in WIRES:
            settings[key] = value
        else:
            values[key] = tuple(value) if isinstance(value, list) else value
    for key in values["sources"]:
        if key not in SECTIONS:
            report("sources", key, f"a source of {key!r}, which is no input{_near(key)}")
    for each in fields(Plan):
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and each.name not in values and each.name != "network":
            section = SECTIONS[each.name]
            report(section, each.name, f"[{section}] lacks {each.name} ({inputs.meaning(each)})")
    wrong = [Problem("law", '[network] lacks law, such as law = "gossip"')]
    if "law" in settings:
        wrong = list(inputs.wrong_network(None, settings))
    for key, message in wrong:
        report("network", key, message)
    if not wrong:
        values["network"] = inputs.rewired(None, settings)
    if problems:
        unset = dict.fromkeys(each.name for each in fields(Plan))
        wrong = list(inputs.wrong_values(SimpleNamespace(**(unset | values))))
    else:
        try:
            return Plan(**values)
        except ImpossiblePlan as error:
            wrong = list(error.problems)
    for key, message in wrong:
        report(SECTIONS[key], key, message)
    raise UsageError("\n".join(problems))


def _entries(document: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
    """Yield table, key and value of everything in a document, tables opened."""
    for key, value in document.items():
        if not isinstance(value, Mapping):
            yield "", key, value
            continue
        for inner, content in value.items():
            if isinstance(content, Mapping):
                yield from ((f"{key}.{inner}", name, each) for name, each in content.items())
            else:
                yield key, inner, content


def _tables(document: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the section that each table of a document stands for ("": none), and what is misspelt.

    A misspelt table is read as the one that was meant, so that its inputs are not missed as well.
    """
    known = {*SECTIONS.values(), "sources"} - {""}
    tables: dict[str, str] = {}
    misspelt: dict[str, str] = {}
    for outer, content in document.items():
        if not isinstance(content, Mapping):
            continue
        inner = [f"{outer}.{name}" for name, each in content.items() if isinstance(each, Mapping)]
        for name in (outer, *inner):
            parent, dot, rest = name.partition(".")
            section = f"{tables.get(parent, parent)}{dot}{rest}"
            near = difflib.get_close_matches(section, known, n=1, cutoff=0.6)
            tables[name] = section if section in known else "".join(near)
            if section in known or (dot and not tables[parent]):
                continue
            expected = f"expected {', '.join(f'[{each}]' for each in sorted(known))}"
            hint = f"did you mean [{near[0]}]?" if near else expected
            misspelt[name] = f"unknown table [{name}]; {hint}"
    return tables, misspelt


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line on which each key of each table stands, and each table itself."""
    lines: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[\s*([\w.\-]+)\s*\]", line)
        key = re.match(r"\s*(?:\"([^\"]+)\"|([\w.\-+]+))\s*=", line)
        if heading:
            table = heading[1]
            lines.setdefault((table, ""), number)
        elif key:
            lines.setdefault((table, key[1] or key[2]), number)
    return lines


def _unknown(section: str, key: str) -> str:
    """Say where a key belongs, or what it may have meant."""
    if key in SECTIONS and key != "network":
        return f"{key} belongs into [{SECTIONS[key]}], not into [{section}]"
    return f"unknown input {key!r}{_near(key)}"


def _near(key: str) -> str:
    """Suggest the inputs whose names are nearest, with their units."""
    units = {name: unit for _, name, unit, _, _ in inputs.described()}
    near = difflib.get_close_matches(key, SECTIONS, n=2, cutoff=0.5)
    if not near:
        return "; see `pqchain study --inputs`"
    shown = [f"{name} ({units[name]})" if units.get(name) else name for name in near]
    return f"; did you mean {' or '.join(shown)}?"
