"""Hostile command lines: each must end in time with a result or a reason.

The lines are data in the folder `command_lines`: a group is a list of lines, of values that are
inserted, and of environment variables. `$name` stands for one of a group's values or of LARGE,
`%ff` for a byte. Each line runs in a folder with the files of `files.toml` and of `fixtures`.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import unquote_to_bytes

from pqchain.installation import read_toml
from tests.attacks.commands import can_mount
from tests.attacks.harness import ALLOWED, Attack, Defect, Input, Inputs, Outcome, Try

ROOT = Path(__file__).resolve().parents[2]
LINES = Path(__file__).with_suffix("")

SECONDS = 20
"""Time limit of a command in seconds on an idle machine."""

MEMORY_MB = 512
"""Memory limit of the largest process of a command, except for user code."""

CRITERIA = ("refused", "slow", "memory_mb")
"""Fields of a line that its group may set."""

LARGE = {
    "digits": "9" * 4000,
    "long": "x" * 5000,
    "deep": "a/" * 1500,
    "many": ",".join(map(str, range(20_000))),
}
"""Values that are too long for the data files."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One hostile command line."""

    text: str
    arguments: tuple[bytes, ...]
    environment: dict[str, str | None] = field(default_factory=dict)
    refused: bool = False
    """Whether exit code 0 would be wrong."""
    slow: bool = False
    """Whether it waits for code that hangs, or runs a measurement."""
    memory_mb: int = MEMORY_MB

    @property
    def description(self) -> str:
        text = self.text if len(self.text) < 200 else f"{self.text[:200]}..."
        changes = [f"{name}={value!r}"[:100] for name, value in self.environment.items()]
        return " ".join((*changes, f"pqchain {text}"))


def kinds() -> list[str]:
    """Return the kinds of lines, in the order of their files."""
    return sorted(path.stem for path in LINES.glob("*.toml") if path.stem != "files")


def read(kind: str) -> list[CommandLine]:
    """Return the command lines of a kind."""
    command_lines = []
    for group in read_toml(LINES / f"{kind}.toml")["group"]:
        values = group.get("values", {})
        for line in group["lines"]:
            used = [name for name in values if f"${name}" in line]
            for chosen in itertools.product(*(values[name] for name in used)):
                texts = dict(zip(used, chosen, strict=True))
                text = Template(line).safe_substitute(texts)
                parts = (Template(part).safe_substitute(LARGE) for part in shlex.split(text))
                encoded = tuple(map(unquote_to_bytes, parts))
                for environment in group.get("environments", [{}]):
                    variables = {name: value or None for name, value in environment.items()}
                    criteria = {key: group[key] for key in CRITERIA if key in group}
                    command_lines.append(CommandLine(text, encoded, variables, **criteria))
    return command_lines


def sample(per_kind: int) -> list[CommandLine]:
    """Return some lines of each kind, evenly spaced in its list, without slow ones."""
    chosen: list[CommandLine] = []
    for kind in kinds():
        fast = [line for line in read(kind) if not line.slow]
        chosen += fast[:: max(1, len(fast) // per_kind)][:per_kind]
    return chosen


def fixtures(folder: Path) -> None:
    """Write the files that the command lines refer to."""
    texts = read_toml(LINES / "files.toml")["files"]
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(unquote_to_bytes(text) if name.endswith(".bytes.py") else text.encode())
    machine = next((ROOT / "data" / "measurements").rglob("*.csv"))
    (folder / "empty").write_bytes(b"")
    (folder / "random.csv").write_bytes(random.Random(1).randbytes(5000))
    (folder / "digits.toml").write_text(texts["good.toml"] + f"\n[network]\nnodes = {'9' * 4000}\n")
    (folder / "deep.toml").write_text("a = " + "[" * 5000)
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "dangling").symlink_to("nowhere/at/all")
    (folder / "circle").symlink_to("circle")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "folder.csv").mkdir()
    (folder / "folder.toml").mkdir()
    for suffix in (".csv", ".json"):
        shutil.copy(machine.with_suffix(suffix), folder / f"machine{suffix}")
    build_libraries(folder / "lib")


