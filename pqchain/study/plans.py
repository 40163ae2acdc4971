"""Plans of chains that come with the package: data/chains, and the observations of their file."""

from __future__ import annotations

import csv
import json
from functools import cache

from pqchain import installation
from pqchain.errors import UnknownName

OTHER_NAMES = {"bsc": "bnb", "cosmos": "cometbft"}
"""Other names of chains that have a plan."""


@cache
def ready_names() -> tuple[str, ...]:
    """Return the names of the plans."""
    return tuple(sorted(path.stem for path in installation.data("chains").glob("*.toml")))


def ready_name(name: str, noun: str = "ready study") -> str:
    """Return the name of the plan that `name` stands for. Raises UnknownName."""
    folded = str(name).casefold()
    folded = OTHER_NAMES.get(folded, folded)
    if folded not in ready_names():
        listed = ", ".join(ready_names())
        raise UnknownName(noun, name, ready_names(), f"{listed}: those of `pqchain study --list`.")
    return folded


def ready(name: str) -> str:
    """Return the TOML of a study of pqchain, with its observations. Raises UnknownName."""
    plan, folder = ready_name(name), installation.data("chains")
    parts = [(folder / f"{plan}.toml").read_text(encoding="utf-8")]
    with (folder / "observations.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if plan in row.pop("plans").split():
                texts = {key: json.dumps(row[key], ensure_ascii=False) for key in row if row[key]}
                texts |= {"value": row["value"], "settings": f"{{ {row['settings']} }}"}
                rows = (f"{key} = {text}\n" for key, text in texts.items())
                parts.append(f"[[observed]]\n{''.join(rows)}")
    return "\n".join(parts)


def titles() -> dict[str, str]:
    """Return the title of each study that pqchain includes, by name."""
    return {name: str(installation.parse_toml(ready(name))["title"]) for name in ready_names()}
