"""Which parts of pqchain work on this machine: packages, processor, libraries, tools."""

from __future__ import annotations

import platform
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any, Literal

from pqchain import algorithms, installation
from pqchain.crypto import isolation, native, obstacle, open_signer
from pqchain.errors import CryptoFailure, NativeLibraryMissing, PqchainError, Unsupported
from pqchain.installation import HOME, data, missing, read_toml
from pqchain.results import machine

State = Literal["present", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Result of one check."""

    group: str
    name: str
    state: State
    detail: str
    disables: str = ""
    """Features that do not work because of it; empty if it is present."""
    fix: str = ""
    essential: bool = False

    @property
    def healthy(self) -> bool:
        """Whether the result is acceptable; an optional part may be missing."""
        return self.state == "present" or (self.state == "missing" and not self.essential)


FOLDER = HOME / "native"
"""Folder of the header, of the sources that all libraries share, and of the example."""

_NATIVE = "Native libraries"


@cache
def parts() -> Mapping[str, Mapping[str, Any]]:
    """Return the checked parts, by group and name: fields of `Diagnosis` for a missing one."""
    return read_toml(data("installation") / "parts.toml")


def build_command(source: str, library: str) -> str:
    """Return the command that builds a user's library of signature schemes."""
    words = (f"-I{FOLDER}", source, FOLDER / "common.c", FOLDER / "no_kem.c", "-o", library)
    return f"cc -O3 -shared -fPIC {shlex.join(map(str, words))} -lpthread"


def examine() -> Iterator[Diagnosis]:
    """Check interpreter, packages, processor, native libraries, data and tools."""
    python, packages = platform.python_implementation(), "Python packages"
    yield Diagnosis("Python", python, "present", platform.python_version(), essential=True)
    for name, part in parts()[packages].items():
        # pip installs the essential packages, except on 32-bit ARM, where some lack wheels.
        essential = part.get("essential", False) and platform.machine() != "armv7l"
        try:  # by the metadata; nothing is imported
            version = metadata.version(name)
            yield Diagnosis(packages, name, "present", version, essential=essential)
        except metadata.PackageNotFoundError:
            facts = {**part, "essential": essential}
            yield Diagnosis(packages, name, "missing", "not installed", **facts)
    yield from (_processor(), *_libraries(), _schemes())
    for name, part in parts()["Build tools"].items():
        if shutil.which(name):
            yield Diagnosis("Build tools", name, "present", "found")
        else:
            yield Diagnosis("Build tools", name, "missing", "not on the search path", **part)


def _processor() -> Diagnosis:
    rows = algorithms.IMPLEMENTATIONS.values()
    needed = sorted({flag for row in rows for flag in row.cpu_flags})
    lacking = [flag for flag in needed if flag not in machine.cpu_flags()]
    detail = f"lacks {', '.join(lacking)}" if lacking else ", ".join(needed)
    disables = ", ".join(row.name for row in rows if machine.missing_flags(row))
    state: State = "missing" if lacking else "present"
    return Diagnosis("Processor", "CPU flags", state, detail, disables)


def _libraries() -> Iterator[Diagnosis]:
    for row in algorithms.IMPLEMENTATIONS.values():
        if not row.library:
            continue
        if missing := obstacle(row.name):
            if row.setting:  # built only on request
                continue
            disables = f"{row.name}: its rows are marked unsupported"
            is_built_here = isinstance(missing, NativeLibraryMissing)
            fix = "make    (without make: pip install .)" if is_built_here else ""
            detail = str(missing).removesuffix(f": {native.INSTALL_HINT}")
            yield Diagnosis(_NATIVE, row.name, "missing", detail, disables, fix)
            continue
        yield _library(row.name, {"disables": row.name})
    for name, part in parts()[_NATIVE].items():
        yield _library(name, part)


def _library(name: str, part: Mapping[str, Any]) -> Diagnosis:
    """Load and use a library in a child process, which it may end by a signal."""
    function, disables = f"{__name__}:library_detail", part["disables"]
    try:
        detail = isolation.call(function, limit_seconds=60, keep=True, name=name)
    except Unsupported as error:
        return Diagnosis(_NATIVE, name, "missing", str(error), disables, part["fix"])
    except PqchainError as error:
        return Diagnosis(_NATIVE, name, "broken", str(error), disables, installation.REINSTALL)
    return Diagnosis(_NATIVE, name, "present", detail)


def library_detail(name: str) -> str:
    """Use an implementation, or load another library; return what it is. Runs in the child."""
    if name in parts()[_NATIVE]:
        module, function, *arguments = parts()[_NATIVE][name]["load"]
        try:
            loaded = getattr(import_module(module), function)(*arguments)
        except ModuleNotFoundError as error:
            raise Unsupported(str(missing(error))) from error
        if loaded is None:
            raise Unsupported(f"{name} is not installed")
        return str(parts()[_NATIVE][name]["detail"])
    # Loading is not enough: a library may load and still compute wrong results.
    library = native.library(name)
    names = library.names()
    candidates = ("ML-DSA-44", *algorithms.names("signature"))
    algorithm = next((candidate for candidate in candidates if candidate in names), names[0])
    signer = open_signer(algorithm, name)
    public_key, secret_key = signer.generate_keypair()
    if not signer.verify(b"doctor", signer.sign(b"doctor", secret_key), public_key):
        raise CryptoFailure(f"{algorithm} rejects its own signature")
    facts = library.build_facts()
    corrections = len(facts.get("corrections", []))
    corrected = f", {corrections} corrected defect{'s'[: corrections != 1]}" if corrections else ""
    return (
        f"{facts.get('source', 'source unknown')} {facts.get('source_version', '')}{corrected}, "
        f"{len(names)} algorithm{'s'[: len(names) != 1]}, "
        f"{facts.get('compiler', 'compiler unknown')}; {algorithm} signs and verifies"
    )


def _schemes() -> Diagnosis:
    """Report which schemes of the default build have known attacks, and when that was checked."""
    rows = [algorithms.get(name) for name in algorithms.names()]
    attacked = (
        f"{effect}: {', '.join(row.title for row in rows if row.attacked(effect))}"
        for effect in ("broken", "warning")
    )
    checked = min(family.checked for family in algorithms.FAMILIES.values())
    detail = f"checked on {checked}; {'; '.join(attacked)}; reasons: pqchain algorithms"
    return Diagnosis("Data", "schemes", "present", detail)
