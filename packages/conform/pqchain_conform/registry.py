"""Registry of verifiers, with their requirements and the builds of their adapters."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation
from pqchain.algorithms import Implementation
from pqchain.checks import LABEL, is_label
from pqchain.crypto import native, obstacle, source_builds
from pqchain.crypto.source_builds import BUILT, SourceBuild
from pqchain.errors import UnknownName, Unsupported, UsageError
from pqchain.results import machine
from pqchain_conform import implementations
from pqchain_conform.protocol import Adapter
from pqchain_conform.vector import DATA, scheme

SOURCES = Path(__file__).parent / "adapters"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierSpec:
    """Specification of a verifier: a row of data/adapters.toml, or a user's command line.

    `folder` is the language's source folder, "python" for pqchain itself, or "" for a command line.
    """

    name: str
    folder: str
    command: tuple[str, ...]
    language: str = ""
    package: str = ""
    version: str = ""
    schemes: tuple[str, ...] = ("ml-dsa", "falcon", "slh-dsa", "ml-kem")
    """Schemes with boundary vectors that it is asked for."""
    anchors: tuple[str, ...] = ()
    """Algorithms without vectors, which only `pqchain gas` times: "Ed25519", "ecrecover"."""
    cpu_flags: tuple[str, ...] = ()
    public_defect: str = ""

    def offers(self, algorithm: str) -> bool:
        """Return whether to send requests for an algorithm; verdicts may still be "unsupported"."""
        return algorithm in self.anchors or scheme(algorithm) in self.schemes

    @property
    def jit(self) -> bool:
        """Whether the language compiles while it runs; a user's program may."""
        return not self.folder or bool(_tables()["folders"][self.folder].get("jit"))

    def adapter(self, *, limit_seconds: float = 60.0) -> Adapter:
        """Return an adapter with this timeout. Raises Unsupported and NativeLibraryBroken."""
        if self.folder == "":
            return Adapter(self.command, limit_seconds=limit_seconds)
        if reason := self.unavailable_reason():
            raise Unsupported(f"{self.name} is unavailable here: {reason}")
        implementation = algorithms.IMPLEMENTATIONS.get(self.command[-1])
        if self.folder == "python" and implementation is not None and implementation.library:
            # As the adapter will: a damaged library is an error, not a verdict on every vector.
            native.library(implementation.name)
        # pqchain's own adapter must run in this interpreter, where its dependencies are.
        command = [part.replace("{python}", sys.executable) for part in self.command]
        folder = None if self.folder == "python" else build_folder(self.folder)
        return Adapter(command, folder=folder, limit_seconds=limit_seconds)

    def unavailable_reason(self) -> str:
        """Return why the verifier is unavailable here, or "" if it is available."""
        flags = Implementation(self.name, "", cpu_flags=self.cpu_flags)
        if missing := machine.missing_flags(flags):
            return f"this processor has no {', '.join(missing)}"
        if self.folder == "":
            return ""
        if self.folder == "python":
            if self.command[-1] != "openssl":
                return str(obstacle(self.command[-1]) or "")
            return (
                ""
                if implementations.openssl_verifier("ML-DSA-44")
                else "this OpenSSL has no ML-DSA"
            )
        if missing_tools := source(self.folder).missing_tools():
            return missing_tools
        if not (build_folder(self.folder) / BUILT).is_file():
            return "not built; run `pqchain conform build`"
        # Go's build script leaves out a program if the toolchain's standard library lacks ML-DSA.
        program = build_folder(self.folder) / self.command[0]
        if "/" in self.command[0] and not program.is_file():
            return "the standard library of this toolchain has no ML-DSA"
        return ""


@cache
def _tables() -> dict[str, Any]:
    return installation.read_toml(DATA / "adapters.toml")


@cache
def verifiers() -> dict[str, VerifierSpec]:
    """Return all registered verifiers by name, in the order of adapters.toml."""
    by_name = {}
    for name, row in _tables().items():
        if name == "folders":
            continue
        fields: dict[str, Any] = {"version": _version(row)}
        fields |= {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
        by_name[name] = VerifierSpec(name=name, **fields)
    return by_name


def _version(row: dict[str, Any]) -> str:
    if row["folder"] == "python":
        return (
            implementations.openssl_version()
            if row["command"][-1] == "openssl"
            else installation.VERSION
        )
    path = build_folder(row["folder"]) / f"{row['command'][0]}.version"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def select(names: Iterable[str] | None) -> list[VerifierSpec]:
    """Return the named verifiers, or all for None; letter case is ignored. Raises UnknownName."""
    known = verifiers()
    if names is None:
        return list(known.values())
    folded = {name.casefold(): row for name, row in known.items()}
    for name in (names := list(names)):
        if name.casefold() not in folded:
            raise UnknownName("verifier", name, known, see="`pqchain conform list`.")
    return [folded[name.casefold()] for name in names]


def from_command(command: Iterable[str], name: str = "") -> VerifierSpec:
    """Return a verifier that runs the user's command line, by default named after its program."""
    parts = tuple(command)
    # The script of an interpreter, and not the interpreter: `python mine.py` is named mine.
    scripts = [part for part in parts[1:] if Path(part).suffix and Path(part).is_file()]
    name = name or (Path(scripts[0]).stem if scripts else Path(parts[0]).name)
    if not is_label(name):
        raise UsageError(f"the name of a verifier must be {LABEL}; got {name!r}. Rename it")
    return VerifierSpec(name=name, folder="", command=parts, language="given")


def folders() -> list[str]:
    """Return the source folders that need a build."""
    return [name for name in _tables()["folders"] if name != "python"]


def lock_file(folder: str) -> Path:
    """Return the lock file that pins the dependencies of a folder."""
    return SOURCES / folder / str(_tables()["folders"][folder]["locks"])


def source(folder: str) -> SourceBuild:
    """Return the sources of a folder, with their build directory in the user's cache."""
    return SourceBuild(SOURCES / folder, "conform", tuple(_tables()["folders"][folder]["needs"]))


@cache
def build_folder(folder: str) -> Path:
    """Return the build directory of a folder, which is named by the sources' digest."""
    return source(folder).folder()


def build(names: Iterable[str], *, limit_seconds: float = 3600.0) -> dict[str, tuple[str, str]]:
    """Build the adapters of folders in parallel; return as `source_builds.build` does.

    Takes from seconds (go, java, javascript) to minutes (rust).
    """
    return source_builds.build(map(source, names), limit_seconds=limit_seconds)
