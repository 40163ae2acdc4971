"""Install and use the wheel without a compiler, for every available Python.

    python tests/packaging/clean_install.py dist/pqchain-....whl

Each supported version gets a new virtual environment outside the checkout, with the pinned
packages, wheels only, and with an empty PATH: no cargo, no cmake, no compiler. There,
`pqchain doctor` must find nothing broken and `pqchain reproduce --preset quick` must succeed. Where
there is a compiler here, the commands of `pqchain doctor --example` must build and check a scheme.
Interpreters are looked for in PQCHAIN_PYTHONS (files, separated by colons), on PATH, and where
pyenv and uv keep theirs. A version that is not found is named; it fails only with --all.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
"""The versions of Python that pqchain supports."""

TOOLS = ("cargo", "cmake", "cc", "gcc", "g++", "clang", "git", "make", "ninja")
"""What must not be in reach."""

LIMIT_SECONDS = 1800
"""How long any one step may take, on a machine that is busy with other things."""


def candidates(version: str) -> Iterator[Path]:
    """Yield candidate executables of that Python version."""
    for file in filter(None, os.environ.get("PQCHAIN_PYTHONS", "").split(os.pathsep)):
        yield Path(file)
    for folder in os.get_exec_path():
        yield Path(folder) / f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local/share/uv/python"))
    yield from sorted(uv.glob(f"cpython-{version}.*/bin/python{version}"))


def interpreter(version: str) -> Path | None:
    """Return a working Python of that version that can make environments, or None.

    An executable on PATH may be a wrapper; only the real interpreter works without PATH.
    """
    ask = "import sys, venv; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for file in candidates(version):
        if file.is_file():
            answer = subprocess.run([file, "-c", ask], capture_output=True, text=True, check=False)
            found, _, real = answer.stdout.strip().partition(" ")
            if found == version:
                return Path(real)
    return None


def run(command: list[str | Path], *, environment: dict[str, str], folder: Path) -> str:
    """Run one step and return its stdout; exit with its output if it fails."""
    options = {"env": environment, "cwd": folder, "timeout": LIMIT_SECONDS, "text": True}
    completed = subprocess.run(command, **options, capture_output=True, check=False)
    if completed.returncode:
        sys.stderr.write(f"{completed.stdout}\n{completed.stderr}\n")
        words = " ".join(str(word) for word in command)
        raise SystemExit(f"failed with {completed.returncode}: {words}")
    return completed.stdout


def use(wheel: Path, python: Path, folder: Path) -> str:
    """Install the wheel in a new environment in `folder`, run it, and return a summary."""
    nowhere, home, place = folder / "path", folder / "home", folder / "venv"
    nowhere.mkdir()
    home.mkdir()
    found = [tool for tool in TOOLS if shutil.which(tool, path=str(nowhere))]
    if found:
        raise SystemExit(f"the PATH for the test has {', '.join(found)}; expected none")
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    installing = os.environ | {"PATH": str(nowhere)}
    pins = ["--only-binary", ":all:", "--constraint", ROOT / "constraints.txt"]
    for step in (
        ["venv", "--quiet", "--python", python, place],
        ["pip", "install", "--quiet", "--python", place / "bin/python", *pins, wheel],
    ):
        run([uv, *step], environment=installing, folder=folder)
    bare = {"PATH": str(nowhere), "HOME": str(home), "LANG": "C.UTF-8"}
    command = place / "bin" / "pqchain"
    report = json.loads(run([command, "doctor", "--json"], environment=bare, folder=folder))
    refused = subprocess.run(
        [command, "conform", "list"], env=bare, cwd=folder, capture_output=True, text=True
    )
    if refused.returncode != 2 or 'pip install "pqchain[conform]"' not in refused.stderr:
        raise SystemExit(f"`pqchain conform` must name its package; got {refused}")
    # The QUIC library is in the wheel, and loads.
    quic = [command, "reencode", "--transport", "native", "--block-bytes", "70000", "--json"]
    ran = json.loads(run(quic, environment=bare, folder=folder))["runs"]
    if [row["status"] for row in ran] != ["ok"]:
        raise SystemExit(f"the native transport did not replay: {ran}")
    if shutil.which("cc"):
        compiling = bare | {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
        example = "pqchain doctor --example --json"
        steps = json.loads(run(["/bin/sh", "-c", example], environment=compiling, folder=folder))
        (folder / "mine.c").write_text(steps["example"])
        for script in (steps["command"], "pqchain doctor --library libmine.so"):
            run(["/bin/sh", "-c", script], environment=compiling, folder=folder)
    begin = time.monotonic()
    results = folder / "results"
    reproduce = [command, "reproduce", "--preset", "quick", "--output", results]
    run(reproduce, environment=bare, folder=folder)
    seconds, page = time.monotonic() - begin, (results / "index.html").stat().st_size
    present = sum(row["state"] == "present" for row in report["findings"] if "/" in row["name"])
    return (
        f"{present} implementations work, reproduced in {seconds:.0f} s, page of {page // 1000} kB"
    )


def main() -> None:
    """Try every supported version and print each result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--all", action="store_true", help="fail if a version is not found")
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve(strict=True)
    absent = []
    for version in VERSIONS:
        python = interpreter(version)
        if python is None:
            absent.append(version)
            sys.stdout.write(f"Python {version}: NOT TESTED, no interpreter was found\n")
            continue
        with tempfile.TemporaryDirectory(prefix="pqchain-clean-") as folder:
            sys.stdout.write(f"Python {version}: {use(wheel, python, Path(folder))}\n")
            sys.stdout.flush()
    if len(absent) == len(VERSIONS) or (absent and arguments.all):
        raise SystemExit("name missing interpreters in PQCHAIN_PYTHONS, or install them")


if __name__ == "__main__":
    main()
