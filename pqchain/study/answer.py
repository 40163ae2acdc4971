"""What the figures of a study say, in sentences, and how a figure is shown with its interval."""

from __future__ import annotations

import math

from pqchain import figures
from pqchain.figures import RATIO, SECONDS
from pqchain.study import calibration
from pqchain.study.findings import Findings
from pqchain.study.model import post_quantum

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: float, unit: str, digits: int = 3) -> str:
    """Show a figure with three digits and the prefix that fits: 1.63 TB, 12.0 s, 73.3 tx/s."""
    if not math.isfinite(value):
        return figures.MISSING
    if unit == "s":
        return SECONDS.text(value, digits)
    if unit == "×":
        return RATIO.text(value, digits)
    unit = {"1/s": "tx/s"}.get(unit, unit)
    number = figures.significant(value, digits)
    if unit == "gas" and value >= 1e8:
        number, unit = figures.significant(value / 1e9, digits), "Ggas"
    elif unit in ("B", "bit/s"):
        number = figures.integer(value) if value == round(value) else figures.significant(value, 5)
        for scale, prefix in _PREFIXES:
            if value >= scale and (unit != "B" or value >= 1e5):
                number, unit = figures.significant(value / scale, digits), f"{prefix}{unit}"
                break
    return f"{number}{figures.NARROW_SPACE}{unit}" if unit else number


def interval(low: float, high: float, unit: str, value: float | None = None) -> str:
    """Show a figure with its interval, or alone where all draws agree: 73.1 tx/s (71.0 to 75.2)."""
    middle = low if value is None else value
    alone = shown(middle, unit)
    if not low < high or shown(low, unit) == shown(high, unit):
        return alone
    ends = [shown(end, unit) for end in (low, high)]
    number, _, of = ends[0].rpartition(figures.NARROW_SPACE)
    if number and ends[1].endswith(f"{figures.NARROW_SPACE}{of}"):
        ends[0] = number
    return f"{alone} ({ends[0]} to {ends[1]})"


def spread(findings: Findings) -> str:
    """Say what an interval is made of."""
    if findings.seeds < 2:
        return "one draw, without intervals"
    return f"intervals: nine of ten of {findings.seeds} draws of network and times"


def doubts(findings: Findings) -> list[str]:
    """Say what makes the numbers doubtful: a busy machine, a model far from what was observed."""
    warned = [f"Warning: {each}." for each in findings.warnings]
    return [*warned, *calibration.far(findings.calibration)]


def conclusions(findings: Findings) -> list[str]:
    """Say in sentences what the figures show."""
    plan, values, best = findings.plan, findings.values, findings.best
    target = plan.transactions_per_second
    sentences = []
    if best and values[best]["capacity_per_second"] > 0:
        low, high = findings.intervals[best]["capacity_per_second"]
        capacity = interval(low, high, "1/s", values[best]["capacity_per_second"])
        sentences.append(
            f"Highest capacity of the post-quantum schemes: {best}, {capacity}; target "
            f"{target:g}. What binds: {findings.limits[best]}."
        )
        equal = [
            name
            for name in post_quantum(plan)
            if name != best and not findings.differ("capacity_per_second", best, name)
        ]
        if equal:
            sentences.append(f"No difference in capacity from {best}: {', '.join(equal)}.")
    refused = [name for name in values if not values[name]["transactions_per_block"]]
    by_limit: dict[str, list[str]] = {}
    for name in refused:
        by_limit.setdefault(findings.limits.get(name, ""), []).append(name)
    for limit, names in by_limit.items():
        sentences.append(f"Not one transaction fits ({limit}): {', '.join(names)}.")
    late = [name for name in values if values[name]["vote_deadline_ratio"] > 1]
    if late:
        times = (f"{name} ({shown(values[name]['final_seconds'], 's')})" for name in late)
        sentences.append(
            "With their round of votes, full blocks take longer than the "
            f"{shown(plan.vote_deadline_seconds, 's')} after which votes are due: "
            f"{', '.join(times)}. Validators would miss some of them; no limit counts that."
        )
    below = [
        name
        for name in values
        if name not in refused and values[name]["capacity_per_second"] < target
    ]
    if below:
        sentences.append(
            f"Capacity below the target load: {', '.join(below)}. At that load their queues "
            "grow for ever, so no latency is given."
        )
    if plan.baseline and best and best not in refused:
        sentences.append(_from_baseline(findings, best))
    return sentences


def _from_baseline(findings: Findings, best: str) -> str:
    """Say how bytes and verification change from the baseline to a scheme."""
    ratios = {}
    for name in ("transaction_bytes_ratio", "verification_ratio"):
        low, high = findings.intervals[best][name]
        ratios[name] = interval(low, high, "×", findings.values[best][name])
    low, high = findings.intervals[best]["verification_ratio"]
    time = f"verification {ratios['verification_ratio']} the time"
    if low < 1 < high:
        time = f"no difference in verification: {ratios['verification_ratio']}"
    size = ratios["transaction_bytes_ratio"]
    return f"From {findings.plan.baseline} to {best}: transactions {size} the bytes, {time}."
