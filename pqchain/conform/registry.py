"""Which verifiers can be asked: what each needs, and how its adapter is built."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import installation, machine
from pqchain.algorithms import Implementation
from pqchain.conform import openssl
from pqchain.conform.protocol import Adapter
from pqchain.conform.vector import scheme
from pqchain.errors import UnknownName, Unsupported

SOURCES = installation.HOME / "conform" / "adapters"
"""A folder for each language; `python` is pqchain itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """One verifier that can be asked: a row of data/conform/adapters.toml, or a command line."""

    name: str
    folder: str
    command: tuple[str, ...]
    language: str = ""
    package: str = ""
    version: str = ""
    schemes: tuple[str, ...] = ("ml-dsa", "falcon")
    cpu_flags: tuple[str, ...] = ()
    public_defect: str = ""
    """What is publicly known to be wrong with it."""

    def offers(self, algorithm: str) -> bool:
        """Return whether it is to be asked; it may still answer "unsupported"."""
        return scheme(algorithm) in self.schemes

    def adapter(self, *, limit_seconds: float = 60.0) -> Adapter:
        """Return what answers; it must have been built. Raises Unsupported with the reason."""
        if self.folder == "":
            return Adapter(self.command, limit_seconds=limit_seconds)
        if reason := self.obstacle():
            raise Unsupported(f"{self.name} cannot be asked here: {reason}")
        command = [part.replace("{python}", sys.executable) for part in self.command]
        folder = None if self.folder == "python" else build_folder(self.folder)
        return Adapter(command, folder=folder, limit_seconds=limit_seconds)

    def obstacle(self) -> str:
        """Return why it cannot be asked here, or ""."""
        flags = Implementation(self.name, "", cpu_flags=self.cpu_flags)
        if missing := machine.missing_flags(flags):
            return f"this processor has no {', '.join(missing)}"
        if self.folder in ("", "python"):
            return ""
        if missing_tools := tools_missing(self.folder):
            return f"no {', '.join(missing_tools)} on the path"
        if not (build_folder(self.folder) / BUILT).is_file():
            return "not built; run `make conform` or `pqchain conform build`"
        program = build_folder(self.folder) / self.command[0]
        if "/" in self.command[0] and not program.is_file():
            return "this toolchain has not what it is built from"
        return ""


BUILT = ".built"
"""A file that is written when a build is whole."""


@cache
def _tables() -> dict[str, Any]:
    return installation.read_toml(installation.data("conform") / "adapters.toml")


@cache
def verifiers() -> dict[str, Verifier]:
    """Return all that are known, by name, in the order of the table."""
    found = {}
    for name, row in _tables().items():
        if name == "folders":
            continue
        fields: dict[str, Any] = _own(row)
        fields |= {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
        found[name] = Verifier(name=name, **fields)
    return found


def _own(row: dict[str, Any]) -> dict[str, str]:
    """Return the version of what runs in this interpreter."""
    if row["folder"] != "python":
        return {}
    if row["command"][-1] == "openssl":
        return {"version": openssl.version()}
    return {"version": installation.VERSION}


def chosen(names: Iterable[str] | None) -> list[Verifier]:
    """Return verifiers by name, all without a choice. Raises UnknownName."""
    known = verifiers()
    if names is None:
        return list(known.values())
    for name in (names := list(names)):
        if name not in known:
            raise UnknownName("verifier", name, known, see="`pqchain conform list`")
    return [known[name] for name in names]


def own(command: Iterable[str]) -> Verifier:
    """Return a verifier that the user gives as a command line."""
    given = tuple(command)
    return Verifier(name=Path(given[0]).name, folder="", command=given, language="given")


def folders() -> list[str]:
    """Return the folders that are built."""
    return [name for name in _tables()["folders"] if name != "python"]


def tools_missing(folder: str) -> list[str]:
    """Return the programs that a folder needs and that are not on the path."""
    return [tool for tool in _tables()["folders"][folder]["needs"] if shutil.which(tool) is None]


def lock_file(folder: str) -> Path:
    """Return the file that pins what a folder fetches."""
    return SOURCES / folder / str(_tables()["folders"][folder]["locks"])


@cache
def build_folder(folder: str) -> Path:
    """Return where a folder is built: in the user's cache, under a digest of its sources."""
    digest = hashlib.sha256()
    for path in _sources(folder):
        digest.update(f"{path.relative_to(SOURCES)}\0".encode() + path.read_bytes() + b"\0")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "pqchain" / "conform" / f"{folder}-{digest.hexdigest()[:16]}"


def _sources(folder: str) -> list[Path]:
    """Return the files of a folder; what a build may have left there is not among them."""
    found = (path for path in sorted((SOURCES / folder).rglob("*")) if path.is_file())
    left = {"target", "node_modules", "lib", "classes"}
    return [path for path in found if not left & set(path.relative_to(SOURCES).parts)]


def build(folder: str, *, limit_seconds: float = 3600.0) -> str:
    """Fetch and build a folder unless it is there; return "built" or "cached".

    Takes from seconds (go, java, javascript) to minutes (rust); one that was ended goes on. Raises
    Unsupported if a tool is missing or the build fails, with the end of what it said.
    """
    if missing := tools_missing(folder):
        raise Unsupported(f"{folder}: no {', '.join(missing)} on the path; install it first")
    target = build_folder(folder)
    if (target / BUILT).is_file():
        return "cached"
    for path in _sources(folder):
        copy = target / path.relative_to(SOURCES / folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    # In a session of its own, so that what the script started ends with it.
    process = subprocess.Popen(
        ["sh", "-e", "build.sh"], cwd=target, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=limit_seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise Unsupported(
            f"{folder} was not built in {limit_seconds:g} s; run it again, and it goes on"
        ) from error
    if process.returncode != 0:
        last = " ".join(said.strip().splitlines()[-5:])
        raise Unsupported(f"{folder} cannot be built: {last or process.returncode}")
    (target / BUILT).touch()
    return "built"
