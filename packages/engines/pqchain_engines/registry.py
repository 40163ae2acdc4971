"""Registry of engines, with their requirements and builds."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import installation, source_builds
from pqchain.errors import UnknownName, Unsupported
from pqchain.source_builds import BUILT, SourceBuild

SOURCES = Path(__file__).parent / "adapters"

_REMEDIES = {
    "cargo": "install Rust 1.95 (rustup)",
    "go": "install Go 1.26",
    "cc": "install a C compiler",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine: a row of data/engines.toml."""

    name: str
    title: str
    package: str
    """Name in the language's registry."""
    version: str
    language: str
    tools: tuple[str, ...]
    """Programs that the build needs."""
    locks: str
    """Name of the lock file."""
    program: str
    modes: tuple[str, ...] = ()
    """Modes as in `consensus`: virtual, loopback or netns; empty for an EVM."""
    algorithms: tuple[str, ...] = ()
    """Signature schemes of the validators."""
    max_nodes: int = 0
    options: tuple[str, ...] = ()
    """Intervals of a setup that the engine has."""
    programs: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Programs of schemes that need a build of their own."""

    @property
    def source(self) -> SourceBuild:
        """The sources and the build directory."""
        return SourceBuild(SOURCES / self.name, "engines")

    def missing_tools(self) -> list[str]:
        """Return the build tools that are not on the path."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def unavailable_reason(self) -> str:
        """Return why the engine cannot run here, with the remedy; "" if it can."""
        # A build remains usable without its toolchain.
        if (self.source.folder() / BUILT).is_file():
            return ""
        if missing := self.missing_tools():
            remedies = [_REMEDIES[tool] for tool in missing]
            return f"no {' and no '.join(missing)} on the path; {' and '.join(remedies)}"
        return f"not built; run `pqchain engine build {self.name}`"

    def executable(self, algorithm: str = "") -> Path:
        """Return the path of a scheme's program. Raises Unsupported with the reason and remedy."""
        if reason := self.unavailable_reason():
            raise Unsupported(f"the engine {self.name} is unavailable here: {reason}")
        return self.source.folder() / self.programs.get(algorithm, self.program)


@cache
def engines() -> dict[str, Engine]:
    """Return all engines by name."""
    table = installation.read_toml(Path(__file__).parent / "data" / "engines.toml")
    return {name: _engine(name, row) for name, row in table.items()}


def _engine(name: str, row: Mapping[str, Any]) -> Engine:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Engine(name=name, **fields)


def get(name: str) -> Engine:
    """Return an engine; letter case is ignored. Raises UnknownName."""
    if (engine := engines().get(name.casefold())) is None:
        raise UnknownName("engine", name, engines(), see="`pqchain engine list`.")
    return engine


def build(
    names: Iterable[str] | None = None, *, limit_seconds: float = 7200.0
) -> dict[str, tuple[str, str]]:
    """Build engines, all for None; return a status and a reason for each.

    The status is "built", "cached", "unsupported" (a tool is missing) or "failed". The first build
    of simplex takes 20 minutes of processor time. An interrupted build resumes.
    """
    chosen = [get(name) for name in (engines() if names is None else names)]
    results = {}
    # One after the other: a compiler of Rust needs 2 GB, and each uses all processors.
    for engine in chosen:
        if engine.missing_tools() and not (engine.source.folder() / BUILT).is_file():
            results[engine.name] = "unsupported", engine.unavailable_reason()
        else:
            results |= source_builds.build([engine.source], limit_seconds=limit_seconds)
    return results
