"""Attacks on commands: closed outputs, signals, full and read-only disks, two at once.

A command must end without a traceback, with an exit code that states the outcome, and leave only
complete files, so that repeating it succeeds.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pqchain import results
from pqchain.chain import Ledger
from pqchain.errors import DataError, UsageError
from pqchain.results import checksum
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try

ROOT = Path(__file__).resolve().parents[2]


_SWEEP = "consensus --algorithm Falcon-512 --exponents 1,2 --seeds 0..5 --blocks 2"

COMMANDS: dict[str, str] = {
    "algorithms": "algorithms",
    "papers": "papers pqdpol",
    "doctor": "doctor --json",
    "study": "study pqdpol --output figures.csv",
    "bench": "bench --algorithm Ed25519 --output bench.csv",
    "chain": "chain --algorithm Ed25519 --transactions 20 --threads 1 --output blocks.csv",
    "consensus": f"{_SWEEP} --output heights.csv",
    "reencode": "reencode --block-bytes 60000 --output run.csv",
    "reencode live": "reencode --transport tcp-tls --block-bytes 60000 --output live.csv",
}
"""A short command of each kind that writes or computes something."""

LIMITED = ("prlimit", f"--data={1 << 30}")
"""Command prefix that limits the memory."""

_CODES = {0, 1, 2, 130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT}


@dataclass(frozen=True, slots=True)
class Case:
    """One command under one condition."""

    command: str
    condition: str
    seconds: float = 0.0
    """Time after which it gets the signal."""


def environment(**changes: str | None) -> dict[str, str]:
    """Return the environment variables with changes; None removes one."""
    # OpenBLAS starts a thread per processor, each of which takes memory.
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "2", **changes}
    return {name: value for name, value in variables.items() if value is not None}


def start(case: Case, folder: Path) -> subprocess.Popen[bytes]:
    command = [*LIMITED, sys.executable, "-m", "pqchain", *COMMANDS[case.command].split()]
    before: tuple[str, ...] = ()
    if case.condition == "full disk":
        before = mounted(folder, "size=4k")
    elif case.condition == "read-only folder":
        before = mounted(folder, "ro")
    variables: dict[str, str | None] = {"TMPDIR": str(_scratch(folder))}
    if case.condition == "no HOME":
        variables |= {"HOME": None, "XDG_CACHE_HOME": None}
    elif case.condition == "LANG=C":
        variables |= {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with Path("/dev/full").open("w") as full:
        stdout = full if case.condition == "full output" else subprocess.PIPE
        options = {"env": environment(**variables), "stdout": stdout, "stderr": subprocess.PIPE}
        return subprocess.Popen([*before, *command], cwd=folder, **options)


def _scratch(folder: Path) -> Path:
    """Return the folder for temporary files of commands that run in a folder."""
    return folder.with_name(f"{folder.name}.scratch")


def mounted(folder: Path, option: str) -> tuple[str, ...]:
    """Return a command prefix that mounts a small or read-only file system over the folder.

    The mount ends with the command; its files are copied out first.
    """
    script = (
        f'mount -t tmpfs -o {option} none "$0" && cd "$0" && "$@"; code=$?; '
        'mkdir -p "$0.out" && cp -a "$0"/. "$0.out"; exit $code'
    )
    return ("unshare", "-rm", "sh", "-c", script, str(folder))


def can_mount(folder: Path) -> bool:
    """Whether this system allows a mount in a new namespace."""
    target = folder / "mount"
    target.mkdir()
    process = subprocess.run(
        [*mounted(target, "size=4k"), "true"], capture_output=True, check=False
    )
    return process.returncode == 0


def outcome(case: Case, folder: Path) -> Outcome:
    """Run one case in a new folder, and check the files that are left."""
    for place in (folder, _scratch(folder)):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    processes = [start(case, folder) for _ in range(2 if case.condition == "two at once" else 1)]
    process = processes[0]
    if case.condition == "output closed":
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        process.stdout = None
    elif case.seconds:
        time.sleep(case.seconds)
        process.send_signal(getattr(signal, case.condition.split()[-1]))
    codes, output = [], b""
    for process in processes:
        output += b"".join(part or b"" for part in process.communicate())
        codes.append(process.returncode)
    if b"Traceback" in output and b", in main\n" not in output:
        return Outcome.UNFINISHED  # the program was still loading
    if b"Traceback" in output:
        raise AssertionError(output[-2000:].decode(errors="replace"))
    if not set(codes) <= _CODES:
        raise AssertionError(f"exit codes {codes}: {output[-500:].decode(errors='replace')}")
    if has_leftovers(folder):
        return Outcome.ORPHAN
    written = folder.with_name(f"{folder.name}.out")
    place = written if written.exists() else folder
    try:
        return check_files(place, complete=all(code == 0 for code in codes))
    finally:
        shutil.rmtree(written, ignore_errors=True)


def has_leftovers(folder: Path) -> bool:
    """Whether processes of a command outlive it."""
    for _ in range(100):
        if not any(_works_in(process, folder) for process in Path("/proc").glob("[0-9]*")):
            return False
        time.sleep(0.1)
    return True


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder
    except OSError:
        return False  # it has ended, or belongs to another user


def check_files(folder: Path, *, complete: bool) -> Outcome:
    """Judge the files that a command left."""
    unfinished = not complete
    for path in sorted(path for path in folder.rglob("*") if not path.is_dir()):
        if path.name.endswith(".tmp"):
            # A killed process leaves the file that it was writing.
            return Outcome.ORPHAN if complete else Outcome.UNFINISHED
        try:
            _check(path)
        except UsageError:
            return Outcome.HALF
        except DataError:
            if complete:
                return Outcome.HALF
            unfinished = True
    return Outcome.UNFINISHED if unfinished else Outcome.FINE


def _check(path: Path) -> None:
    """Raise DataError for files that the next run rewrites, UsageError for partial files."""
    if path.suffix == ".csv":
        results.load(path)
    elif path.suffix == ".json" and path.with_suffix(".csv").exists():
        results.load(path.with_suffix(".csv"))
    elif path.suffix == ".json":
        checksum.loads(path.read_bytes(), str(path), "x")
    elif path.suffix in (".pk", ".sk") and path.stat().st_size not in (897, 1281):
        raise UsageError(f"{path} is half a key")
    elif path.suffix == ".pqc":
        Ledger.open(path).close()


def _prepare(folder: Path, condition: str) -> tuple[Inputs, Try]:
    # Background processes of a script ignore SIGINT, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    possible = condition not in ("full disk", "read-only folder") or can_mount(folder)

    def make(rng: random.Random, count: int) -> Iterator[Input]:
        names = list(COMMANDS)
        offset = rng.randrange(len(names)) if count > 1 else 0
        for number in range(count if possible else 0):
            name = names[(number + offset) % len(names)]
            seconds = rng.random() * 4 if condition.startswith("ended by") else 0.0
            yield Input(f"{name}, {condition}, {seconds:.3f} s", Case(name, condition, seconds))

    return make, lambda case: outcome(case, folder / "run")


ATTACKS = [
    Attack("commands", condition, small, large, _prepare, (condition,), 300)
    for condition, small, large in (
        ("output closed", 1, 45), ("full output", 1, 45), ("full disk", 1, 45),
        ("read-only folder", 1, 45), ("no HOME", 0, 18), ("LANG=C", 0, 18), ("two at once", 1, 45),
        ("ended by SIGKILL", 1, 1000), ("ended by SIGTERM", 0, 300), ("ended by SIGINT", 0, 300),
    )
]  # fmt: skip
