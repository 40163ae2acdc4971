"""`pqchain native`: build instructions and interface checks for a user's library."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import asdict
from pathlib import Path

from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.installation import HOME
from pqchain.render.table import Column, Table

FOLDER = HOME / "native"
"""Folder of the header, of the sources that all libraries share, and of the example."""


def run(arguments: argparse.Namespace) -> int:
    """Check a library, print the example, or show the commands of a build."""
    if arguments.check is not None:
        return _check(arguments)
    if arguments.example:
        example = (FOLDER / "example.c").read_text(encoding="utf-8").rstrip()
        return console.show(arguments, {"example": example}, example, verbatim=True)
    commands = [
        "pqchain native --example > mine.c",
        build_command("mine.c", "libmine.so"),
        "pqchain native --check libmine.so",
        "pqchain bench --scheme ./libmine.so",
    ]
    data = {"folder": str(FOLDER), "commands": commands}
    return console.show(arguments, data, "\n".join(commands), verbatim=True)


def build_command(source: str, library: str) -> str:
    """Return the command that builds a library; for a KEM, remove no_kem.c from it."""
    parts = (f"-I{FOLDER}", source, FOLDER / "common.c", FOLDER / "no_kem.c", "-o", library)
    return f"cc -O3 -shared -fPIC {shlex.join(map(str, parts))} -lpthread"


def _check(arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    from pqchain.crypto import isolated, library_check

    # Path.resolve() raises RuntimeError at a loop of links before Python 3.13.
    path = Path(os.path.realpath(arguments.check.expanduser()))
    if not path.is_file():
        raise UsageError(f"--check {arguments.check} does not exist")
    checks = library_check.check_library(path, first_use_seconds=isolated.limit_seconds())
    findings = list(tqdm(checks, unit="check", disable=not console.is_interactive()))
    columns = [Column("scheme"), Column("check"), Column("verdict"), Column("detail")]
    rows = [
        [finding.scheme, finding.check, "passed" if finding.passed else "WRONG", finding.detail]
        for finding in findings
    ]
    ok = all(finding.passed for finding in findings)
    data = {"ok": ok, "findings": list(map(asdict, findings))}
    return console.show(arguments, data, Table(columns=columns, rows=rows), ok=ok)
