"""Figures, limits and dates of a study in words, for terminals, pages and sentences."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pqchain import figures
from pqchain.figures import Figure
from pqchain.study import validation
from pqchain.study.plan import Plan

MAIN: Mapping[str, str] = {
    "capacity_per_second": "capacity",
    "capacity_ratio": "capacity, relative to today",
    "binding_limit": "binding limit",
    "transaction_bytes": "a transaction",
    "latency_seconds": "latency at the target load",
    "rule_seconds": "time to finality",
    "verification_cores": "cores busy with verification",
    "growth_bytes_per_year": "growth of storage in a year",
}
"""The eight main figures of a study in words, in the order of its table."""

_LIMITS = {
    "votes": "bytes reserved for votes in a block",
    "bytes": "bytes of a block",
    "weight": "weight of a block",
    "sigops": "signature checks in a block",
    "gas": "gas of a block",
    "packet": "longest transaction",
    "spread": "uplink of a proposer",
    "count": "number of transactions in a block",
    "proving": "rate of the prover",
    "time to final": "time to finality",
}

KEY_MODES = {
    "inline": "with the key in each transaction",
    "registered": "with the key in the account",
    "recovered": "with the key recovered from the signature",
}
"""Where a chain gets the public key from, by key mode."""


def limit(name: str) -> str:
    """Return the name of a limit in words; a name without other words stays as it is."""
    return _LIMITS.get(name, name)


def chain_name(plan: Plan) -> str:
    """Return the name of a plan's chain: its title up to the first colon."""
    return plan.title.partition(":")[0]


def brief(figure: Figure) -> str:
    """Return a figure as text, with its interval only if that is wider than 5 % of the value."""
    is_wide = figure.high - figure.low > 0.05 * abs(figure.value)
    return figure.text() if is_wide else figure.unit.text(figure.value)


def percent(share: float) -> str:
    """Return a share in percent, with a decimal below ten percent; at least "0.1 %" unless 0.

    >>> percent(0.509), percent(0.0347), percent(0.0)
    ('51 %', '3.5 %', '0 %')
    """
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{max(value, 0.1):.1f} %"


def status(plan: Plan) -> str:
    """Return a sentence with the date of a plan's sources, and until when its rules hold."""
    checked, last = plan.chain.checked, plan.chain.valid_until
    if checked is None:
        return "Inputs are not dated."
    until = "status unknown after that date"
    if plan.chain.is_past:
        until = f"rules in force until {last}"
    elif last is not None:
        until = f"rules valid until {last}, status unknown after that date"
    return f"Sources read on {checked}; {until}."


def fit(calibration: pd.DataFrame) -> str:
    """Return a sentence with the errors of the model's tests by figure; "" without one."""
    compared = []
    for quantity, rows in validation.tests(calibration).groupby("quantity", sort=False):
        name = validation.EXPECTED_OF.get(str(quantity), str(quantity))
        errors = rows["error"].agg(["min", "max"])
        ends = dict.fromkeys(figures.percent(100 * end, 0) for end in errors)
        about = [f"{len(rows)} observations", *rows["algorithm"].unique()] * (len(rows) > 1)
        about += dict.fromkeys(rows["date"])
        compared.append(f"{name} {' to '.join(ends)} ({', '.join(about)})")
    return f"Compared with this chain: {'; '.join(compared)}." if compared else ""
