"""Results of works: measurements, computed frames, and comparisons with the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.figures import Kind
from pqchain.works import printed
from pqchain.works.printed import NOT_OURS, PRINTED
from pqchain.works.work import CLAIMS, Frames, Work, contradictions, split_ours


@dataclass(frozen=True, kw_only=True)
class WorkResults:
    """The results of one work."""

    work: Work
    measurements: pd.DataFrame
    """Times of this machine, also of algorithms of other works if they were measured together."""
    frames: Frames
    """What the work computed, by name."""

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Every printed number with ours next to it, as `Work.printed` returns them."""
        return self.work.printed(self.measurements, self.frames)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The verdicts on the statements, as `Work.claims` returns them."""
        return self.work.claims(self.measurements, self.frames)

    @property
    def times(self) -> pd.DataFrame:
        """Printed times of operations with the times measured here."""
        return printed.times(self.printed)

    @property
    def sizes(self) -> pd.DataFrame:
        """Printed sizes with the sizes in the registry."""
        return printed.sizes(self.printed)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The values that sentences of the notebook state: `Work.facts`, and counts of verdicts."""
        claims, _ = split_ours(self.claims)
        contradicted, partly = contradictions(claims[claims["source"] == Kind.PUBLISHED])
        verdicts, kinds = self.sizes["verdict"], self.printed["kind"]
        explained = int(verdicts.isin(("version", "definition")).sum())
        equal, taken = int((verdicts == "equal").sum()), int(kinds.isin(NOT_OURS).sum())
        return {
            **self.work.facts(self.frames),
            "sentences": claims["sentence"].nunique(),
            "contradicted": len(contradicted),
            "partly": len(partly),
            "sizes": len(verdicts),
            "sizes_equal": equal,
            "sizes_explained": explained,
            "sizes_wrong": len(verdicts) - equal - explained,
            "numbers": len(kinds),
            "numbers_compared": len(kinds) - taken,
            "numbers_uncompared": taken,
        }


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a run's works."""

    files: Mapping[str, str] = field(default_factory=dict)
    """The file of each page by the key of its work."""
    failures: tuple[str, ...] = ()
    """A message per notebook that raised an error."""
    missing: str = ""
    """Why no page was written, and how to get them."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The results of all works of a run, which share its measurements."""

    output: Path
    measurements: pd.DataFrame
    results: tuple[WorkResults, ...]
    """In the order of the works."""
    pages: Pages = Pages()

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Every printed number of all works."""
        return results.joined((result.printed for result in self.results), PRINTED)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The verdicts on the statements of all works."""
        return results.joined((result.claims for result in self.results), CLAIMS)

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """The printed sizes of all works."""
        return printed.sizes(self.printed)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the works."""
        return tuple(result.work.key for result in self.results)

    @property
    def index(self) -> Path:
        """Path of the first page."""
        return self.output / "index.html"

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The provenance of the measurements."""
        facts: Mapping[str, Any] = self.measurements.attrs.get("provenance", {})
        return facts

    @property
    def failures(self) -> list[str]:
        """Messages about unexplained size differences and failed operations or computations."""
        broken = self.sizes[self.sizes["verdict"] == "different"]
        messages = [
            f"{row['paper']}, {row['table']}: {row['quantity']} of {row['algorithm']} is printed "
            f"as {row['printed']:g} but is {row['ours']:g}"
            for row in broken.to_dict("records")
        ]
        failed = self.measurements[self.measurements["status"] == "failed"]
        messages += [
            f"{row['operation']} of {row['algorithm']} in {row['implementation']} failed: "
            f"{row['reason']}"
            for row in failed.to_dict("records")
        ]
        for result in self.results:
            messages += result.work.failures(result.frames)
        messages += self.pages.failures
        # A failed run may be several rows, such as one for each phase, with the same text.
        return list(dict.fromkeys(messages))
