"""Reader of plans in TOML; errors list every problem with its line and the nearest known name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation, schemes
from pqchain.errors import PqchainError, UnknownName, UsageError, short_repr
from pqchain.installation import parse_toml
from pqchain.study.checking import REQUIRED, ImpossiblePlan, Observation, wrong_values
from pqchain.study.figures import QUANTITIES
from pqchain.study.inputs import BY_SCHEME, INPUTS, Plan, check_name
from pqchain.study.plans import ready


def load(source: str | Path) -> Plan:
    """Read a plan from a ready study or a TOML file.

    Raises UsageError with every problem and its line, and UnknownName if there is neither a ready
    study nor a file of that name.

    >>> load("bitcoin").block_seconds
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
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{name}: invalid TOML: {error}") from error
    observed, schemes_of_user = document.pop("observed", []), document.pop("scheme", [])
    by_table = dict(_flattened(document))
    tables, misspelt = _tables(by_table)
    # TOML parsers give no positions of valid keys, so lines are found by a scan of the text.
    numbers = _line_numbers(text)
    corrected = {(tables.get(table) or table, key): at for (table, key), at in numbers.items()}
    numbers = corrected | numbers
    problems: list[str] = []

    def report(section: str, key: str, message: str) -> None:
        line = numbers.get((section, key), numbers.get((section, "")))
        problems.append(f"{name}{'' if line is None else f', line {line}'}: {message}")

    for table, message in misspelt.items():
        report(table, "", message)
    values: dict[str, Any] = {"sources": {}}
    by_scheme = {INPUTS[name].table: name for name in BY_SCHEME}
    for table, entries in by_table.items():
        section = tables.get(table)
        if section is None:
            continue
        for key, value in entries.items():
            if section == "sources" and isinstance(value, str):
                values["sources"][key] = value
            elif section == "sources":
                report(section, key, f"the source of {key} must be a text; got {short_repr(value)}")
            elif section in by_scheme:
                values.setdefault(by_scheme[section], {})[key] = value
            elif key not in INPUTS or INPUTS[key].table != section:
                report(section, key, _unknown(section, key))
            else:
                values[key] = tuple(value) if isinstance(value, list) else value
    for key in values["sources"]:
        if key not in INPUTS:
            report("sources", key, f"sources must name inputs; got {key!r}{_near(key)}")
    for key, row in INPUTS.items():
        if row.default is REQUIRED and key not in values:
            report(row.table, key, f"[{row.table}] lacks {key} ({row.meaning})")
    for entry in observed if isinstance(observed, list) else [{"observed": observed}]:
        try:
            values["observed"] = (*values.get("observed", ()), observation(entry))
        except PqchainError as error:
            report("observed", "", str(error))
    if not isinstance(schemes_of_user, list):
        schemes_of_user = [{"scheme": schemes_of_user}]
    for entry in schemes_of_user:
        try:
            values["own_schemes"] = (*values.get("own_schemes", ()), schemes.from_table(entry))
        except PqchainError as error:
            report("scheme", "", str(error))
    # A scheme that the file defines is compared even if `algorithms` does not name it.
    named = {str(name) for name in (*values.get("algorithms", ()), *values.get("migration", ()))}
    defined = [row.algorithm for row in values.get("own_schemes", ())]
    if isinstance(values.get("algorithms"), tuple):
        values["algorithms"] += tuple(name for name in defined if name not in named)
    # Checked even if tables are misspelt, so that all problems are reported at once.
    wrong = list(wrong_values(INPUTS, values))
    try:
        if not problems:
            return Plan(**values)
    except ImpossiblePlan as error:
        wrong = list(error.problems)
    for key, message in wrong:
        report(INPUTS[key].table, key, message)
    raise UsageError("\n".join(problems))


def observation(row: Mapping[str, Any]) -> Observation:
    """Return the observation that a TOML table [[observed]] describes. Raises UsageError."""
    values = {"set": {}, "algorithm": "", "dependence": "", "engine": "", **row}
    texts = ("quantity", "algorithm", "source", "date", "dependence", "engine")
    expected: dict[str, Any] = dict.fromkeys(texts, str)
    expected |= {"value": (int, float), "set": Mapping}
    if wrong := sorted(set(values) ^ set(expected)):
        raise UsageError(
            f"an observation must have {', '.join(expected)}; got {', '.join(sorted(row))} "
            f"(missing or unknown: {', '.join(wrong)})"
        )
    for name, kind in expected.items():
        if not isinstance(values[name], kind):
            raise UsageError(
                f"{name} of an observation must have its type in data/chains; "
                f"got {short_repr(values[name])}"
            )
    if values["quantity"] not in QUANTITIES:
        raise UnknownName("figure", values["quantity"], QUANTITIES, "`pqchain study` lists them.")
    if values["value"] <= 0:
        raise UsageError(
            f"an observed {values['quantity']} must be above 0; got {short_repr(values['value'])}"
        )
    algorithm = values["algorithm"] and algorithms.get(values["algorithm"]).name
    for name in values["set"]:
        check_name(name)
    names = ("source", "date", "set", "dependence", "engine")
    origin = (values[name] for name in names)
    return Observation(values["quantity"], algorithm, float(values["value"]), *origin)


def _flattened(document: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the keys of every table; the name of the document is ""."""
    inner = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    yield name, {key: value for key, value in document.items() if key not in inner}
    for key, table in inner.items():
        yield from _flattened(table, f"{name}.{key}" if name else key)


def _tables(names: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the known table that each table is read as, and messages for misspelt ones."""
    # A misspelt table is read as the nearest one, so that its inputs are not reported as missing.
    known = {*(row.table for row in INPUTS.values()), "sources"}
    tables: dict[str, str] = {}
    misspelt: dict[str, str] = {}
    for name in names:
        parent, dot, rest = name.rpartition(".")
        section = f"{tables.get(parent, parent)}{dot}{rest}"
        near = difflib.get_close_matches(section, known, n=1, cutoff=0.6)
        if section not in known and (parent in tables or parent not in names):
            expected = f"expected {', '.join(f'[{table}]' for table in sorted(known - {''}))}"
            hint = f"did you mean [{near[0]}]?" if near else expected
            misspelt[name] = f"unknown table [{name}]; {hint}"
        if section in known or near:
            tables[name] = section if section in known else near[0]
    return tables, misspelt


def _line_numbers(text: str) -> dict[tuple[str, str], int]:
    numbers: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[\[?\s*([\w.\-]+)\s*\]", line)
        key = re.match(r"\s*(?:\"([^\"]+)\"|([\w.\-+]+))\s*=", line)
        if heading:
            table = heading[1]
            numbers.setdefault((table, ""), number)
        elif key:
            numbers.setdefault((table, key[1] or key[2]), number)
    return numbers


def _unknown(section: str, key: str) -> str:
    if key in INPUTS:
        where = f"in [{section}]" if section else "at the top of the file"
        return f"{key} belongs in [{INPUTS[key].table}], not {where}"
    return f"unknown input {key!r}{_near(key, section)}"


def _near(key: str, section: str = "") -> str:
    # An author knows the table of an input better than its name.
    in_table = [name for name, row in INPUTS.items() if row.table == section]
    near = difflib.get_close_matches(key, in_table, n=2, cutoff=0.5)
    near = near or difflib.get_close_matches(key, INPUTS, n=2, cutoff=0.5)
    if not near:
        return "; see `pqchain study --inputs`"
    named = [f"{name} ({INPUTS[name].unit})" if INPUTS[name].unit else name for name in near]
    return f"; did you mean {' or '.join(named)}?"
