"""A published work: one interface for all that the report, the pages and the commands ask of it.

`Work` is complete as it is for a work that is only data. One with a computation of its own is a
subclass in a folder of its own, and a line in `works.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import installation
from pqchain.render.plot import Plot
from pqchain.render.table import Table
from pqchain.works import paper, papers, shown, statements
from pqchain.works.paper import Paper
from pqchain.works.readers import Reader
from pqchain.works.statements import Statement
from pqchain.works.verdicts import Verdict

SPEED = "Speed, side by side"
"""The part of a chapter that sets our times beside the printed ones."""

Frames = Mapping[str, pd.DataFrame]
"""What a work computed, by name. Every frame knows its contract; the report saves each as
`<key>/<name>.csv`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a work may compute with."""

    preset: str = "quick"
    measurements: pd.DataFrame | None = None
    """Times of this machine. None where there is no clock: then only what needs none and decides
    a statement is computed."""
    measure_blocks: Callable[[Iterable[str]], pd.DataFrame] | None = None
    """Measures blocks of these schemes; None as above."""
    progress: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence on what came out."""

    text: str
    place: str
    """The anchor of the section of the report that shows it."""


class Work:
    """A published study: what it prints and says, and what is computed to stand beside it."""

    key = ""
    """Of a subclass: names its folder in `data/papers`."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take the work's own folder, or another one of its form."""
        self._folder = folder or installation.data("papers") / self.key
        self.key = self._folder.name

    @cached_property
    def paper(self) -> Paper:
        """Citation, tables and errata."""
        return paper.read(self._folder)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """What it says in words."""
        return statements.read(self._folder)

    @cached_property
    def published(self) -> pd.DataFrame:
        """Every printed number, as `pqchain.papers.published` has it."""
        return papers.published(self.paper)

    def schemes(self) -> tuple[str, ...]:
        """Return the algorithms whose times are wanted."""
        return self.paper.schemes

    def compute(self, bench: Bench) -> Frames:
        """Measure, model or replay what the work did."""
        return {}

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Return the numbers of those frames that `claims.toml` may name."""
        return ()

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement that has a check of the kind "computed"."""
        return ()

    def failures(self, frames: Frames) -> Iterable[str]:
        """Say which rows failed, by their first column; what cannot run here is no failure."""
        for name, frame in frames.items():
            if "status" in frame:
                reason = next(each for each in ("reason", "note", "verdict") if each in frame)
                for row in frame[frame["status"] == "failed"].to_dict("records"):
                    yield f"{self.key}, {name}: {row[frame.columns[0]]} failed: {row[reason]}"

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the figures that the sentences of `findings.toml` may name, as they are shown."""
        return {}

    def found(self, frames: Frames) -> Iterable[Found]:
        """Say in plain sentences what came out; a sentence whose figures are not there is left out.

        They stand first in the report.
        """
        facts, file = self.facts(frames), self._folder / "findings.toml"
        for row in installation.read_toml(file)["findings"] if file.is_file() else ():
            with suppress(KeyError):
                yield Found(row["text"].format(**facts), f"{self.key}-{row['part']}")

    @cached_property
    def words(self) -> dict[str, Any]:
        """What `tables.toml` of the folder says, by the name of the table."""
        return shown.words(self._folder)

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show the frames as `tables.toml` says; the chapter has a section for each `part`."""
        return shown.tables(self.words, frames)

    def figures(self, frames: Frames) -> Iterable[Plot]:
        """Draw the frames as `figures.toml` says, after the tables of their parts."""
        return shown.figures(self._folder / "figures.toml", frames)
