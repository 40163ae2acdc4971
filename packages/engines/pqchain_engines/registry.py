"""Registry of engines, with their requirements and builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.crypto import source_builds
from pqchain.crypto.source_builds import SourceBuild
from pqchain.errors import UnknownName, Unsupported

SOURCES = Path(__file__).parent / "adapters"


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
        return SourceBuild(SOURCES / self.name, "engines", self.tools)

    def unavailable_reason(self) -> str:
        """Return why the engine cannot run here, with the remedy; "" if it can."""
        # A build remains usable without its toolchain.
        if self.source.is_built:
            return ""
        build = f"not built; run `pqchain engine build {self.name}`"
        return self.source.missing_tools() or build

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
    """Build engines, all for None; return as `source_builds.build` does.

    The first build of simplex takes 20 minutes of processor time.
    """
    chosen = [get(name) for name in (engines() if names is None else names)]
    results: dict[str, tuple[str, str]] = {}
    # One after the other: a compiler of Rust needs 2 GB, and each uses all processors.
    for engine in chosen:
        results |= source_builds.build([engine.source], limit_seconds=limit_seconds)
    return results
