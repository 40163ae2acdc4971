"""The studies that come with pqchain, by name; loads nothing heavy."""

from __future__ import annotations

from pqchain import installation
from pqchain.errors import UnknownName

READY = ("pqdpol", "ethereum", "ethereum-lean", "bitcoin", "solana", "algorand")
"""Studies that come with the package."""


def ready(name: str) -> str:
    """Return the text of a study that comes with the package. Raises UnknownName."""
    folded = name.casefold() if isinstance(name, str) else name
    if folded not in READY:
        raise UnknownName("ready study", name, READY, "`pqchain study --list`.")
    return (installation.data("chains") / f"{folded}.toml").read_text(encoding="utf-8")


def titles() -> dict[str, str]:
    """Return the title of each study."""
    return {name: str(installation.parse_toml(ready(name))["title"]) for name in READY}
