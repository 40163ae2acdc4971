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
from pqchain.costs import MEASUREMENT, choose
from pqchain.errors import DataError
from pqchain.installation import read_toml
from pqchain.render import numbers
from pqchain.results import Contract
from pqchain.works import readers, registry
from pqchain.works.comparisons import OPEN, Check, decide, deciding
from pqchain.works.mini_blockchain.work import compare_blocks as blocks
from pqchain.works.papers import PUBLISHED
from pqchain.works.readers import SIZES, Reader
from pqchain.works.work import Frames, Verdict, Work

__all__ = ["CLAIMS", "COMPARISON", "SIZE", "align", "blocks", "claims", "sizes"]

COMPARISON = Contract.of(
    "comparison",
    ("str", "paper table algorithm operation published_implementation"),
    ("float64", "published_seconds"),
    ("str", "implementation"),
    ("float64", "median_seconds mad_seconds ratio"),
    ("str", "status note"),
)

SIZE = Contract.of(
    "sizes",
    ("str", "paper table algorithm quantity"),
    ("float64", "published_bytes registry_bytes"),
    ("str", "verdict note"),
)

CLAIMS = Contract.of("claims", ("str", "paper claim_id section statement verdict evidence source"))

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
    """Check every statement of a work, given by its key or itself; one row per source of numbers.

    `frames` are what the work computes, as `registry.get(key).compute(...)` gives them, or some of
    them: {"blocks": pq.measure_blocks(...)}. Columns: paper, claim_id, section, statement, verdict
    ("holds", "does not hold", "cannot be decided here"), evidence (the figures or the reason),
    source: "published" for the work's own numbers, "sizes" for the registry, "measured" and
    "modelled" for ours. Raises UnknownPaper, and DataError for a frame or file that breaks its
    contract.
    """
    work, computed = registry.get(work) if isinstance(work, str) else work, frames or {}
    printed = readers.published(work.paper)
    others = [readers.registry(), *work.readers(computed), readers.measured(measurements)]
    rows = []
    for claim in read_toml(work.paper.folder / "claims.toml")["claims"]:
        about = (work.key, claim["id"], claim["section"], claim["statement"])
        try:
            verdicts = list(_verdicts(work, claim, computed, printed, others))
        except DataError as error:
            raise DataError(f"claim {claim['id']!r} of {work.key}: {error}") from error
        rows += [(*about, each.verdict, each.evidence, each.source) for each in verdicts]
    return CLAIMS.frame(rows)


def sizes(published: pd.DataFrame) -> pd.DataFrame:
    """Compare every published size with the registry's, exactly.

    Columns: paper, table, algorithm, quantity, published_bytes, registry_bytes, verdict ("equal",
    "erratum" if it differs and the paper's errata say why, "different"), note (the erratum). The
    registry's length of a varying signature is the mean. Raises DataError if the frame breaks its
    contract, and UnknownAlgorithm.
    """
    rows = []
    for row in results.check(published, PUBLISHED).to_dict("records"):
        if row["algorithm"] and row["quantity"] in SIZES:
            size = float(getattr(algorithms.get(row["algorithm"]), row["quantity"]))
            differs = "erratum" if row["note"] else "different"
            verdict = "equal" if row["value"] == size else differs
            about = [row[column] for column in ("paper", "table", "algorithm", "quantity")]
            rows.append((*about, row["value"], size, verdict, row["note"]))
    return SIZE.frame(dict.fromkeys(rows))


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
    notes = [row["note"], found["reason"]]
    if status != "ok":
        return [*about, name, _NAN, _NAN, _NAN, status, _joined(*notes)]
    if wanted and not name.endswith("/" + wanted):
        notes.append(f"published with {wanted}, compared with {name}")
    median = found["median_seconds"]
    if operation in algorithms.get(algorithm).family_facts.restarts:
        mean = found["mean_seconds"]
        notes.append(f"{operation} restarts at random: its mean here is {numbers.seconds(mean)}")
    ratio = median / seconds if seconds else _NAN
    return [*about, name, median, found["mad_seconds"], ratio, status, _joined(*notes)]


def _joined(*notes: object) -> str:
    return "; ".join(str(note) for note in notes if note)


def _verdicts(
    work: Work, claim: Check, frames: Frames, printed: Reader, others: list[Reader]
) -> Iterator[Verdict]:
    """Yield the verdicts on one statement: by the print, then by what the work computed or ours."""
    checks = [check for check in claim["checks"] if check.get("kind") != "computed"]
    own = list(work.judge(claim["id"], frames)) if len(checks) < len(claim["checks"]) else []
    decisive = [] if own else deciding(checks, others)
    for reader in [printed] * bool(checks) + decisive:
        finding = decide(checks, reader, claim.get("implementation", ""))
        evidence = "; ".join(part for part in (reader.basis, finding.evidence) if part)
        yield Verdict(finding.verdict, evidence, reader.source)
    yield from own if own or checks else [_NOT_COMPUTED]
