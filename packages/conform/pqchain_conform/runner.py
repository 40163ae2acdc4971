"""Run verifiers on vectors and count correct and wrong verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from tqdm import tqdm

from pqchain.errors import Unsupported, UsageError, visible
from pqchain.results import Contract
from pqchain_conform.protocol import DIFFERENT_SECRET, FAILURES
from pqchain_conform.registry import VerifierSpec
from pqchain_conform.vector import Vector

VERDICTS = Contract.of(
    "conform-verdicts",
    ("str", "implementation version algorithm family key vector probe expected verdict outcome"),
    ("str", "reason"),
)
"""A row for each verifier and vector. `outcome` is a key of OUTCOMES."""

SUMMARY = Contract.of(
    "conform-summary",
    ("str", "implementation version language algorithm family status reason"),
    ("Int64", "vectors right wrong accepted rejected crashes timeouts unsupported"),
)
"""A row for each verifier, algorithm and family. `accepted` and `rejected` count the vectors that
the specification leaves open; `status` is "ok", "failed" (a wrong verdict, crash or timeout), or
"unsupported": a verifier without verdicts, with empty `algorithm` and `family`."""

OUTCOMES = {
    "right": "right",
    "wrong": "wrong",
    "accepted": "accepted",
    "rejected": "rejected",
    "crash": "crashes",
    "timeout": "timeouts",
    "unsupported": "unsupported",
}
"""Outcomes, and the columns of SUMMARY that count them."""


# Limits after which a verifier gets no more requests, so that one that hangs or never starts costs
# minutes and not hours. Malformed answers count as crashes, because each costs a new process too.
# Crashes count only before the first verdict; later ones are findings about single vectors.
MAX_TIMEOUTS, MAX_CRASHES = 3, 10


def outcome(expected: str, verdict: str) -> str:
    """Return the outcome of a verdict, a key of OUTCOMES; "refuse" counts as a rejection."""
    if verdict in ("unsupported", "timeout"):
        return verdict
    if verdict in FAILURES:
        return "crash"
    # The specification may leave open whether to return a secret, never which one.
    if verdict == DIFFERENT_SECRET:
        return "wrong"
    # A verifier that raises an error does not accept the signature either.
    accepted = verdict == "accept"
    if expected == "acceptable":
        return "accepted" if accepted else "rejected"
    return "right" if accepted == (expected == "valid") else "wrong"


def run(
    verifiers: Iterable[VerifierSpec],
    vectors: Sequence[Vector],
    *,
    limit_seconds: float = 60.0,
    progress: bool = False,
    stop_at_malformed: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Request verdicts on the vectors; return frames of verdicts (VERDICTS) and counts (SUMMARY).

    `limit_seconds` is the timeout of each request. A verifier that cannot run here, or answers
    "unsupported" to every vector, is one row of the summary with the reason. A timeout counts only
    if the repeated request times out too. After MAX_TIMEOUTS timeouts, or MAX_CRASHES crashes or
    malformed answers before the first verdict, all remaining vectors fail without a request. With
    `stop_at_malformed` the first malformed answer raises UsageError: a program that does not follow
    the protocol says nothing about signatures.
    """
    verdicts, summary = [], []
    for verifier in verifiers:
        requests = [vector for vector in vectors if verifier.offers(vector.algorithm)]
        # A verifier that offers none of the algorithms has no row, not even an unsupported one.
        if not requests:
            continue
        try:
            rows = _ask(
                verifier, requests, limit_seconds=limit_seconds, progress=progress,
                stop_at_malformed=stop_at_malformed,
            )  # fmt: skip
        except Unsupported as error:
            summary.append(_summary_row(verifier, "", "", "unsupported", str(error), ()))
            continue
        verdicts += rows
        summary += _summarise(verifier, rows)
    return VERDICTS.frame(verdicts), SUMMARY.frame(summary)


def _ask(
    verifier: VerifierSpec,
    vectors: Sequence[Vector],
    *,
    limit_seconds: float,
    progress: bool,
    stop_at_malformed: bool,
) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    counts = dict.fromkeys(("answered", "timeout", "crash"), 0)
    with verifier.adapter(limit_seconds=limit_seconds) as adapter:
        for vector in tqdm(vectors, desc=visible(verifier.name), disable=not progress, leave=False):
            if counts["timeout"] >= MAX_TIMEOUTS:
                verdict, reason = "timeout", f"no more requests after {MAX_TIMEOUTS} timeouts"
            elif counts["crash"] >= MAX_CRASHES and not counts["answered"]:
                verdict, reason = "crash", f"no more requests after {MAX_CRASHES} crashes"
            else:
                answer = adapter.ask(vector)
                if answer.verdict == "timeout":
                    # A busy machine may delay one answer, so a single timeout is retried.
                    answer = adapter.ask(vector)
                verdict, reason = answer.verdict, answer.reason
                if verdict == "malformed" and stop_at_malformed:
                    raise UsageError(
                        f"{verifier.name} must answer in the protocol of `pqchain conform run "
                        f"--help`; got, for {vector.ident}, {reason}"
                    )
                kind = {"malformed": "crash"}.get(verdict, verdict)
                counts[kind if kind in counts else "answered"] += 1
            rows.append(
                {
                    "implementation": verifier.name,
                    "version": verifier.version,
                    "algorithm": vector.algorithm,
                    "family": vector.family,
                    "key": vector.key,
                    "vector": vector.ident,
                    "probe": vector.probe,
                    "expected": vector.expected,
                    "verdict": verdict,
                    "outcome": outcome(vector.expected, verdict),
                    "reason": reason.replace("\r", " "),
                }
            )
    return rows


def _summarise(verifier: VerifierSpec, rows: Sequence[dict[str, str]]) -> list[dict[str, object]]:
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["algorithm"], row["family"]), []).append(row)
    offered = {row["algorithm"] for row in rows if row["outcome"] != "unsupported"}
    # Otherwise a verifier without support would be missing from the result.
    if not offered:
        reason = f'the verifier answers "unsupported" to all {len(rows)} vectors'
        outcomes = ["unsupported"] * len(rows)
        return [_summary_row(verifier, "", "", "unsupported", reason, outcomes)]
    summary: list[dict[str, object]] = []
    for (algorithm, family), members in groups.items():
        if algorithm not in offered:
            continue
        outcomes = [row["outcome"] for row in members]
        status = "ok" if {"wrong", "crash", "timeout"}.isdisjoint(outcomes) else "failed"
        # The frame of verdicts has all reasons.
        reason = "; ".join(sorted({row["reason"] for row in members if row["reason"]})[:3])
        summary.append(_summary_row(verifier, algorithm, family, status, reason, outcomes))
    return summary


def _summary_row(
    verifier: VerifierSpec,
    algorithm: str,
    family: str,
    status: str,
    reason: str,
    outcomes: Sequence[str],
) -> dict[str, object]:
    return {
        "implementation": verifier.name,
        "version": verifier.version,
        "language": verifier.language,
        "algorithm": algorithm,
        "family": family,
        "status": status,
        "reason": reason,
        "vectors": len(outcomes),
        **{column: outcomes.count(name) for name, column in OUTCOMES.items()},
    }
