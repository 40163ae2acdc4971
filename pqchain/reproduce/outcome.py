"""Results of works, and their files: measurements.csv, and for each work `<key>/<frame>.csv`.

Next to its frames a work has the comparisons `coverage` (every printed number), its views
`comparison` (times) and `sizes`, and `claims`. Each CSV file has a JSON sidecar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.works import printed
from pqchain.works.verdicts import FAILS
from pqchain.works.work import CLAIMS, Frames, Work, by_sentence, split_ours


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
    def comparisons(self) -> dict[str, pd.DataFrame]:
        """The frames coverage, comparison (times), sizes and claims."""
        times, sizes = printed.times(self.printed), printed.sizes(self.printed)
        views = {"coverage": self.printed, "comparison": times, "sizes": sizes}
        return {**views, "claims": self.claims}

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The values that sentences of the notebook state: `Work.facts`, and counts of verdicts."""
        claims, _ = split_ours(self.claims)
        by_print = claims[claims["source"] == Kind.PUBLISHED]
        contradicted = int((by_sentence(by_print) == FAILS).sum())
        fails = by_print.loc[by_print["verdict"] == FAILS, "sentence"].nunique()
        verdicts = self.comparisons["sizes"]["verdict"]
        return {
            **self.work.facts(self.frames),
            "sentences": claims["sentence"].nunique(),
            "contradicted": contradicted,
            "partly": fails - contradicted,
            "sizes": len(verdicts),
            "sizes_equal": int((verdicts == "equal").sum()),
            "sizes_explained": int(verdicts.isin(("version", "definition")).sum()),
            "sizes_wrong": int(verdicts.isin(("erratum", "different")).sum()),
            "numbers": len(self.printed),
            "numbers_compared": int((~self.printed["kind"].isin(printed.NOT_OURS)).sum()),
        }


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The results of the works of a run, which share its measurements."""

    output: Path
    measurements: pd.DataFrame
    results: tuple[WorkResults, ...]
    pages: Mapping[str, str] = field(default_factory=dict)
    """The file of each work's page by the key of the work."""
    page_failures: tuple[str, ...] = ()
    """The error of each notebook that raised one."""

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The verdicts on the statements of all works."""
        return results.joined((result.claims for result in self.results), CLAIMS)

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Every printed number of all works."""
        return results.joined((result.printed for result in self.results), printed.PRINTED)

    @property
    def failures(self) -> list[str]:
        """Messages about unexplained size differences and failed operations or computations."""
        messages = [
            f"{row['paper']}, {row['table']}: {row['quantity']} of {row['algorithm']} is printed "
            f"as {row['printed']:g} but is {row['ours']:g}"
            for row in self.printed.query("verdict == 'different'").to_dict("records")
        ]
        messages += [
            f"{row['operation']} of {row['algorithm']} in {row['implementation']} failed: "
            f"{row['reason']}"
            for row in self.measurements.query("status == 'failed'").to_dict("records")
        ]
        for result in self.results:
            messages += result.work.failures(result.frames)
        # A failed run may be several rows, such as one for each phase, with the same text.
        return list(dict.fromkeys([*messages, *self.page_failures]))

    def save(self, folder: Path) -> None:
        """Write measurements, comparisons and frames, each with its provenance."""
        provenance = self.measurements.attrs["provenance"]
        results.save(self.measurements, folder / "measurements.csv")
        for result in self.results:
            place = folder / result.work.key
            for name, frame in result.comparisons.items():
                if len(frame):
                    results.save(frame, place / f"{name}.csv", provenance=provenance)
            for name, frame in result.frames.items():
                # Frames with a provenance of their own, such as those of replays, keep it.
                own = frame.attrs.get("provenance") or provenance
                results.save(frame, place / f"{name}.csv", provenance=own)


def load(work: Work, folder: Path) -> WorkResults:
    """Return the saved results of a work. Raises DataError if the folder lacks them."""
    paths = sorted((folder / work.key).glob("*.csv"))
    if not paths:
        raise DataError(
            f"{folder} must have the results of {work.key}; it has none. Write them with `pqchain "
            f"reproduce --only {work.key} --output {folder}`"
        )
    comparisons = ("coverage", "comparison", "sizes", "claims")
    frames = {path.stem: results.load(path) for path in paths if path.stem not in comparisons}
    return WorkResults(
        work=work, measurements=results.load(folder / "measurements.csv"), frames=frames
    )
