"""Reader of plans in TOML; errors list every problem with its line."""

from __future__ import annotations

import re
from pathlib import Path

from pqchain import installation
from pqchain.errors import UnknownName, UsageError
from pqchain.study.figures import QUANTITIES
from pqchain.study.plan import ImpossiblePlan, Plan
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
    algorithms = (*plan.chain.algorithms, *defined)
    return plan.with_(algorithms=algorithms) if defined else plan


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
