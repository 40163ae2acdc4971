"""Interface of a published work, used by `reproduce`, the documentation and the commands.

`Work` is complete for a work without computations. One with computations is a subclass in a
package of its own, which `works.registry` finds by its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import installation
from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.results import Contract
from pqchain.works import paper, papers, printed, readers
from pqchain.works.comparisons import decide, deciding
from pqchain.works.paper import Paper, Statement
from pqchain.works.readers import NumberReader
from pqchain.works.verdicts import OPEN, Verdict, of_sentence

CLAIMS = Contract.of(
    "claims",
    ("str", "paper claim_id sentence quote section statement reading"),
    ("str", "verdict evidence source setting"),
)


def split_ours(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of statements that the works make, and of those of pqchain's authors.

    `claims` is a frame of the contract CLAIMS. The second are never counted as the works'.
    """
    is_ours = claims["sentence"] == ""
    return claims[~is_ours], claims[is_ours]


def by_sentence(claims: pd.DataFrame) -> pd.Series[str]:
    """Return the verdict on each sentence, by paper and sentence, of rows of a claims frame.

    The rows are those of the works' sentences by some kinds of numbers.
    """
    return claims.groupby(["paper", "sentence"], sort=False)["verdict"].agg(of_sentence)


Frames = Mapping[str, pd.DataFrame]
"""The results of a work by name. Every frame knows its contract and is saved as
`<key>/<name>.csv`."""

_NOT_COMPUTED = Verdict(OPEN, "this run computed nothing that decides it", Kind.MODELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Measurements and measuring functions that a work may use."""

    preset: str = "quick"
    measurements: pd.DataFrame | None = None
    """Times of this machine. None: only what needs no clock and decides a statement is
    computed, so that pages of the documentation are the same on every machine."""
    measure_blocks: Callable[[Iterable[str]], pd.DataFrame] | None = None
    """Function that measures blocks of the named schemes; None: no blocks are measured."""
    progress: bool = False


class Work:
    """A published work: its printed numbers and statements, and our numbers for comparison."""

    key = ""
    """The key of a subclass names its folder in `data/papers`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or installation.data("papers") / self.key
        self.key = self._folder.name

    @cached_property
    def paper(self) -> Paper:
        """The paper's citation, tables and errata."""
        return paper.read(self._folder)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the paper's text."""
        return paper.read_statements(self._folder)

    @cached_property
    def published(self) -> pd.DataFrame:
        """Every printed number, as `pqchain.papers.published` returns them."""
        return papers.published(self.paper)

    def algorithms(self) -> tuple[str, ...]:
        """Return the names of the algorithms whose times the work needs."""
        return self.paper.algorithms

    def compute(self, bench: Bench) -> Frames:
        """Measure, model or replay the work's experiments; return frames by name."""
        return {}

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Return the sources of numbers that `claims.toml` and `coverage.toml` may name."""
        return ()

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Return the verdicts on a statement that has a check of kind "computed"."""
        return ()

    def failures(self, frames: Frames) -> Iterable[str]:
        """Yield a message per row with status "failed"; "unsupported" is not a failure."""
        for name, frame in frames.items():
            if "status" in frame:
                # The contracts of frames have different names for the column with the reason.
                reason = next(column for column in ("reason", "note", "verdict") if column in frame)
                for row in frame[frame["status"] == "failed"].to_dict("records"):
                    yield f"{self.key}, {name}: {row[frame.columns[0]]} failed: {row[reason]}"

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return values that sentences of the notebook state, by name; those that frames give."""
        return {}

    def printed(
        self, measurements: pd.DataFrame | None = None, frames: Frames | None = None
    ) -> pd.DataFrame:
        """Return `printed.compare` of the work; `frames` are all or some of those of `compute`."""
        return printed.compare(self.paper, self.published, self.readers(frames or {}), measurements)

    def claims(
        self, measurements: pd.DataFrame | None = None, frames: Frames | None = None
    ) -> pd.DataFrame:
        """Judge every statement; return a row for each kind of number that decides it.

        `frames` is what `compute` returned, or a part of it. Columns: paper, claim_id, sentence and
        quote (the sentence of the source as printed; "" for a statement of ours), section,
        statement, reading, verdict (one of `pqchain.works.verdicts.VERDICTS`), evidence (the
        figures or the reason), source (the kind of number: "published" for the work's own) and
        setting (how the numbers were obtained, where it differs from the work). Raises DataError
        for a frame or file that breaks its contract.
        """
        computed = frames or {}
        by_print = readers.published(self.paper)
        measured = readers.measured(measurements, self.paper)
        # The work's own readers come before `measured`, which may have any quantity.
        others = [readers.registry(), *self.readers(computed), measured]
        rows = []
        for statement in self.statements:
            names = ("id", "sentence", "quote", "section", "statement", "reading")
            keys = (self.key, *(getattr(statement, name) for name in names))
            try:
                verdicts = list(self._verdicts(statement, computed, by_print, others))
            except DataError as error:
                raise DataError(f"claim {statement.id!r} of {self.key}: {error}") from error
            rows += [
                (*keys, verdict.word, verdict.evidence, verdict.source, verdict.standing.setting)
                for verdict in verdicts
            ]
        return CLAIMS.frame(rows)

    def _verdicts(
        self, statement: Statement, frames: Frames, by_print: NumberReader, rest: list[NumberReader]
    ) -> Iterator[Verdict]:
        checks = statement.comparisons
        computed = list(self.judge(statement.id, frames)) if statement.is_computed else []
        # A verdict of the work's own code replaces comparisons with our numbers.
        ours = [] if computed else deciding(checks, rest)
        for reader in [by_print] * bool(checks) + ours:
            yield decide(checks, reader, statement.implementation)
        yield from computed if computed or checks else [_NOT_COMPUTED]
