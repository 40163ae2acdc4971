"""`pqchain doctor`: what works here, what is missing, what that disables, and how to fix it."""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from itertools import groupby
from typing import Literal

from pqchain import algorithms, machine
from pqchain.commands import console
from pqchain.crypto import native, obstacle, open_signer
from pqchain.errors import CryptoFailure, NativeLibraryMissing, PqchainError, Unsupported
from pqchain.installation import HOME, read_toml

State = Literal["present", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check."""

    group: str
    name: str
    state: State
    detail: str
    disables: str = ""
    """Features that do not work because of it; empty if it is present."""
    fix: str = ""
    """Command that fixes it, if there is one."""
    essential: bool = False

    @property
    def healthy(self) -> bool:
        """Whether it is acceptable: an optional part may be missing."""
        return self.state == "present" or (self.state == "missing" and not self.essential)


_SOUGHT = read_toml(HOME / "commands" / "doctor.toml")["sought"]
"""Checked parts, by group and name: fields of `Finding` for a missing one."""

_FIXES = {
    NativeLibraryMissing: "make    (without make: pip install .)",
    Unsupported: "pip install liboqs-python",
}
"""Commands that remove an obstacle, by its error; none adds CPU flags."""


def run(arguments: argparse.Namespace) -> int:
    """Show all findings; fail if a part is broken or an essential one is missing."""
    findings = examine()
    healthy = all(finding.healthy for finding in findings)
    plain = {"healthy": healthy, "findings": [asdict(finding) for finding in findings]}
    shown = "\n".join(_lines(findings, healthy=healthy))
    return console.show(arguments, plain, shown, fine=healthy)


def _lines(findings: list[Finding], *, healthy: bool) -> Iterator[str]:
    width = max(len(finding.name) for finding in findings)
    for group, members in groupby(findings, key=lambda finding: finding.group):
        yield group
        for finding in members:
            mark = {"present": "ok", "missing": "--", "broken": "!!"}[finding.state]
            yield f"  {mark}  {finding.name:<{width}}  {finding.detail}"
            if finding.disables:
                yield f"      {'':<{width}}  disables: {finding.disables}"
            if finding.fix:
                yield f"      {'':<{width}}  to fix:   {finding.fix}"
        yield ""
    missing = sum(finding.state == "missing" for finding in findings)
    verdict = "Nothing essential is broken" if healthy else "Something essential is broken"
    parts = "1 optional part is" if missing == 1 else f"{missing} optional parts are"
    yield f"{verdict}; {parts} missing."


def examine() -> list[Finding]:
    """Check interpreter, packages, processor, native libraries, data and tools."""
    python = platform.python_implementation()
    return [
        Finding("Python", python, "present", platform.python_version(), essential=True),
        *map(_package, _SOUGHT["Python packages"]),
        _processor(),
        *_libraries(),
        _erasure_engine(),
        _quic(),
        _data(),
        *map(_tool, _SOUGHT["Build tools"]),
    ]


def _sought(group: str, name: str, found: str, missing: str) -> Finding:
    """Return a finding: present with the detail `found`, or missing if that is empty."""
    if found:
        return Finding(group, name, "present", found)
    return Finding(group, name, "missing", missing, **_SOUGHT[group][name])


def _package(name: str) -> Finding:
    """Check for a package by its installed metadata; nothing is imported."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = ""
    finding = _sought("Python packages", name, version, "not installed")
    # pip installs the essential packages, except on 32-bit ARM, where some lack wheels.
    return replace(finding, essential=finding.essential and platform.machine() != "armv7l")


def _tool(name: str) -> Finding:
    found = "found" if shutil.which(name) else ""
    return _sought("Build tools", name, found, "not on the search path")


def _processor() -> Finding:
    """Report missing CPU flags and the implementations that need them."""
    rows = algorithms.IMPLEMENTATIONS.values()
    needed = sorted({flag for row in rows for flag in row.cpu_flags})
    lacking = [flag for flag in needed if flag not in machine.cpu_flags()]
    return Finding(
        "Processor",
        "CPU flags",
        "missing" if lacking else "present",
        f"lacks {', '.join(lacking)}" if lacking else ", ".join(needed),
        disables=", ".join(row.name for row in rows if machine.missing_flags(row)),
    )


def _libraries() -> Iterator[Finding]:
    """Load every native library, and sign and verify once with each."""
    group = "Native libraries"
    for row in algorithms.IMPLEMENTATIONS.values():
        if not row.library:
            continue
        if stands := obstacle(row.name):
            if not row.setting:  # one with a setting is built only on request
                disables = f"{row.name}: its rows are marked unsupported"
                remedy = _FIXES[stands.error] if stands.remedy else ""
                yield Finding(group, row.name, "missing", stands.reason, disables, remedy)
            continue
        try:
            yield Finding(group, row.name, "present", _library_detail(row.name))
        except (PqchainError, OSError, ValueError) as error:
            # If only the Python package that loads the library is missing, it is not broken.
            optional = isinstance(error.__cause__, ImportError)
            state: State = "missing" if optional else "broken"
            remedy = "pip install liboqs-python" if optional else "make clean && make"
            yield Finding(group, row.name, state, str(error), row.name, remedy)


def _library_detail(implementation: str) -> str:
    """Describe a working library; raise an error if it does not work."""
    # Loading is not enough: a library may load and still compute wrong results.
    library = native.library(implementation)
    held = library.names()
    name = next((n for n in ("ML-DSA-44", *algorithms.names("signature")) if n in held), held[0])
    signer = open_signer(name, implementation)
    public_key, secret_key = signer.generate_keypair()
    if not signer.verify(b"doctor", signer.sign(b"doctor", secret_key), public_key):
        raise CryptoFailure(f"{name} rejects a signature that it has just made")
    facts = library.build_facts()
    corrections = len(facts.get("corrections", []))
    corrected = f", {corrections} corrected defect{'s'[: corrections != 1]}" if corrections else ""
    return (
        f"{facts.get('source', 'source unknown')} {facts.get('source_version', '')}{corrected}, "
        f"{len(held)} algorithm{'s'[: len(held) != 1]}, "
        f"{facts.get('compiler', 'compiler unknown')}; {name} signs and verifies"
    )


def _erasure_engine() -> Finding:
    """Check for ISA-L, a system library or part of a Python package."""
    try:
        from pqchain.reencode.storage import erasure

        works = not erasure.unavailable_reason("isal")
    except ImportError:
        works = False
    found = "the fast engine of the erasure code" if works else ""
    return _sought("Native libraries", "ISA-L", found, "ISA-L is not installed")


def _quic() -> Finding:
    """Load our QUIC library; if it was not built, give the reason."""
    from pqchain.wire.transports import registry

    row = registry.get("native")
    reason = row.unavailable_reason()
    release = machine.native_builds().get("quic", {}).get("source_version", "")
    found = "" if reason else f"quinn-proto {release}: the transport native"
    return _sought("Native libraries", "QUIC", found, reason)


def _data() -> Finding:
    group, name = "Data", "published tables"
    try:
        from pqchain.works import papers

        detail = f"{len(papers.keys())} works, {len(papers.published())} printed values"
    except (PqchainError, OSError, ImportError) as error:
        disables = "papers, compare, reproduce"
        remedy = "pip install --force-reinstall .    (in the checkout)"
        return Finding(group, name, "broken", str(error), disables, remedy, essential=True)
    return Finding(group, name, "present", detail, essential=True)
