"""List algorithms with sizes, status and implementations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pqchain import algorithms as registry
from pqchain import figures
from pqchain.commands import console, values
from pqchain.errors import UnknownName, UsageError
from pqchain.render.table import Column, Table

_FAMILY_FACTS = (
    "problem", "post_quantum", "context_bytes", "security_status", "security_note",
    "security_source", "checked", "version", "avx2_corrected",
)  # fmt: skip

_NUMERIC = ("level", "public key", "secret key", "sig / ct")
_TITLES = ("name", *_NUMERIC, "status", "from")


def algorithms(
    *,
    kind: Annotated[Literal["signature", "kem"] | None, values.CHOICE] = None,
    family: str | None = None,
    all_: bool = False,
    implementations: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """List the algorithms of the registry, or the implementations.

    Args:
        kind: list only signature schemes or KEMs
        family: list only this family, such as Falcon
        all_: include algorithms that need a build with PQCHAIN_ALGORITHMS=all
        implementations: list implementations instead of algorithms

    Examples:
      pqchain algorithms --kind kem
      pqchain algorithms --family Falcon --all
      pqchain algorithms --implementations    list implementations, and whether they run here
    """
    if implementations:
        if kind or family or all_:
            raise UsageError("--implementations cannot be combined with --kind, --family or --all")
        return _show_implementations(form)
    name = family and values.canonical_case(family, registry.FAMILIES)
    if name is not None and name not in registry.FAMILIES:
        raise UnknownName("family", name, registry.FAMILIES, "`pqchain algorithms`.")
    rows = [registry.get(row) for row in registry.names(kind, family=name, everything=all_)]
    note = "Sizes in bytes; ~ marks a mean of varying length. --json has sources and aliases."
    columns = [Column(title, numeric=title in _NUMERIC) for title in _TITLES]
    table = Table(columns=columns, rows=list(map(_cells, rows)))
    return console.show(form, list(map(_record, rows)), table, remarks=[note])


def _cells(row: registry.Algorithm) -> list[Any]:
    output = f"{'~' * row.signature_varies}{row.signature_bytes or row.ciphertext_bytes}"
    sizes = row.nist_level or figures.MISSING, row.public_key_bytes, row.secret_key_bytes
    version = row.family_facts.version
    status = f"{row.status} (set of {version})" if version else row.status
    libraries = ", ".join(dict.fromkeys(name.partition("/")[0] for name in row.implementations))
    if not row.default_build:
        libraries += " (PQCHAIN_ALGORITHMS=all)"
    return [row.name, *sizes, output, status, libraries or "none in this version"]


def _record(row: registry.Algorithm) -> dict[str, Any]:
    return {
        **asdict(row),
        **{name: getattr(row, name) for name in ("title", "broken", "warning", "signature_varies")},
        "operations": list(row.operations),
        **{name: getattr(row.family_facts, name) for name in _FAMILY_FACTS},
    }


def _show_implementations(form: values.Format) -> int:
    # Imported only here: the list of algorithms needs no library.
    from pqchain import crypto

    known = registry.IMPLEMENTATIONS.values()
    rows = [(row, crypto.unavailable_reason(row.name)) for row in known]
    data = [{**asdict(row), "available": not reason, "reason": reason} for row, reason in rows]
    cells = [
        [row.name, "no" if reason else "yes", reason or row.description] for row, reason in rows
    ]
    names = ("implementation", "available", "description or reason")
    return console.show(form, data, Table(columns=list(map(Column, names)), rows=cells))
