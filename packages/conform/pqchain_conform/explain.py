"""Explanations of vectors: the result of each verification rule, with the values compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pqchain.render.table import Column, Shown, Table, verdict
from pqchain_conform import oracles
from pqchain_conform.models.checks import expected
from pqchain_conform.vector import Vector


def plain(vector: Vector) -> dict[str, Any]:
    """Return the fields of a vector, and the result of each rule, as JSON values."""
    checks = oracles.checks(vector)
    return {
        "vector": vector.ident,
        "family": vector.family,
        "probe": vector.probe,
        "probes": vector.probes,
        "rule": vector.rule,
        "key": vector.key,
        "expected": vector.expected,
        "model": expected(checks),
        "checks": [asdict(check) for check in checks],
        "operation": vector.operation,
        **{name: getattr(vector, name).hex() for name in vector.byte_fields},
    }


def text(vector: Vector) -> str:
    """Return a description of the vector as plain text, with long byte strings shortened."""
    paragraphs = [
        f"{vector.ident}: {vector.probe}",
        f"expected          {vector.expected}",
        f"family            {': '.join(filter(None, (vector.family, vector.probes)))}",
        f"rule              {vector.rule}",
        f"operation         {vector.operation}",
    ]
    for name in vector.byte_fields:
        data: bytes = getattr(vector, name)
        digits = data.hex()
        short = digits if len(digits) <= 48 else f"{digits[:32]}...{digits[-16:]}"
        paragraphs.append(f"{name:<18}{len(data)} bytes {short}")
    return "\n".join(paragraphs)


def table(vector: Vector) -> Table:
    """Return a table of verification rules, with the result of each rule for the vector."""
    rows = []
    for check in oracles.checks(vector):
        status: Shown | str = verdict("holds" if check.holds else "does not hold")
        if check.open and not check.holds:
            status = "left open"
        rows.append([check.name, status, check.rule, check.detail])
    columns = [Column("rule"), Column("verdict"), Column("source"), Column("numbers")]
    return Table(columns=columns, rows=rows, caption="Rules of the specification")
