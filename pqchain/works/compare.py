"""Ours beside published: times with their ratio, sizes with a verdict, statements as checks.

Nothing here asks that milliseconds agree across machines: sizes are compared exactly, times are
shown with their ratio. `claims.toml` in a work's folder holds its statements with the comparisons
that decide them; `comparisons` lists their kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench.comparing import runs, together
from pqchain.costs import MEASUREMENT, choose
from pqchain.errors import DataError
from pqchain.figures import SECONDS
from pqchain.results import Contract
from pqchain.works import readers, registry
from pqchain.works.comparisons import decide, deciding
from pqchain.works.mini_blockchain.work import compare_blocks as blocks
from pqchain.works.papers import PUBLISHED
from pqchain.works.readers import Reader
from pqchain.works.sizes import SIZE, sizes
from pqchain.works.statements import Statement
from pqchain.works.verdicts import OPEN, Verdict
from pqchain.works.work import Frames, Work

__all__ = [
    "CLAIMS", "COMPARISON", "SIZE", "align", "blocks", "claims", "runs", "sizes", "together",
]  # fmt: skip

COMPARISON = Contract.of(
    "comparison",
    ("str", "paper table algorithm operation published_implementation"),
    ("float64", "published_seconds"),
    ("str", "implementation"),
    ("float64", "median_seconds mad_seconds ratio"),
    ("str", "status note"),
)

CLAIMS = Contract.of(
    "claims",
    ("str", "paper claim_id sentence quote section statement reading"),
    ("str", "verdict evidence source setting"),
)

_NOT_COMPUTED = Verdict(OPEN, "this run computed nothing that decides it", "modelled")

_NAN = float("nan")


def align(measurements: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Put our time beside every published time of an operation of an algorithm; none is left out.

    Columns: paper, table, algorithm, operation, published_implementation, published_seconds,
    implementation, median_seconds, mad_seconds (ours), ratio (ours over published; NaN if ours is
    missing), status ("ok", "unsupported", "failed", "not measured"), note. A published "ref" or
    "avx2" is compared with ours of that variant; where the paper does not say, or we have no such
    variant, with the one that `pqchain.costs.choose` prefers, and the note says so. Raises
    DataError if a frame breaks its contract.
    """
    ours = results.check(measurements, MEASUREMENT)
    theirs = results.check(published, PUBLISHED)
    chosen = cache(partial(choose, ours))
    rows = [
        _aligned(chosen, row)
        for row in theirs.to_dict("records")
        if row["algorithm"] and row["quantity"].removesuffix("_seconds") in algorithms.OPERATIONS
        if row["quantity"].endswith("_seconds")
    ]
    frame = COMPARISON.frame(rows)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return frame


def claims(
    work: str | Work, measurements: pd.DataFrame | None = None, frames: Frames | None = None
) -> pd.DataFrame:
    """Check every statement of a work, given by its key or itself; one row per kind of number.

    `frames` are what the work computes, as `registry.get(key).compute(...)` gives them, or some of
    them: {"blocks": pq.measure_blocks(...)}. Columns: paper, claim_id, sentence and quote (the
    sentence of the source, as printed; "" for a statement of ours), section, statement, reading,
    verdict (of `pqchain.works.verdicts.WORDS`), evidence (the figures or the reason), source (the
    kind of number: "published" for the work's own, "registry" for sizes, "measured", "replayed",
    "modelled" or "run" for ours) and setting (what they were found with, where it differs from the
    work's own). Raises UnknownPaper, and DataError for a frame or file that breaks its contract.
    """
    work, computed = registry.get(work) if isinstance(work, str) else work, frames or {}
    printed = readers.published(work.paper)
    measured = readers.measured(measurements, work.paper)
    others = [readers.registry(), *work.readers(computed), measured]
    rows = []
    for one in work.statements:
        about = (work.key, one.id, one.sentence, one.quote, one.section, one.statement, one.reading)
        try:
            verdicts = list(_verdicts(work, one, computed, printed, others))
        except DataError as error:
            raise DataError(f"claim {one.id!r} of {work.key}: {error}") from error
        rows += [
            (*about, each.word, each.evidence, each.source, each.standing.setting)
            for each in verdicts
        ]
    return CLAIMS.frame(rows)


def _aligned(
    ours: Callable[..., Mapping[str, Mapping[str, Any]]], row: Mapping[Hashable, Any]
) -> list[object]:
    algorithm = algorithms.get(row["algorithm"]).name
    operation = row["quantity"].removesuffix("_seconds")
    wanted, seconds = row["implementation"], row["value"]
    about = [row["paper"], row["table"], algorithm, operation, wanted, seconds]
    chosen = ours(algorithm, variant=wanted)
    if operation not in chosen:
        status, note = "not measured", f"no measurement of {operation} of {algorithm} is given"
        if not algorithms.get(algorithm).implementations:
            status, note = "unsupported", f"this version of pqchain has no {algorithm}"
        return [*about, "", _NAN, _NAN, _NAN, status, _joined(row["note"], note)]
    found = chosen[operation]
    name, status = found["implementation"], found["status"]
    notes = [row["note"], found["reason"], row["other_code"]]
    if status != "ok":
        return [*about, name, _NAN, _NAN, _NAN, status, _joined(*notes)]
    if wanted and not name.endswith("/" + wanted):
        notes.append(f"published with {wanted}, compared with {name}")
    median = found["median_seconds"]
    if operation in algorithms.get(algorithm).family_facts.restarts:
        mean = found["mean_seconds"]
        notes.append(f"{operation} restarts at random: its mean here is {SECONDS.text(mean)}")
    ratio = median / seconds if seconds else _NAN
    return [*about, name, median, found["mad_seconds"], ratio, status, _joined(*notes)]


def _joined(*notes: object) -> str:
    return "; ".join(str(note) for note in notes if note)


def _verdicts(
    work: Work, one: Statement, frames: Frames, printed: Reader, others: list[Reader]
) -> Iterator[Verdict]:
    """Yield the verdicts on one statement: by the print, then by what the work computed or ours."""
    checks = one.comparisons
    own = list(work.judge(one.id, frames)) if one.computed else []
    decisive = [] if own else deciding(checks, others)
    for reader in [printed] * bool(checks) + decisive:
        yield decide(checks, reader, one.implementation)
    yield from own if own or checks else [_NOT_COMPUTED]
