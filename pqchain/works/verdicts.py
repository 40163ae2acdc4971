"""Verdicts on statements, derived from an outcome and the standing of the compared numbers.

The standing states whether parameters were fitted to the table that makes the statement, and how
the setting differs from the work's. So a fit cannot confirm its own table, and numbers from another
setting cannot refute a statement.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLDS = "holds"
FAILS = "does not hold"
FITTED = "fitted"
OPEN = "cannot be decided here"

CODE, SIZE, MACHINE = "with this code", "at this size", "on this machine"

ELSEWHERE = (CODE, SIZE, MACHINE)
"""Differences from the work's setting; the first one that applies names the verdict."""

NOT_HERE = tuple(f"not {difference}" for difference in ELSEWHERE)
"""Verdicts in place of FAILS for numbers from another setting."""

VERDICTS = (HOLDS, FAILS, *NOT_HERE, FITTED, OPEN)

# Verdicts on the parts of a statement in order of precedence, closest to a refutation first.
_DECISIVE = (FAILS, *reversed(NOT_HERE), OPEN, FITTED, HOLDS)


@dataclass(frozen=True, slots=True)
class Standing:
    """How numbers were obtained, which determines whether they can decide a statement."""

    setting: str = ""
    """How they were obtained: sizes, nodes, code, costs."""
    elsewhere: tuple[str, ...] = ()
    """The differences from the work's setting, some of ELSEWHERE."""
    fitted: bool = False
    """Whether parameters were fitted to the numbers that make the statement."""

    def __and__(self, other: Standing) -> Standing:
        """Return the standing of a number computed from numbers of both standings."""
        settings = dict.fromkeys(filter(None, (self.setting, other.setting)))
        differences = {*self.elsewhere, *other.elsewhere}
        # In the order of ELSEWHERE, because the first difference names the verdict.
        return Standing(
            "; ".join(settings),
            tuple(difference for difference in ELSEWHERE if difference in differences),
            self.fitted or other.fitted,
        )

    def word(self, outcome: str) -> str:
        """Return the verdict for `outcome`, which is HOLDS, FAILS or OPEN."""
        if outcome == OPEN:
            return OPEN
        # A fit agrees with its own table by construction, so that neither outcome is evidence.
        if self.fitted:
            return FITTED
        # The other setting may be the cause of a failure, so that it refutes nothing.
        return f"not {self.elsewhere[0]}" if outcome == FAILS and self.elsewhere else outcome


SAME_SETTING = Standing()
"""The standing of the work's own numbers, and of facts that no setting changes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a statement by numbers of one kind, such as measured ones."""

    outcome: str
    """HOLDS, FAILS or OPEN, regardless of the standing."""
    evidence: str
    source: str
    standing: Standing = SAME_SETTING

    @property
    def word(self) -> str:
        """The verdict as text, one of VERDICTS."""
        return self.standing.word(self.outcome)


def decisive(word: str) -> int:
    """Return the precedence of a verdict on a part of a statement; the lowest decides."""
    return _DECISIVE.index(word)
