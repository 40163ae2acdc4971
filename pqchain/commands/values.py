"""Parsers of option values: names in any case, lists of integers, FIELD=VALUE."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pqchain import checks
from pqchain.errors import UsageError
from pqchain.figures import SECONDS

if TYPE_CHECKING:
    from pqchain.wire.drivers.cluster import Cluster

MAX_VALUES = 100_000  # maximum number of values of a list option


def canonical_case(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a name, ignoring case; return an unknown name unchanged."""
    return {spelling.casefold(): spelling for spelling in known}.get(name.casefold(), name)


def integers(text: str, option: str, *, least: int = 0, most: int = 2**63) -> list[int]:
    """Parse integers such as "1..5,8", without duplicates. Raises UsageError."""
    # A dict keeps the order and drops duplicates.
    values: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise UsageError(
                f"{option} must be whole numbers or ranges, such as 1..5 or 1,2,8; got {part!r}"
            ) from None
        if last < first:
            raise UsageError(f"{option} must be an ascending range: {last}..{first}; got {part}")
        for value in (first, last):
            if not least <= value <= most:
                raise UsageError(f"{option} must be from {least} to {most}; got {value}")
        # Checked before the range is expanded, which would take memory in proportion.
        if last - first >= MAX_VALUES:
            raise UsageError(f"{option} must have at most {MAX_VALUES} values; got {part}")
        values |= dict.fromkeys(range(first, last + 1))
    return list(values)


def field_values(cls: type, entries: Iterable[str], option: str) -> dict[str, Any]:
    """Parse FIELD=VALUE entries for the fields of a dataclass. Raises UsageError."""
    declared = checks.declarations(cls)
    values: dict[str, Any] = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        name = canonical_case(name, declared)
        if not equals or name not in declared:
            fields = ", ".join(declared)
            raise UsageError(f"{option} must be FIELD=VALUE with a field of {fields}; got {entry}")
        if name in values:
            raise UsageError(f"{option} {name} must be given once; separate its ranks by commas")
        kind = declared[name].type
        if kind is tuple:
            values[name] = tuple(integers(text, f"{option} {name}"))
            continue
        try:
            values[name] = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise UsageError(f"{option} {name} must be {expected}; got {text!r}") from None
    return values


def cluster(arguments: argparse.Namespace, mode: str) -> Cluster | None:
    """Return the cluster that --scheduler names; None in other modes than "cluster".

    Raises UsageError for a missing option, and for options that need mode "cluster".
    """
    from pqchain.wire.drivers.cluster import Cluster

    names = ("scheduler", "nodes_per_worker", "first_port")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if mode == "cluster":
        return Cluster(**given) if "scheduler" in given else Cluster.of(None)
    for name, value in given.items():
        raise UsageError(
            f"--{name.replace('_', '-')} {value} needs --mode cluster; got --mode {mode}"
        )
    return None


def cluster_remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the machines of a run on a cluster, and on their clocks and links."""
    if not facts:
        return
    workers, computers = (
        f"{facts[name]} {name[: len(name) - (facts[name] == 1)]}"
        for name in ("workers", "computers")
    )
    yield f"Nodes ran on {workers} of {computers}; times are as these workers reported them."
    if facts["links"]:
        trips = [link["round_trip_seconds"] for link in facts["links"]]
        rates = [link["bits_per_second"] for link in facts["links"] if link["bits_per_second"]]
        rate = f", 1 MiB over TCP at {min(rates) / 1e6:.0f} Mbit/s or more" if rates else ""
        yield (
            f"Between them: round trips of {SECONDS.text(min(trips))} to "
            f"{SECONDS.text(max(trips))}{rate}; times of two machines are compared with an error "
            f"of at most {SECONDS.text(facts['clock_error_seconds'])}."
        )
