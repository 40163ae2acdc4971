"""What a work says in words, checked on its own numbers, on the registry, on models and on ours.

`claims.toml` in the work's folder holds each statement with the comparisons that decide it;
`comparisons` lists their kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from pqchain.errors import DataError
from pqchain.installation import read_toml
from pqchain.results import Contract
from pqchain.works import readers
from pqchain.works.comparisons import OPEN, Check, decide, deciding
from pqchain.works.work import Verdict, Work

CLAIMS = Contract.of("claims", ("str", "paper claim_id section statement verdict evidence source"))

_NOT_COMPUTED = Verdict(OPEN, "this run computed nothing that decides it", "modelled")


def judged(
    work: Work,
    measurements: pd.DataFrame | None = None,
    frames: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Check every statement of a work; one row per statement and source of numbers.

    `frames` are what the work has computed. Columns: paper, claim_id, section, statement, verdict
    ("holds", "does not hold", "cannot be decided here"), evidence (the figures or the reason),
    source: "published" for the work's own numbers, "sizes" for the registry, "measured" and
    "modelled" for ours. Raises DataError for a frame or file that breaks its contract.
    """
    computed = frames or {}
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


def _verdicts(
    work: Work,
    claim: Check,
    frames: Mapping[str, pd.DataFrame],
    printed: readers.Reader,
    others: list[readers.Reader],
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
