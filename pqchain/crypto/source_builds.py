"""Builds of bundled sources in other languages, in the user's cache.

The package contains sources with lock files; a toolchain on the path compiles them at the user's
request, and fetches what the lock files pin. Nothing of a build is a dependency of pqchain.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pqchain.installation import cache_folder

BUILT = ".built"
"""Name of the marker file of a complete build."""

_PRODUCTS = frozenset({"target", "node_modules", "lib", "classes"})
"""Folders that a build in the source folder itself would leave."""


_REMEDIES = {"cargo": "Rust 1.95 (rustup)", "go": "Go 1.26", "cc": "a C compiler"}


@dataclass(frozen=True, slots=True)
class SourceBuild:
    """A source folder that its build.sh compiles, and the folder of its builds in the cache."""

    sources: Path
    """The folder with build.sh; its name is the build's name."""
    cache: str
    """Name of the folder in pqchain's cache."""
    tools: tuple[str, ...] = ()
    """Programs that the build needs."""

    @property
    def name(self) -> str:
        """The name of the source folder."""
        return self.sources.name

    @property
    def is_built(self) -> bool:
        """Whether there is a complete build of these sources."""
        return (self.folder() / BUILT).is_file()

    def missing_tools(self) -> str:
        """Return which tools are not on the path, with the remedy; "" if there are all."""
        missing = [tool for tool in self.tools if shutil.which(tool) is None]
        if not missing:
            return ""
        remedies = [f"install {_REMEDIES.get(tool, tool)}" for tool in missing]
        return f"no {' and no '.join(missing)} on the path; {' and '.join(remedies)}"

    def files(self) -> list[Path]:
        """Return the source files, sorted."""
        paths = (path for path in sorted(self.sources.rglob("*")) if path.is_file())
        return [p for p in paths if not _PRODUCTS & set(p.relative_to(self.sources.parent).parts)]

    def folder(self) -> Path:
        """Return the build directory in the user's cache, named by the sources' digest."""
        digest = hashlib.sha256()
        for path in self.files():
            # Changed sources get a new directory, so a stale build is never used.
            name = path.relative_to(self.sources.parent)
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
        return cache_folder() / self.cache / f"{self.name}-{digest.hexdigest()[:16]}"


def build(
    builds: Iterable[SourceBuild], *, limit_seconds: float = 3600.0
) -> dict[str, tuple[str, str]]:
    """Build in parallel; return a status and a reason for each name.

    The status is "built", "cached", "unsupported" (a tool is missing) or "failed", with the end of
    the build's output as reason. An interrupted build resumes in its directory.
    """
    results: dict[str, tuple[str, str]] = {}
    running: dict[SourceBuild, tuple[subprocess.Popen[str], IO[str]]] = {}
    with ExitStack() as stack:
        for source in builds:
            if source.is_built:
                results[source.name] = "cached", ""
            elif reason := source.missing_tools():
                results[source.name] = "unsupported", reason
            else:
                # The status if the timeout below expires; otherwise it is overwritten.
                late = f"not finished in {limit_seconds:g} s; run it again"
                results[source.name] = "failed", late
                running[source] = stack.enter_context(_script(source))
        for source, (process, output) in running.items():
            try:
                code = process.wait(timeout=limit_seconds)
            except subprocess.TimeoutExpired:
                continue
            if code == 0:
                (source.folder() / BUILT).touch()
                results[source.name] = "built", ""
            else:
                output.seek(0)
                last = " ".join(output.read().strip().splitlines()[-5:])
                results[source.name] = "failed", last or f"exit code {code}"
    return results


@contextmanager
def _script(source: SourceBuild) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Copy the sources to the build directory, run build.sh; kill its process group on exit."""
    target = source.folder()
    for path in source.files():
        copy = target / path.relative_to(source.sources)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    # A file, because the output is read only after the build; a full pipe would block it.
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            ["sh", "-e", "build.sh"], cwd=target, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            yield process, output
        finally:
            # The whole process group, because the shell has started compilers.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
