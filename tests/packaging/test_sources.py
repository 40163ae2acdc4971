"""Fetched sources: a tree that differs from the pinned one is rejected.

Each of the three fetch methods is tested with a small tree and substitutes for cargo
and git, so that nothing is fetched.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "pqchain" / "native"

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")

TREE = (
    "CMakeLists.txt", "LICENSE.txt", ".CMake/compiler_opts.cmake", "src/oqs.h",
    "src/oqsconfig.h.cmake", "src/liboqs.pc.in", "src/sig/sign.c", "src/sig/tables.data",
)  # fmt: skip
"""One file of each kind that liboqs's build reads."""

RELEASE = """
set(library small)
set(crate_folder "small-1")
set(crate "crate small 1")
set(source_variable SMALL_SOURCE)
set(entries .CMake src CMakeLists.txt LICENSE.txt)
set(digest {digest})
set(corrected_digest {digest})
"""

CARGO = """#!/bin/sh
for last; do :; done
mkdir -p "$last/small-1" && cp -R "$TREE" "$last/small-1/liboqs"
"""

GIT = """#!/bin/sh
for last; do :; done
cp -R "$TREE" "$last"
"""


def run_cmake(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a CMake script with the functions of the build, for releases in `folder`."""
    (folder / "script.cmake").write_text(
        f'set(PQCHAIN_NATIVE_DIR "{folder}")\n'
        + "".join(
            f'include("{NATIVE}/cmake/{name}.cmake")\n'
            for name in ("cache", "sources", "corrections", "liboqs")
        )
        + script
    )
    environment = {**os.environ, "PQCHAIN_CACHE": str(folder / "cache"), **variables}
    command = ["cmake", "-P", "script.cmake"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def make_sources(folder: Path) -> Path:
    """Create a tree, a release that pins it, and programs that fetch it."""
    tree = folder / "tree"
    for name in TREE:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"/* {name} */\n")
    release = folder / "sources" / "liboqs-small"
    release.mkdir(parents=True)
    (release / "Cargo.toml").touch()
    entries = ".CMake src CMakeLists.txt LICENSE.txt"
    script = f'pqchain_digest("{tree}" digest ENTRIES {entries})\nmessage("${{digest}}")'
    digest = run_cmake(script, folder).stderr.strip()
    (release / "release.cmake").write_text(RELEASE.format(digest=digest))
    for name, text in (("cargo", CARGO), ("git", GIT)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return tree


def fetch(way: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tree = folder / "tree"
    if way == "cache":
        return run_cmake(f'pqchain_check_source(liboqs-small ON "{tree}")', folder)
    programs = {
        "cargo": f'set(PQCHAIN_CARGO "{folder}/cargo")\nset(PQCHAIN_GIT FALSE)\n',
        "git": f'set(PQCHAIN_CARGO FALSE)\nset(PQCHAIN_GIT "{folder}/git")\n',
        "folder": "",
    }
    script = programs[way] + 'pqchain_fetch(liboqs-small "${PQCHAIN_CACHE_DIR}/small" origin)\n'
    source = {"SMALL_SOURCE": str(tree)} if way == "folder" else {}
    return run_cmake(script, folder, TREE=str(tree), **source)


def append(path: Path) -> None:
    """Add a line to a file that may be linked elsewhere."""
    text = path.read_text() + "\n#define OQS_randombytes(p, n) memset((p), 0, (n))\n"
    path.unlink()
    path.write_text(text)


CHANGES: dict[str, Callable[[Path], object]] = {
    **{name: lambda tree, name=name: append(tree / name) for name in TREE},
    "a new file": lambda tree: (tree / "src" / "string.h").write_text(""),
    "a hidden file": lambda tree: (tree / "src" / ".hidden").write_text(""),
    "a file less": lambda tree: (tree / "src" / "liboqs.pc.in").unlink(),
    "a file with a semicolon": lambda tree: (tree / "src" / "a;b.c").write_text(""),
    "a linked folder": lambda tree: (tree / "src" / "sys").symlink_to(tree.parent / "sources"),
}


@pytest.mark.parametrize("way", ["folder", "cargo", "git", "cache"])
def test_only_the_pinned_tree_is_used(way: str, tmp_path: Path) -> None:
    tree = make_sources(tmp_path)
    (tree / "tests").mkdir()
    (tree / "tests" / "unpinned.c").touch()
    completed = fetch(way, tmp_path)
    assert completed.returncode == 0, completed.stderr
    taken = tmp_path / "cache" / "small"
    files = {path.relative_to(taken).as_posix() for path in taken.rglob("*") if path.is_file()}
    assert files == (set() if way == "cache" else set(TREE))


@pytest.mark.parametrize("way", ["folder", "cargo", "git", "cache"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_tree_is_rejected(way: str, change: str, tmp_path: Path) -> None:
    CHANGES[change](make_sources(tmp_path))
    completed = fetch(way, tmp_path)
    message = " ".join(completed.stderr.split())
    assert completed.returncode == 1
    assert "is not the pinned one" in message
    remedy = "Delete that folder; the next build fetches it again."
    assert way != "cache" or remedy in message
    assert not (tmp_path / "cache" / "small").exists()


@pytest.mark.parametrize("release", ["liboqs-0.13.0", "liboqs-0.7.1"])
def test_every_build_checks_its_source(release: str) -> None:
    """Before it configures, and each release pins the digest of both of its trees."""
    text = (NATIVE / "cmake" / "liboqs.cmake").read_text()
    build = text[text.index("function(pqchain_liboqs ") :]
    assert build.index("pqchain_check_source(") < build.index('-S "${source}"')
    pinned = (NATIVE / "sources" / release / "release.cmake").read_text()
    assert all(f"set({name} " in pinned for name in ("digest", "corrected_digest"))


@pytest.mark.parametrize(
    "release", ["liboqs-0.13.0", pytest.param("liboqs-0.7.1", marks=pytest.mark.long)]
)
def test_changed_liboqs_header_is_rejected(release: str, tmp_path: Path) -> None:
    """The cached tree, and the same with one changed line in a header template."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = Path(os.environ.get("PQCHAIN_CACHE") or f"{home}/pqchain")
    script = f'pqchain_check_source({release} ON "{tmp_path}/tree")'
    (tmp_path / "sources").symlink_to(NATIVE / "sources")
    for place in sorted(cache.glob(f"sources/{release}-*/ORIGIN")):
        # Hard links: the file edited below is copied first.
        shutil.rmtree(tmp_path / "tree", ignore_errors=True)
        shutil.copytree(place.parent, tmp_path / "tree", copy_function=os.link)
        if run_cmake(script, tmp_path).returncode == 0:
            break
    else:
        pytest.skip(f"no source of {release} in {cache}")
    append(tmp_path / "tree" / "src" / "oqsconfig.h.cmake")
    completed = run_cmake(script, tmp_path)
    assert completed.returncode == 1
    assert "is not the pinned one" in " ".join(completed.stderr.split())
