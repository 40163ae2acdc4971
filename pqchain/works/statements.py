"""What a work says in words: `claims.toml`, each statement with the sentence that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain.errors import DataError
from pqchain.installation import read_toml

Check = dict[str, Any]
"""A comparison as `claims.toml` writes it; `comparisons` lists the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One reading of one sentence, with the comparisons that decide it."""

    id: str
    section: str
    statement: str
    """In English."""
    sentence: str = ""
    """The key of the sentence of the source; empty for a statement of ours."""
    quote: str = ""
    """That sentence as printed, in its language."""
    ours: bool = False
    """Whether the source does not say it."""
    reading: str = ""
    """How the sentence is read, where it can be read in several ways."""
    implementation: str = ""
    """Whose numbers are meant, if only one's: "ref" or "avx2"."""
    checks: tuple[Check, ...]

    @property
    def comparisons(self) -> list[Check]:
        """The checks that are comparisons of numbers."""
        return [check for check in self.checks if check.get("kind") != "computed"]

    @property
    def computed(self) -> bool:
        """Whether the work's own code judges it, too: `Work.judge`."""
        return len(self.comparisons) < len(self.checks)


def read(folder: Path) -> tuple[Statement, ...]:
    """Return the statements of a work's folder.

    Raises DataError for a statement that names neither a sentence nor itself as ours, or both; for
    a sentence that is not there, or that no statement is about; and for an unknown field.
    """
    file = folder / "claims.toml"
    written = read_toml(file)
    try:
        return _laid_out(file, written)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{file} is not laid out as claims are ({type(error).__name__}: {error}); compare it "
            "with another work's"
        ) from error


def _laid_out(file: Path, written: dict[str, Any]) -> tuple[Statement, ...]:
    quotes: dict[str, str] = written.get("sentences", {})
    found = []
    for fields in written["claims"]:
        name, sentence = fields.get("id"), fields.get("sentence", "")
        if bool(sentence) == bool(fields.get("ours")):
            what = "names a sentence and is ours" if sentence else "names no sentence of the source"
            raise DataError(
                f"{file}: claim {name!r} {what}; give `sentence`, the key of a quote in "
                "[sentences], or `ours = true` if the source does not say it"
            )
        if sentence and sentence not in quotes:
            raise DataError(
                f"{file}: claim {name!r} is about the sentence {sentence!r}, which [sentences] "
                "does not quote"
            )
        try:
            checks = tuple(fields.pop("checks"))
            found.append(Statement(**fields, quote=quotes.get(sentence, ""), checks=checks))
        except (KeyError, TypeError) as error:
            raise DataError(f"{file}: claim {name!r}: {error}") from error
    unused = sorted(set(quotes) - {each.sentence for each in found})
    if unused:
        raise DataError(f"{file}: no claim is about the sentences {unused}; add one or drop them")
    return tuple(found)
