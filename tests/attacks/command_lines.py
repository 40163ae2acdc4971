"""Hostile command lines: whatever is asked for, there is an answer or a reason, and soon.

The lines are data, in the folder `command_lines` beside this module: a group is a list of lines,
of values that are put in them, and of variables. `$name` stands for one of a group's values or of
WORDS, `%ff` for a byte. Each runs in a folder with the files of `files.toml` and of `fixtures`.
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
"""In which a command must answer on a quiet machine."""

MEMORY_MB = 512
"""The most that the largest process of a command may take, but for code that the user brings."""

JUDGED = ("refused", "slow", "memory_mb")
"""Fields of a line that its group may give."""

WORDS = {
    "digits": "9" * 4000,
    "long": "x" * 5000,
    "deep": "a/" * 1500,
    "many": ",".join(map(str, range(20_000))),
}
"""What is too long to be written out."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One hostile command line."""

    text: str
    words: tuple[bytes, ...]
    environment: dict[str, str | None] = field(default_factory=dict)
    refused: bool = False
    """Whether exit code 0 would be wrong."""
    slow: bool = False
    """Whether it waits for code that hangs, or measures."""
    memory_mb: int = MEMORY_MB

    @property
    def what(self) -> str:
        shown = self.text if len(self.text) < 200 else f"{self.text[:200]}..."
        changes = [f"{name}={value!r}"[:100] for name, value in self.environment.items()]
        return " ".join((*changes, f"pqchain {shown}"))


def kinds() -> list[str]:
    """Return the kinds of lines, in the order of their files."""
    return sorted(path.stem for path in LINES.glob("*.toml") if path.stem != "files")


def read(kind: str) -> list[CommandLine]:
    """Return the lines of a kind."""
    found = []
    for group in read_toml(LINES / f"{kind}.toml")["group"]:
        values = group.get("values", {})
        for line in group["lines"]:
            used = [name for name in values if f"${name}" in line]
            for chosen in itertools.product(*(values[name] for name in used)):
                texts = dict(zip(used, chosen, strict=True))
                text = Template(line).safe_substitute(texts)
                words = (Template(word).safe_substitute(WORDS) for word in shlex.split(text))
                encoded = tuple(map(unquote_to_bytes, words))
                for environment in group.get("environments", [{}]):
                    variables = {name: value or None for name, value in environment.items()}
                    about = {key: group[key] for key in JUDGED if key in group}
                    found.append(CommandLine(text, encoded, variables, **about))
    return found


def sample(each: int) -> list[CommandLine]:
    """Return some lines of each kind, evenly over its list, without those that take long."""
    chosen: list[CommandLine] = []
    for kind in kinds():
        lines = [line for line in read(kind) if not line.slow]
        chosen += lines[:: max(1, len(lines) // each)][:each]
    return chosen


def fixtures(folder: Path) -> None:
    """Write the files that the lines name."""
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
    """Compile the hostile library once, and copy it to the names that choose what it does."""
    folder.mkdir()
    native = ROOT / "pqchain" / "native"
    sources = [LINES / "hostile.c", native / "common.c", native / "no_kem.c"]
    first = folder / "fine.so"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{native}", *sources, "-o", first, "-lpthread"]
    subprocess.run([str(word) for word in command], check=True)
    for name in read_toml(LINES / "files.toml")["libraries"]["faults"]:
        shutil.copy(first, folder / f"{name}.so")
    whole = first.read_bytes()
    (folder / "cut.so").write_bytes(whole[: len(whole) // 2])
    (folder / "cut-short.so").write_bytes(whole[:100])
    (folder / "head.so").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "text.so").write_text("no library")
    (folder / "empty.so").write_bytes(b"")
    (folder / "random.so").write_bytes(whole[:64] + random.Random(1).randbytes(5000))


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
"""Has numba keep what it compiles, which otherwise each process would do for itself."""

_SANDBOX = r"""
set -e
root=$0
mount -t tmpfs -o size=512m,mode=755 none "$root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"; continue; fi
  [ -d "$entry" ] || continue
  mkdir "$root$entry"
  case $entry in
    /etc) cp -a /etc/. "$root/etc" ;;
    /proc) mount -t proc none "$root/proc" ;;
    /dev|/tmp|/sys|/mnt|/media) ;;
    *) mount --rbind "$entry" "$root$entry"
       mount --make-rslave "$root$entry"
       mount -o remount,bind,ro "$root$entry" ;;
  esac
done
for device in null zero full random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
chmod 1777 "$root/tmp"
mkdir "$root/fixtures" "$root/readonly" "$root/small" "$root/home"  2>/dev/null || true
cp -a "$FIXTURES/." "$root/fixtures"
mount -t tmpfs -o size=4k none "$root/small"
mount -t tmpfs -o ro none "$root/readonly"
# Numba keeps compiled code beside the modules, so that they have to be writable.
mount -t tmpfs none "$root$1/pqchain"
cp -a "$1/pqchain/." "$root$1/pqchain"
cd "$root"
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$@"
"""


def started(folder: Path) -> subprocess.Popen[str]:
    """Start the process that runs command lines, in its own root folder; see `command_server`."""
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
    """Judge what came of a line."""
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
        return Outcome.WRONG, f"exit code {code} without a word"
    if code == 0 and line.refused:
        return Outcome.WRONG, f"exit code 0 where it has to refuse: {(stdout + stderr)[-300:]}"
    if code == 0 and b"--json" in line.words and not _is_json(stdout):
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
    """Return the time of a line: longer where other programs use the processors too."""
    return SECONDS * min(3.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def ask(server: subprocess.Popen[str], line: CommandLine) -> dict[str, Any]:
    """Have a line run; return what came of it."""
    assert server.stdin is not None
    assert server.stdout is not None
    environment = {
        name.encode().hex(): value if value is None else unquote_to_bytes(value).hex()
        for name, value in line.environment.items()
    }
    words = [word.hex() for word in line.words]
    request = {"words": words, "environment": environment, "seconds": limit_seconds()}
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
        server = started(folder)

        def make(rng: random.Random, count: int) -> Iterator[Input]:
            lines = read(kind)
            try:
                for line in lines if count >= len(lines) else rng.sample(lines, count):
                    yield Input(line.what, line)
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