def build_libraries(folder: Path) -> None:
    """Compile the hostile library once, and copy it to names that select its fault."""
    folder.mkdir()
    native = ROOT / "pqchain" / "native"
    sources = [LINES / "hostile.c", native / "common.c", native / "no_kem.c"]
    first = folder / "fine.so"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{native}", *sources, "-o", first, "-lpthread"]
    subprocess.run(list(map(str, command)), check=True)
    for name in read_toml(LINES / "files.toml")["libraries"]["faults"]:
        shutil.copy(first, folder / f"{name}.so")
    binary = first.read_bytes()
    (folder / "cut.so").write_bytes(binary[: len(binary) // 2])
    (folder / "cut-short.so").write_bytes(binary[:100])
    (folder / "head.so").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "text.so").write_text("no library")
    (folder / "empty.so").write_bytes(b"")
    (folder / "random.so").write_bytes(binary[:64] + random.Random(1).randbytes(5000))


_COMPILES = [
    "consensus",
    "--blocks",
    "1",
    "--exponents",
    "1,2",
    "--network",
    "paper-serial,mesh",
    "--workers",
    "1",
]
"""Command that fills the cache of numba, so that not every process compiles."""

_SANDBOX = r"""
set -e
root=$0
share() {  # a folder of the system, read-only
  mkdir -p "$root$1"
  mount --rbind "$1" "$root$1"
  mount --make-rslave "$root$1"
  mount -o remount,bind,ro "$root$1"
}
mount -t tmpfs -o size=512m,mode=755 none "$root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"; continue; fi
  [ -d "$entry" ] || continue
  mkdir "$root$entry"
  case $entry in
    /etc) cp -a /etc/. "$root/etc" ;;
    /proc) mount -t proc none "$root/proc" ;;
    /dev|/tmp|/sys|/mnt|/media) ;;
    *) share "$entry" ;;
  esac
done
for device in null zero full random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
chmod 1777 "$root/tmp"
[ -e "$root$1" ] || share "$1"  # a checkout below a folder that is empty here, such as /tmp
mkdir "$root/fixtures" "$root/readonly" "$root/small" "$root/home"  2>/dev/null || true
cp -a "$FIXTURES/." "$root/fixtures"
mount -t tmpfs -o size=4k none "$root/small"
mount -t tmpfs -o ro none "$root/readonly"
# Numba stores compiled code next to the modules, so that their folder must be writable.
mount -t tmpfs none "$root$1/pqchain"
cp -a "$1/pqchain/." "$root$1/pqchain"
cd "$root"
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$@"
"""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the process that runs command lines in a separate root folder; see `command_server`."""
    root, files = folder / "root", folder / "fixtures"
    root.mkdir()
    files.mkdir()
    fixtures(files)
    compiling = [sys.executable, "-m", "pqchain", *_COMPILES]
    subprocess.run(compiling, cwd=ROOT, capture_output=True, check=True)
    unshare = ["unshare", "-mpf" if os.geteuid() == 0 else "-rmpf", "--kill-child"]
    variables = {
        **os.environ,
        "FIXTURES": str(files),
        "PYTHONPATH": str(ROOT),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLCONFIGDIR": "/tmp",
        "TMPDIR": "/tmp",
        # Without adapters of other verifiers, whose warm-up would be most of the time of `gas`.
        "PQCHAIN_CACHE": "/tmp/cache",
    }
    server = [sys.executable, "-m", "tests.attacks.command_server"]
    return subprocess.Popen(
        [*unshare, "sh", "-c", _SANDBOX, str(root), str(ROOT), *server],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def verdict(line: CommandLine, result: dict[str, Any]) -> tuple[Outcome, str]:
    """Return the outcome of a line and its detail."""
    code, stderr, stdout = result["code"], result["stderr"], result["stdout"]
    if "Traceback (most recent call last)" in stderr + stdout:
        return Outcome.TRACEBACK, stderr[-300:]
    if result["timed_out"]:
        return (
            Outcome.SLOW,
            f"{result['seconds']} s, of the processor {result['processor_seconds']}",
        )
    if code < 0 or code > 128:
        return Outcome.CRASH, f"signal {abs(code) % 128}: {stderr[-300:]}"
    if result["changed"]:
        return Outcome.DAMAGE, f"changed {', '.join(result['changed'][:5])}"
    if result["left_running"]:
        return Outcome.ORPHAN, f"still running: {result['left_running'][:3]}"
    if code not in (0, 1, 2):
        return Outcome.WRONG, f"exit code {code}: {stderr[-300:]}"
    if "out of memory" in stderr and line.memory_mb == MEMORY_MB:
        return Outcome.MEMORY, stderr[-300:]
    if result["memory_mb"] > line.memory_mb:
        return Outcome.MEMORY, f"{result['memory_mb']} MB"
    if not stderr.strip() and not stdout.strip():
        return Outcome.WRONG, f"exit code {code} without output"
    if code == 0 and line.refused:
        return Outcome.WRONG, f"exit code 0 for invalid input: {(stdout + stderr)[-300:]}"
    if code == 0 and b"--json" in line.arguments and not _is_json(stdout):
        return Outcome.WRONG, f"not JSON: {stdout[:200]}"
    return (Outcome.REFUSED if code else Outcome.FINE), (stderr or stdout)[-200:]


def _is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def limit_seconds() -> float:
    """Return the time limit of a line, longer if other programs use the processors."""
    return SECONDS * min(3.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def ask(server: subprocess.Popen[str], line: CommandLine) -> dict[str, Any]:
    """Run a line on the server; return its result."""
    assert server.stdin is not None
    assert server.stdout is not None
    environment = {
        name.encode().hex(): value if value is None else unquote_to_bytes(value).hex()
        for name, value in line.environment.items()
    }
    arguments = [argument.hex() for argument in line.arguments]
    request = {"arguments": arguments, "environment": environment, "seconds": limit_seconds()}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise AssertionError(f"the server ended with {server.wait()}")
    result: dict[str, Any] = json.loads(answer)
    return result


def _attack(kind: str) -> Attack:
    def prepare(folder: Path) -> tuple[Inputs, Try]:
        if not can_mount(folder):
            return (lambda rng, count: iter(())), lambda line: Outcome.FINE
        server = start(folder)

        def make(rng: random.Random, count: int) -> Iterator[Input]:
            pool = read(kind)
            try:
                for line in pool if count >= len(pool) else rng.sample(pool, count):
                    yield Input(line.description, line)
            finally:
                server.communicate()  # end of input ends it

        def attempt(line: CommandLine) -> Outcome:
            outcome, detail = verdict(line, ask(server, line))
            if outcome not in ALLOWED:
                raise Defect(outcome, detail)
            return outcome

        return make, attempt

    return Attack(
        surface="command line",
        name=kind,
        small=0,  # test_command_lines.py
        large=len(read(kind)),
        seconds=5 * SECONDS,
        prepare=prepare,
    )


ATTACKS = [_attack(kind) for kind in kinds()]
