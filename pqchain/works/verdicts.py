"""Verdicts on statements, derived from an outcome and the standing of the compared numbers.

The standing states whether parameters were fitted to the table that makes the statement, and how
the setting differs from the work's. So a fit cannot confirm its own table, and numbers from another
setting neither confirm nor refute a statement: the verdict names the difference either way. A bound
that pqchain chose never refutes one; the evidence gives the value from which the statement holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from pqchain.errors import DataError
from pqchain.figures import Kind

HOLDS = "holds"
FAILS = "does not hold"
THRESHOLD = "not at our threshold"
"""In place of FAILS where a bound of pqchain's choice decides."""

PROPERTY = "property of the algorithm"
"""In place of HOLDS for what a run of pqchain's code shows without any timing."""

MIXED = "mixed"
"""Of a sentence, if its readings have different verdicts."""

FITTED = "fitted"
OPEN = "cannot be decided here"

CLOCK, CODE, SIZE, MACHINE = "on this clock", "with this code", "at this size", "on this machine"

ELSEWHERE = (CLOCK, CODE, SIZE, MACHINE)
"""Differences from the work's setting; the first one that applies names the verdict. A modelled
clock comes first, because then nothing was timed."""

HOLDS_HERE = tuple(f"{HOLDS} {difference}" for difference in ELSEWHERE)
"""Verdicts in place of HOLDS for numbers from another setting."""

NOT_HERE = tuple(f"not {difference}" for difference in ELSEWHERE)
"""Verdicts in place of FAILS for numbers from another setting."""

HOLDING = (*HOLDS_HERE, PROPERTY, HOLDS)
"""Verdicts on a statement of which every part holds, the least similar setting first."""

FAILING = (*NOT_HERE, THRESHOLD, FAILS)
"""Verdicts on a statement that does not hold, the least similar setting first."""

VERDICTS = (*HOLDING, *FAILING, FITTED, OPEN)

DECISIVE = (*reversed(FAILING), OPEN, FITTED, *HOLDING)
"""Verdicts on the parts of a statement, in order of precedence: the first one decides."""


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
        """Return the verdict for `outcome`, which is HOLDS, FAILS, THRESHOLD or OPEN."""
        if outcome == OPEN:
            return OPEN
        # A fit agrees with its own table by construction, so that neither outcome is evidence.
        if self.fitted:
            return FITTED
        # The other setting may be the cause of either outcome, so that neither is decisive.
        if self.elsewhere:
            return f"{HOLDS if outcome == HOLDS else 'not'} {self.elsewhere[0]}"
        return outcome


SAME_SETTING = Standing()
"""The standing of the work's own numbers, and of facts that no setting changes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a statement, or on a part of it, by numbers of one kind.

    Raises DataError for a replayed number whose standing does not name its modelled clock.
    """

    outcome: str
    """HOLDS, FAILS, THRESHOLD or OPEN, regardless of the standing."""
    evidence: str
    source: str
    """The kind of the numbers, such as "measured"."""
    standing: Standing = SAME_SETTING
    margin: float = math.inf
    """The factor by which a comparison that holds is away from failing; below 1 if it fails."""

    def __post_init__(self) -> None:
        # A replay's clock is modelled. If its standing omits that, agreement with the work would be
        # counted as a confirmation.
        is_clock_named = CLOCK in self.standing.elsewhere or self.outcome == OPEN
        if self.source == Kind.REPLAYED and not is_clock_named:
            raise DataError(
                f"the standing of a replayed number must name the difference {CLOCK!r}; got "
                f"{list(self.standing.elsewhere)}. Add CLOCK to its `elsewhere`."
            )

    @property
    def word(self) -> str:
        """The verdict as text, one of VERDICTS."""
        word = self.standing.word(self.outcome)
        # A run of other code than the work's confirms and refutes nothing of the work.
        if self.source == Kind.RUN:
            return {HOLDS: PROPERTY, FAILS: f"not {CODE}"}.get(word, word)
        return word


def outcome(holds: bool | None, *, ours: bool = False) -> str:
    """Return HOLDS, FAILS, THRESHOLD if the bound is `ours`, or OPEN for an undecided None."""
    return OPEN if holds is None else HOLDS if holds else THRESHOLD if ours else FAILS


def of_sentence(verdicts: Iterable[str]) -> str:
    """Return the verdict on a sentence by those on its readings; MIXED if they differ.

    It is contradicted (FAILS) only if all readings are, and holds only if all do, in the least
    similar setting of them.
    """
    words = set(verdicts)
    for alike in (HOLDING, FAILING, (OPEN, FITTED)):
        if words <= set(alike):
            return min(words, key=alike.index)
    return MIXED
