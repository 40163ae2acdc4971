"""Attacks on the source tree of liboqs: the build rejects a changed one before it compiles."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try

NATIVE = Path(__file__).resolve().parents[2] / "pqchain" / "native"
RELEASE = "liboqs-0.13.0"

FILES_OF_A_KIND = 12
"""Files of each suffix in the tree that is attacked; all 5,000 would take 2 s for each input."""

_FETCH = f"""
set(PQCHAIN_NATIVE_DIR "$ENV{{NATIVE}}")
include("${{PQCHAIN_NATIVE_DIR}}/cmake/cache.cmake")
include("${{PQCHAIN_NATIVE_DIR}}/cmake/sources.cmake")
pqchain_fetch({RELEASE} "$ENV{{INTO}}" origin)
"""

_DIGEST = f"""
include("$ENV{{NATIVE}}/cmake/sources.cmake")
include("$ENV{{NATIVE}}/sources/{RELEASE}/release.cmake")
pqchain_digest("$ENV{{PQCHAIN_LIBOQS_SOURCE}}" found ENTRIES ${{entries}})
message("${{found}}")
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a source tree."""

    kind: str
    file: str
    at: int = 0
    """Bit of the file that is flipped."""
    other: str = ""
    """Name of a file that is added or made of this one, or that it is exchanged with."""

    def make(self, tree: Path) -> None:
        """Change the tree."""
        path, other = tree / self.file, tree / self.other
        data = path.read_bytes()
        if self.kind == "bit":
            damaged = bytearray(data)
            damaged[self.at // 8] ^= 1 << self.at % 8
            path.write_bytes(damaged)
        elif self.kind == "line":
            path.write_bytes(data + b"\n#define OQS_randombytes(p, n) memset((p), 0, (n))\n")
        elif self.kind == "removed":
            path.unlink()
        elif self.kind == "emptied":
            path.write_bytes(b"")
        elif self.kind == "renamed":
            path.rename(other)
        elif self.kind == "added":
            other.write_bytes(b"x")
        else:
            path.write_bytes(other.read_bytes())
            other.write_bytes(data)

    def undo(self, tree: Path, original: Path) -> None:
        """Restore the tree from a copy."""
        for name in filter(None, (self.file, self.other)):
            (tree / name).unlink(missing_ok=True)
            if (original / name).exists():
                shutil.copy(original / name, tree / name)


def cached_tree() -> Path | None:
    """Return the source tree of the installation if it is still cached."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("PQCHAIN_CACHE") or Path(home) / "pqchain")
    return next(iter(sorted((cache / "sources").glob(f"{RELEASE}-*/src/oqs.h"))), None)


def files_of(tree: Path) -> list[str]:
    """Return some of the files that a build reads, with oqs.h and its neighbours."""
    tops = [tree / "src", tree / ".CMake"]
    names = [str(path.relative_to(tree)) for top in tops for path in top.rglob("*")]
    names = [name for name in names if (tree / name).is_file()]

    def kind(name: str) -> str:
        return Path(name).suffix or Path(name).name

    rng = random.Random(1)
    chosen = {str(path.relative_to(tree)) for path in (*tree.glob("*.txt"), *tree.glob("tests/*"))}
    for _, group in groupby(sorted(names, key=lambda name: (kind(name), name)), key=kind):
        of_kind = list(group)
        chosen |= set(rng.sample(of_kind, min(FILES_OF_A_KIND, len(of_kind))))
    return sorted(chosen | {name for name in names if Path(name).parent == Path("src")})


def _cmake(script: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["cmake", "-P", str(script)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def _prepare(folder: Path) -> tuple[Inputs, Try]:
    """Build from a part of a real tree, pinned by its digest."""
    header = cached_tree()
    if header is None or shutil.which("cmake") is None:
        return (lambda rng, count: iter(())), lambda change: Outcome.FINE
    names, original, tree = files_of(header.parents[1]), folder / "original", folder / "tree"
    for name in names:
        (original / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(header.parents[1] / name, original / name)
    shutil.copytree(original, tree)
    native, fetch, digest = folder / "native", folder / "fetch.cmake", folder / "digest.cmake"
    for part in ("cmake", f"sources/{RELEASE}"):
        shutil.copytree(NATIVE / part, native / part)
    fetch.write_text(_FETCH)
    digest.write_text(_DIGEST)
    variables = {
        "NATIVE": str(native),
        "INTO": str(folder / "into"),
        "PQCHAIN_CACHE": str(folder / "cache"),
        "PQCHAIN_LIBOQS_SOURCE": str(tree),
    }
    pin = _cmake(digest, **variables).stderr.strip()
    with (native / "sources" / RELEASE / "release.cmake").open("a") as file:
        file.write(f"set(digest {pin})\n")
    accepted = _cmake(fetch, **variables)
    if accepted.returncode:
        raise AssertionError(f"the unchanged tree is rejected: {accepted.stderr}")

    def attempt(change: Change) -> Outcome:
        change.make(tree)
        result = _cmake(fetch, **variables)
        change.undo(tree, original)
        if result.returncode == 0:
            return Outcome.WRONG
        if "is not the pinned one" in result.stderr or "holds no liboqs" in result.stderr:
            return Outcome.REFUSED
        raise AssertionError(result.stderr[-1000:])

    return (lambda rng, count: _changes(original, names, rng, count)), attempt


def _changes(tree: Path, names: list[str], rng: random.Random, count: int) -> Iterator[Input]:
    inside = [name for name in names if name == "CMakeLists.txt" or "/" in name]
    for number in range(count):
        file, other = rng.choice(inside), ""
        kind = ("bit", "line", "removed", "emptied", "renamed", "added", "exchanged")[number % 7]
        size = (tree / file).stat().st_size
        if kind in ("bit", "emptied") and size == 0:
            kind = "line"
        if kind in ("renamed", "added"):
            # Only these files of `tests` and of the top folder are copied; others have no effect.
            folder = Path(file).parent if file.startswith(("src/", ".CMake/")) else Path("src")
            suffix = rng.choice((".c", ".h", ".S", ".in", ".cmake", ".inc", ".txt", ".py", ""))
            other = str(folder / f"{rng.randrange(2**32):08x}{suffix}")
        if kind == "exchanged":
            data = (tree / file).read_bytes()
            other = rng.choice([name for name in inside if (tree / name).read_bytes() != data])
        change = Change(kind, file, rng.randrange(8 * size) if size else 0, other)
        yield Input(f"{kind} {file} {change.at if kind == 'bit' else other}", change)


ATTACKS = [
    Attack(
        surface="source tree of liboqs",
        name="bits, lines, files",
        small=21,
        large=2000,
        prepare=_prepare,
    )
]
