"""Transactions of a block whose signatures are one: a BLS aggregate, or the proof of a prover.

Keys and messages stay in the block, because whoever verifies needs them. A prover of others is
cited: how many signatures it proves in a second limits how many a block can hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pqchain.costs import CostTable
from pqchain.study.plan import BLS, CORES, Plan
from pqchain.study.provers import PROVERS, Prover
from pqchain.study.votes import BLS_SIGNATURE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What stands for all signatures of a block."""

    prover: Prover | None
    """None: a BLS aggregate."""
    verify_seconds: float
    """To verify it, apart from what each signature adds; NaN where nobody says."""
    signature_seconds: float
    """What each signature adds to that."""

    @property
    def rate_per_second(self) -> float:
        """Signatures that can be put into it in a second; without bound where nobody says."""
        if self.prover is None or not self.prover.rates:
            return math.inf
        return self.prover.rate_per_second(CORES)

    def bytes(self, signatures: float) -> float:
        """Return its length for so many signatures."""
        if self.prover is None:
            return float(BLS_SIGNATURE_BYTES)
        return self.prover.proof_bytes(signatures)

    def seconds(self, signatures: float) -> float:
        """Return the time to verify it; what nobody says counts nothing."""
        fixed = 0.0 if math.isnan(self.verify_seconds) else self.verify_seconds
        return fixed + signatures * self.signature_seconds


def of_scheme(plan: Plan, scheme: str, costs: CostTable) -> Bundle | None:
    """Return what stands for the signatures of a scheme, None if each stands for itself."""
    if plan.transaction_aggregation == BLS:
        aggregates = costs.aggregates
        if scheme != plan.bundled:
            return None
        if aggregates is None:
            return Bundle(prover=None, verify_seconds=math.nan, signature_seconds=0.0)
        return Bundle(
            prover=None,
            verify_seconds=aggregates.verify_seconds,
            signature_seconds=aggregates.message_seconds,
        )
    if not plan.bundled or scheme != plan.bundled:
        return None
    prover = PROVERS[plan.transaction_aggregation]
    seconds = math.nan if prover.verify_seconds is None else prover.verify_seconds
    return Bundle(prover=prover, verify_seconds=seconds, signature_seconds=0.0)
