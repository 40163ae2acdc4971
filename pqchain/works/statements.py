"""Statements of a work, read from `claims.toml`, each with the sentence that makes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pqchain import checks
from pqchain.errors import DataError
from pqchain.installation import read_toml

Check = dict[str, Any]
"""A comparison in the form of `claims.toml`; `comparisons` lists the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An interpretation of a paper's sentence, with the checks that decide whether it holds."""

    id: str
    section: str
    statement: str
    sentence: str = ""
    """The key of the sentence in the source; empty for a statement of pqchain's authors."""
    quote: str = ""
    """That sentence as printed, in its language."""
    ours: bool = False
    """Whether the statement is ours and not the source's."""
    reading: str = ""
    """The interpretation of an ambiguous sentence."""
    implementation: str = ""
    """The implementation that the statement is about: "ref", "avx2", or "" for all."""
    checks: tuple[Check, ...]

    @property
    def comparisons(self) -> list[Check]:
        """The checks that are comparisons of numbers."""
        return [check for check in self.checks if check.get("kind") != "computed"]

    @property
    def is_computed(self) -> bool:
        """Whether `Work.judge` decides the statement."""
        return len(self.comparisons) < len(self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    sentences: dict[str, str] = field(default_factory=dict)
    claims: tuple[Statement, ...]


def read(folder: Path) -> tuple[Statement, ...]:
    """Return the statements in the `claims.toml` of a work's folder.

    Raises DataError for a statement without a sentence that is not marked as ours, or with both;
    for an unknown or unused sentence; and for an unknown field.
    """
    file = folder / "claims.toml"
    content: _Claims = checks.typed(read_toml(file), _Claims, str(file))
    quotes = content.sentences
    for claim in content.claims:
        if bool(claim.sentence) == claim.ours:
            both = "both" if claim.sentence else "none"
            raise DataError(
                f"{file}: claim {claim.id!r} must have either `sentence`, the key of a quote in "
                f"[sentences], or `ours = true` if the source does not state it; got {both}"
            )
        if claim.sentence and claim.sentence not in quotes:
            raise DataError(
                f"{file}: the sentence of claim {claim.id!r} must be a key of [sentences]; got "
                f"{claim.sentence!r}"
            )
    # A sentence without a claim would be quoted but never judged.
    if unused := sorted(set(quotes) - {claim.sentence for claim in content.claims}):
        raise DataError(f"{file}: each key of [sentences] must have a claim; got none for {unused}")
    return tuple(replace(claim, quote=quotes.get(claim.sentence, "")) for claim in content.claims)
