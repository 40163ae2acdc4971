"""Plans of chains that come with the package: the files of data/chains."""

from __future__ import annotations

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
    """Return the TOML text of a study that pqchain includes. Raises UnknownName."""
    path = installation.data("chains") / f"{ready_name(name)}.toml"
    return path.read_text(encoding="utf-8")


def titles() -> dict[str, str]:
    """Return the title of each study that pqchain includes, by name."""
    return {name: str(installation.parse_toml(ready(name))["title"]) for name in ready_names()}
