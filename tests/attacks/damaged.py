"""Attacks on an installation whose libraries are damaged: every command ends with a reason.

An interrupted copy or a full disk leaves such files. Loading a truncated library ends a process by
a signal, and a library that is skipped without a word gives numbers of other code.
"""

import random
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from pqchain import algorithms, installation
from pqchain.results import machine
from tests.attacks.harness import Attack, Defect, Input, Inputs, Outcome, Try


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "90 %": lambda data: data[: len(data) * 9 // 10],
    "empty": lambda data: b"",
    "text": lambda data: b"no library".ljust(len(data)),
    "flipped bit": _flipped,
    "other processor": lambda data: data[:18] + b"\xf3\0" + data[20:],  # RISC-V
}
"""Kinds of damage; the last three keep the size."""

_BENCH = "bench --algorithm {} --implementation {} --operation verify"
_OTHERS = {
    "block": "chain --algorithm Falcon-512 --transactions 40 --threads 1",
    "quic": "reencode --transport native --block-bytes 60000",
    "liboqs-0.13-avx2": "conform run --algorithm ML-DSA-44 --verifier 'pqchain liboqs-0.13/avx2'",
}
"""Further command that needs a library."""

_UNRELATED = ("algorithms", "papers pqdpol", "study pqdpol")


def commands(library: str) -> dict[str, bool]:
    """Return commands, and whether each must fail if that library is damaged."""
    found = {"doctor": True, "doctor --json": True, **dict.fromkeys(_UNRELATED, False)}
    for row in algorithms.IMPLEMENTATIONS.values():
        if row.library == library and not machine.missing_flags(row):
            name = next(
                name for name in algorithms.names("signature")
                if row.name in algorithms.get(name).implementations
            )  # fmt: skip
            found[_BENCH.format(name, row.name)] = True
            found[f"chain --algorithm {name} --implementation {row.name} --transactions 3"] = True
    return found | ({_OTHERS[library]: True} if library in _OTHERS else {})


def install(folder: Path) -> Path:
    """Make an environment with this installation and copies of its libraries; return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for path in sys.path:
        if path.endswith("-packages"):
            for entry in Path(path).iterdir():
                if "pqchain" not in entry.name and not (packages / entry.name).exists():
                    (packages / entry.name).symlink_to(entry)
    package = packages / "pqchain"
    package.mkdir()
    for part in installation.folders():
        for entry in part.iterdir():
            if entry.name == "_native":
                shutil.copytree(entry, package / entry.name)
            else:
                (package / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def attempt(python: Path, library: str, fault: str, command: str, must_fail: bool) -> Outcome:
    """Run a command with one damaged library, and restore the library."""
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    (path,) = (packages / "pqchain" / "_native" / library / "lib").glob("*.so")
    whole = path.read_bytes()
    path.write_bytes(FAULTS[fault](whole))
    try:
        with TemporaryDirectory(dir=python.parents[1]) as folder:
            run = subprocess.run(
                [python, "-m", "pqchain", *shlex.split(command)],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
    finally:
        path.write_bytes(whole)
    output = run.stdout + run.stderr
    if run.returncode < 0:
        raise Defect(Outcome.CRASH, f"signal {-run.returncode}")
    if "Traceback" in output:
        raise Defect(Outcome.TRACEBACK, output[-500:])
    if run.returncode not in (0, 1, 2) or (must_fail and run.returncode == 0):
        raise Defect(Outcome.WRONG, f"exit code {run.returncode}: {output[-500:]}")
    if run.returncode and "make -B install" not in output:
        raise Defect(Outcome.WRONG, f"no remedy: {output[-500:]}")
    return Outcome.REFUSED if run.returncode else Outcome.FINE


def _prepare(folder: Path) -> tuple[Inputs, Try]:
    python = install(folder / "installed")
    cases = [
        (library, fault, command, must_fail)
        for library in sorted(installation.installed_libraries())
        for fault in FAULTS
        for command, must_fail in commands(library).items()
    ]

    def make(rng: random.Random, count: int) -> Iterator[Input]:
        # First one that would measure other code, and one that would end by a signal.
        first = [("block", "text", _OTHERS["block"], True), ("quic", "half", "doctor", True)]
        others = [case for case in cases if case not in first]
        for case in (first + rng.sample(others, len(others)))[:count]:
            yield Input(", ".join(case[:3]), case)

    return make, lambda case: attempt(python, *case)


ATTACKS = [Attack("installation", "damaged libraries", 1, 300, _prepare, seconds=120)]
