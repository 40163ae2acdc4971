"""List algorithms and implementations, and check this installation."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pqchain import algorithms as registry
from pqchain import figures
from pqchain.commands import console, values
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.crypto.diagnosis import Diagnosis

_FAMILY_FACTS = (
    "problem", "post_quantum", "context_bytes", "security_status", "security_note",
    "security_source", "checked", "version", "avx2_corrected",
)  # fmt: skip

_NUMERIC = ("level", "public key", "secret key", "sig / ct")
_TITLES = ("name", *_NUMERIC, "status", "from")


def algorithms(
    *,
    kind: Literal["signature", "kem"] | None = None,
    family: str | None = None,
    all_: bool = False,
    implementations: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """List algorithms with sizes, status and implementations.

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
        **{name: getattr(row, name) for name in ("title", "signature_varies")},
        **{effect: row.attacked(effect) for effect in ("broken", "warning")},
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


def doctor(
    *,
    example: bool = False,
    library: Path | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Check which parts of pqchain work on this machine, and how to repair them.

    Exit code 1 if a part is broken or an essential one is missing.

    Args:
        example: instead, print an example in C of a library with your own signature scheme,
            and the command that builds it
        library: instead, check every scheme of your shared library, each check in its own process:
            first use, round trips, flipped bits, threads

    Examples:
      pqchain doctor
      pqchain doctor --example > mine.c
      pqchain doctor --library libmine.so

    Use the library by --scheme ./libmine.so of bench, chain, consensus, gas, study and others.
    """
    if example and library is not None:
        raise UsageError("--example and --library exclude each other; give one")
    # Imported here, because the list of algorithms needs no library.
    from pqchain.crypto import diagnosis

    if example:
        text = (diagnosis.FOLDER / "example.c").read_text(encoding="utf-8").rstrip()
        command = diagnosis.build_command("mine.c", "libmine.so")
        facts = {"example": text, "command": command}
        return console.show(form, facts, text, remarks=[command], verbatim=True)
    if library is not None:
        return _check_library(form, library)
    findings = [*diagnosis.examine(), _data()]
    healthy = all(finding.healthy for finding in findings)
    report = {"healthy": healthy, "findings": list(map(asdict, findings))}
    return console.show(form, report, _table(findings), ok=healthy)


def _check_library(form: values.Format, library: Path) -> int:
    from tqdm import tqdm

    from pqchain.crypto import library_check

    # Path.resolve() raises RuntimeError at a loop of links before Python 3.13.
    path = Path(os.path.realpath(library.expanduser()))
    if not path.is_file():
        raise UsageError(f"--library {library} does not exist")
    checks = library_check.check_library(path)
    findings = list(tqdm(checks, unit="check", disable=not console.is_interactive()))
    rows = [
        [finding.scheme, finding.check, "passed" if finding.passed else "WRONG", finding.detail]
        for finding in findings
    ]
    columns = [Column(title) for title in ("scheme", "check", "verdict", "detail")]
    ok = all(finding.passed for finding in findings)
    facts = {"ok": ok, "findings": list(map(asdict, findings))}
    return console.show(form, facts, Table(columns=columns, rows=rows), ok=ok)


def _table(findings: list[Diagnosis]) -> Table:
    counts = Counter((finding.essential, finding.state) for finding in findings)
    notes = [
        f"{name} parts: {counts[is_essential, 'broken']} broken, "
        f"{counts[is_essential, 'missing']} missing."
        for is_essential, name in ((True, "Essential"), (False, "Optional"))
    ]
    rows = [asdict(finding) for finding in findings]
    return Table.of(rows, ["group", "name", "state", "detail", "disables", "fix"], notes=notes)


def _data() -> Diagnosis:
    from pqchain.crypto.diagnosis import Diagnosis

    group, name = "Data", "published tables"
    try:
        from pqchain.works import papers

        detail = f"{len(papers.keys())} works, {len(papers.published())} printed values"
    except (PqchainError, OSError, ImportError) as error:
        disables = "papers, compare, reproduce"
        fix = "pip install --force-reinstall .    (in the checkout)"
        return Diagnosis(group, name, "broken", str(error), disables, fix, essential=True)
    return Diagnosis(group, name, "present", detail, essential=True)
