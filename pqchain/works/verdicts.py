"""Verdicts on statements, and what keeps them honest.

A number knows its standing: whether its parameters were fitted to the very table that makes the
statement, and in what it differs from what the work itself ran. A verdict is made of an outcome and
a standing, so no fit can confirm its own table, and nothing refutes outside the work's setting.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLDS = "holds"
FAILS = "does not hold"
FITTED = "fitted"
OPEN = "cannot be decided here"

CODE, SIZE, MACHINE = "with this code", "at this size", "on this machine"

ELSEWHERE = (CODE, SIZE, MACHINE)
"""In what numbers may differ from the work's own, the strongest reason first."""

NOT_HERE = tuple(f"not {where}" for where in ELSEWHERE)
"""What is said in place of FAILS where numbers differ so."""

WORDS = (HOLDS, FAILS, *NOT_HERE, FITTED, OPEN)
"""All verdicts on a statement."""

_DECISIVE = (FAILS, *reversed(NOT_HERE), OPEN, FITTED, HOLDS)
"""Of the verdicts on the parts of a statement the first one found here decides it: what comes
nearest to a refutation goes first."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What numbers are worth against a statement."""

    setting: str = ""
    """What they were found with: sizes, nodes, code, costs."""
    elsewhere: tuple[str, ...] = ()
    """In what that differs from the work's own setting, of ELSEWHERE."""
    fitted: bool = False
    """Whether parameters behind them were fitted to the numbers that make the statement."""

    def __and__(self, other: Standing) -> Standing:
        """Return the standing of what is made of both."""
        settings = dict.fromkeys(each for each in (self.setting, other.setting) if each)
        places = {*self.elsewhere, *other.elsewhere}
        return Standing(
            "; ".join(settings),
            tuple(where for where in ELSEWHERE if where in places),
            self.fitted or other.fitted,
        )

    def word(self, outcome: str) -> str:
        """Return the verdict that an outcome (HOLDS, FAILS or OPEN) comes to."""
        if outcome == OPEN:
            return OPEN
        if self.fitted:
            return FITTED
        return f"not {self.elsewhere[0]}" if outcome == FAILS and self.elsewhere else outcome


ITS_OWN = Standing()
"""Of the work's own numbers, and of facts that are the same everywhere."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one kind of number says of a statement."""

    outcome: str
    """HOLDS, FAILS or OPEN, before its standing is looked at."""
    evidence: str
    """The figures behind it."""
    source: str
    """What kind of number they are, of `pqchain.figures.Kind`."""
    standing: Standing = ITS_OWN

    @property
    def word(self) -> str:
        """The verdict, one of WORDS."""
        return self.standing.word(self.outcome)


def decisive(word: str) -> int:
    """Return the rank of a verdict among those on the parts of a statement; 0 decides."""
    return _DECISIVE.index(word)
