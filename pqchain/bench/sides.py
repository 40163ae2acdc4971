"""Sentences on the sides of a comparison of benchmark runs: machines, builds, load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqchain.bench.variation import MAX_MEDIAN_OVER_MIN


def warnings(sides: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each side whose machine was busy."""
    return [
        f"Warning: the machine was busy during {name}: median/min of verifications "
        f"{facts['median_over_min']:.2f}, which is above {MAX_MEDIAN_OVER_MIN:g}."
        for name, facts in sides.items()
        if (facts["median_over_min"] or 0) > MAX_MEDIAN_OVER_MIN
    ]


_LABELS = {
    "machine_id": "machine", "cpu_model": "processor", "cpu_count": "processors",
    "pqchain": "pqchain", "commit": "commit", "python": "Python", "preset": "preset",
    "date": "date",
}  # fmt: skip


def summary(sides: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each side with the facts in which the sides differ, and one of the rest."""
    differing = [
        name for name in _LABELS if len({str(facts.get(name)) for facts in sides.values()}) > 1
    ]
    lines = [f"{name}: {_side(facts, differing)}" for name, facts in sides.items()]
    first, *others = (facts["libraries"] for facts in sides.values())
    common = {name: [side.get(name, of) for side in others] for name, of in first.items()}
    if changed := [name for name, of in common.items() if set(of) - {first[name]}]:
        lines.append(f"different builds: {', '.join(changed)}")
    first = next(iter(sides.values()))
    shared = [
        f"{_LABELS[name]} {_short(name, first[name])}"
        for name in _LABELS
        if name not in differing and first.get(name)
    ]
    return "\n".join([*lines, f"all sides: {', '.join(shared)}"])


def _side(facts: Mapping[str, Any], names: Sequence[str]) -> str:
    count, ratio = facts["runs"], facts["median_over_min"]
    values = [f"{_LABELS[name]} {_short(name, facts[name])}" for name in names if facts.get(name)]
    noise = f"median/min of verifications {ratio:.2f}" if ratio else ""
    return ", ".join(filter(None, [*values, f"{count} run{'s'[: count > 1]}", noise]))


def _short(name: str, value: Any) -> str:
    """Return a fact of provenance: seven digits of a commit, a date without its time zone."""
    text = str(value)
    if name == "commit":
        return text[:7] + "-dirty" * text.endswith("-dirty")
    if name == "date":
        return " to ".join(date[:16].replace("T", " ") for date in text.split(" to "))
    return text
