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
from typing import Any

from pqchain.errors import UnknownName, UsageError
from pqchain.study.plan import (
    NETWORK_INPUTS,
    WIRES,
    Plan,
    asked,
    rewired,
    wrong_network,
    wrong_values,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

READY = ("pqdpol", "ethereum", "bitcoin")
"""Studies that come with the package."""


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
    lines = _lines(text)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[str] = []
    tables, unknown = _tables(document)
    for (section, key), line in list(lines.items()):
        lines.setdefault((tables.get(section) or section, key), line)

    def problem(section: str, key: str, message: str) -> None:
        line = lines.get((section, key), lines.get((section, ""), 1))
        problems.append(f"{name}, line {line}: {message}")

    for section, message in unknown.items():
        problem(section, "", message)
    known = _known()
    settings: dict[str, Any] = {}
    for written, key, value in _entries(document):
        section = tables.get(written, "")
        if written and not section:
            continue
        if section == "sources":
            if isinstance(value, str):
                sources[key] = value
                continue
            problem(section, key, f"the source of {key} is {value!r}; expected a text")
        elif section == "network" and key in WIRES:
            settings[key] = value
        elif section == "chain.migration":
            values.setdefault("migration", {})[key] = value
        elif (section, key) in known:
            values[key] = tuple(value) if isinstance(value, list) else value
        else:
            problem(section, key, _unknown(section, key, known))
    values["sources"] = sources
    for key in sources:
        names = {key for _, key in known} | {*WIRES, "migration"}
        if key not in names:
            problem("sources", key, f"a source of {key!r}, which is no input{_near(key, names)}")
    for each in fields(Plan):
        missing = each.default is MISSING and each.default_factory is MISSING
        if missing and each.name not in values and each.name != "network":
            section = each.metadata["section"]
            problem(section, each.name, f"[{section}] lacks {each.name} ({asked(each)})")
    if "law" not in settings:
        problem("network", "law", '[network] lacks law, such as law = "gossip"')
    else:
        wrong = list(wrong_network(None, settings))
        for key, message in wrong:
            problem("network", key, message)
        if not wrong:
            values["network"] = rewired(None, settings)
    if not problems:
        try:
            return Plan(**values)
        except UsageError as error:
            for message in str(error).split("\n"):
                key = message.partition(" ")[0].rstrip(":")
                section = next((s for s, k in known if k == key), "")
                problem("chain.migration" if key == "migration" else section, key, message)
    else:
        for message in wrong_values(_Loose(values)):
            key = message.partition(" ")[0].rstrip(":")
            problem(next((s for s, k in known if k == key), ""), key, message)
    raise UsageError("\n".join(problems))


class _Loose:
    """Values of a plan that cannot be made; what is missing reads as None."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return self._values.get(name)


def _known() -> dict[tuple[str, str], Any]:
    """Return every key that a file may have, by section and name."""
    return {
        (each.metadata["section"], each.name): each
        for each in fields(Plan)
        if each.name not in ("network", "migration", "sources")
    }


def _entries(document: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
    """Yield section, key and value of everything in a document, tables opened."""
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
    """Return which table each of a document stands for ("": none), and what to say of unknown ones.

    A misspelt table is read as the one that was meant, so that its inputs are not missed as well.
    """
    known = {section for section, _ in _known() if section} | {"network", "chain.migration"}
    known.add("sources")
    tables: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for outer, content in document.items():
        if not isinstance(content, Mapping):
            continue
        inner = [f"{outer}.{name}" for name, each in content.items() if isinstance(each, Mapping)]
        for name in (outer, *inner):
            parent, dot, rest = name.partition(".")
            wanted = f"{tables.get(parent, parent)}{dot}{rest}"
            if wanted in known:
                tables[name] = wanted
                continue
            near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
            tables[name] = near[0] if near else ""
            if dot and not tables[parent]:
                continue
            hint = f"did you mean [{near[0]}]?" if near else (
                f"expected {', '.join(f'[{each}]' for each in sorted(known))}"
            )  # fmt: skip
            unknown[name] = f"unknown table [{name}]; {hint}"
    return tables, unknown


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line on which each key of each section stands, and each section itself."""
    found: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[\s*([\w.\-]+)\s*\]", line)
        if heading:
            section = heading[1]
            found.setdefault((section, ""), number)
            continue
        key = re.match(r"\s*(?:\"([^\"]+)\"|([\w.\-+]+))\s*=", line)
        if key:
            found.setdefault((section, key[1] or key[2]), number)
    return found


def _unknown(section: str, key: str, known: Iterable[tuple[str, str]]) -> str:
    """Say what a key that nobody knows may have meant."""
    elsewhere = [where for where, name in known if name == key]
    if elsewhere:
        return f"{key} belongs into [{elsewhere[0]}], not into [{section}]"
    names = {name for _, name in known} | set(WIRES)
    return f"unknown input {key!r}{_near(key, names)}"


def _near(key: str, names: Iterable[str]) -> str:
    """Suggest the inputs whose names are nearest, with their units."""
    units = {each.name: each.metadata["unit"] for each in fields(Plan)}
    units |= {name: unit for name, unit, _ in NETWORK_INPUTS}
    near = difflib.get_close_matches(key, list(names), n=2, cutoff=0.5)
    if not near:
        return "; see `pqchain study --inputs`"
    spoken = [f"{name} ({units[name]})" if units.get(name) else name for name in near]
    return f"; did you mean {' or '.join(spoken)}?"
