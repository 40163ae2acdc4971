"""`pqchain algorithms`: the registry of algorithms and of implementations."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from pqchain import algorithms, figures
from pqchain.commands import console, values
from pqchain.errors import UnknownName, UsageError
from pqchain.render.table import Column, Table


def run(arguments: argparse.Namespace) -> int:
    """List the entries of the registry."""
    if arguments.implementations:
        return _show_implementations(arguments)
    family = arguments.family and values.canonical_case(arguments.family, algorithms.FAMILIES)
    if family is not None and family not in algorithms.FAMILIES:
        raise UnknownName("family", family, algorithms.FAMILIES, "`pqchain algorithms`.")
    names = algorithms.names(arguments.kind, family=family, everything=arguments.all)
    rows = [algorithms.get(name) for name in names]
    note = "Sizes in bytes; ~ marks a mean of varying length. --json has sources and aliases."
    return console.show(arguments, list(map(_record, rows)), _table(rows), remarks=[note])


def _table(rows: list[algorithms.Algorithm]) -> Table:
    numeric = ("level", "public key", "secret key", "sig / ct")
    titles = ("name", *numeric, "status", "from")
    cells = []
    for row in rows:
        output = f"{'~' * row.signature_varies}{row.signature_bytes or row.ciphertext_bytes}"
        sizes = row.nist_level or figures.MISSING, row.public_key_bytes, row.secret_key_bytes
        cells.append([row.name, *sizes, output, _status(row), _libraries(row)])
    columns = [Column(title, numeric=title in numeric) for title in titles]
    return Table(columns=columns, rows=cells)


def _status(row: algorithms.Algorithm) -> str:
    version = row.family_facts.version
    return f"{row.status} (set of {version})" if version else row.status


_FAMILY_FACTS = (
    "problem", "post_quantum", "context_bytes", "security_status", "security_note",
    "security_source", "checked", "version", "avx2_corrected",
)  # fmt: skip


def _record(row: algorithms.Algorithm) -> dict[str, Any]:
    return {
        **asdict(row),
        **{name: getattr(row, name) for name in ("title", "broken", "warning", "signature_varies")},
        "operations": list(row.operations),
        **{name: getattr(row.family_facts, name) for name in _FAMILY_FACTS},
    }


def _libraries(row: algorithms.Algorithm) -> str:
    libraries = dict.fromkeys(name.partition("/")[0] for name in row.implementations)
    if not row.default_build:
        return f"{', '.join(libraries)} (PQCHAIN_ALGORITHMS=all)"
    return ", ".join(libraries) or "none in this version"


def _show_implementations(arguments: argparse.Namespace) -> int:
    for option in ("kind", "family", "all"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} selects algorithms, not --implementations; leave one out")
    # Imported only here: the list of algorithms needs no library.
    from pqchain import crypto

    known = algorithms.IMPLEMENTATIONS.values()
    rows = [(row, crypto.unavailable_reason(row.name)) for row in known]
    data = [{**asdict(row), "available": not reason, "reason": reason} for row, reason in rows]
    table = Table(
        columns=[
            Column("implementation"), Column("available"), Column("description or reason"),
        ],
        rows=[
            [row.name, "no" if reason else "yes", reason or row.description]
            for row, reason in rows
        ],
    )  # fmt: skip
    return console.show(arguments, data, table)
