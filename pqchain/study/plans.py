"""Plans of chains that come with the package: the files of data/chains."""

from __future__ import annotations

from pqchain import installation
from pqchain.errors import UnknownName

READY = tuple(sorted(path.stem for path in installation.data("chains").glob("*.toml")))
"""Names of the plans."""

OTHER_NAMES = {"bsc": "bnb", "cosmos": "cometbft"}
"""Other names of chains that have a plan."""


def ready(name: str) -> str:
    """Return the TOML text of a study that pqchain includes. Raises UnknownName."""
    folded = name.casefold() if isinstance(name, str) else name
    folded = OTHER_NAMES.get(folded, folded)
    if folded not in READY:
        raise UnknownName("ready study", name, READY, f"the ready studies {', '.join(READY)}.")
    return (installation.data("chains") / f"{folded}.toml").read_text(encoding="utf-8")


def titles() -> dict[str, str]:
    """Return the title of each study that pqchain includes, by name."""
    return {name: str(installation.parse_toml(ready(name))["title"]) for name in READY}
