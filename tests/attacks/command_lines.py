"""Hostile command lines: each must end in time with a result or a reason.

The lines are generated with a seed from the parameters of the commands: every parameter gets values
that are wrong, too large or strange for its type, alone and in pairs, and `--scheme` gets the
faulty files, classes and libraries of `command_lines`. Each line runs in a folder with `fixtures`.
"""

import ast
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote_to_bytes

from pqchain.commands import main
from pqchain.installation import read_toml
from tests.attacks.commands import can_mount, environment
from tests.attacks.harness import ALLOWED, Attack, Defect, Input, Inputs, Outcome, Try

ROOT = Path(__file__).resolve().parents[2]
LINES = Path(__file__).with_suffix("")

SECONDS = 20
"""Time limit of a command in seconds on an idle machine."""

MEMORY_MB, USER_CODE_MB = 512, 2000
"""Memory limit of the largest process of a command, without and with user code."""

QUICK: Mapping[str, str] = {
    "bench": "--algorithm Ed25519 --operation sign", "chain": "--algorithm Ed25519 --threads 1",
    "compare": "machine.csv machine.csv", "conform build": "--help", "engine build": "--help",
    "conform explain": "ML-DSA-44:17", "conform mutants": "--algorithm ML-DSA-44",
    "conform run": "--algorithm ML-DSA-44 --verifier model", "engine prices": "nothing",
    "conform vectors": "--algorithm Falcon-512 --output new", "engine run": "nothing",
    "consensus": "--exponents 1 --blocks 1", "doctor": "--example",
    "gas": "--rounds 2 --algorithm Ed25519",
    "plot": "speed machine.csv --output a.svg",
    "study": "pqdpol --draws 1",
    "reencode": "--block-bytes 60000",
    "reproduce": "--only nobody", "whatif": "bnb Falcon-512 --draws 1 --measurements machine.csv",
}  # fmt: skip
"""Arguments with which a command ends soon. A hostile value comes after them or replaces them."""

_LARGE = {"digits": "9" * 4000, "long": "x" * 5000, "many": ",".join(map(str, range(20_000)))}
"""Values that are shown by their name."""

_NUMBERS = ("-1", "nan", "inf", "1e300", "1e-300", "2.5", "x", "", "digits", "9223372036854775808")
_LISTS = ("5..1", "..", "1...3", "1,,2", "0..99999999999", "-1", "nan", "x", "", "digits", "many")
_NAMES = ("", ",", "nothing", "%ff", "%ED%A0%80", "long", "many", "../../etc", "-", "=", "a=1")
_FILES = (
    "/dev/null", "/dev/zero", "/dev/full", "fifo", "/", ".", "folder.csv", "circle", "dangling",
    "huge", "empty", "random.csv", "numbers.csv", "null.csv", "list.csv", "quoted.csv", "x.csv",
    "infinite.csv", "alone.csv", "deep.json", "vectors/groups.json", "plans/tables.toml", "message",
    "digits.toml", "plans/latin.bytes.py", "foreign", "/readonly/a.csv", "/small/a.csv", "%ff.csv",
    "nowhere/a.svg", "message/a.csv", "/proc/self/mem", "/etc", "long", "",
)  # fmt: skip
_ENVIRONMENTS: tuple[dict[str, str | None], ...] = (
    {"HOME": None}, {"HOME": "%ff"}, {"COLUMNS": "-5"}, {"COLUMNS": "99999999999"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"},
    {"PQCHAIN_PRESET": "garbage"}, {"TMPDIR": "/nowhere"}, {"MPLCONFIGDIR": "/dev/null"},
    {"PATH": None}, {"PYTHONWARNINGS": "error"}, {"TERM": "%ff"}, {"OMP_NUM_THREADS": "-1"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One hostile command line."""

    words: tuple[str, ...]
    environment: dict[str, str | None] = field(default_factory=dict)
    refused: bool = False
    """Whether exit code 0 would be wrong."""
    memory_mb: int = MEMORY_MB

    @property
    def waits(self) -> bool:
        """Whether it runs code that hangs or allocates until its limit."""
        return any(
            part in word.lower() for word in self.words for part in ("hang", "loop", "alloc")
        )

    @property
    def arguments(self) -> tuple[bytes, ...]:
        """The arguments as bytes: a name of a large value stands for it, `%ff` for a byte."""
        return tuple(unquote_to_bytes(_LARGE.get(word, word)) for word in self.words)

    @property
    def description(self) -> str:
        changes = [f"{name}={value!r}" for name, value in self.environment.items()]
        return " ".join([*changes, "pqchain", *(word or "''" for word in self.words)])


def parameters() -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    """Yield command, option ("" if positional), hostile values, and whether all are wrong."""
    for name in main.targets():
        top = main.app()[name]
        leaves = {name: top} if top.default_command else {f"{name} {sub}": top[sub] for sub in top}
        for command, app in leaves.items():
            for row in app.assemble_argument_collection():
                option = "" if row.index is not None else row.name
                types = {*get_args(row.hint), row.hint}
                if "*" in row.name:
                    continue
                if row.get_choices():
                    yield command, option, ("nothing", "%ff", ""), True
                elif bool in types:
                    yield command, option, ("=maybe",), True
                elif {tuple[int, ...], tuple[float, ...]} & types:
                    yield command, option, _LISTS, False
                elif {int, float} & types:
                    yield command, option, _NUMBERS, False
                else:
                    yield command, option, (*_NAMES, *_FILES), False


def _lines(kind: str) -> Iterator[CommandLine]:
    """Yield all command lines of a kind that contain one hostile part."""
    if kind == "parameters":
        for command, option, values, refused in parameters():
            base = (*command.split(), *QUICK.get(command, "").split())
            for value in values:
                words = (f"{option}{value}",) if value == "=maybe" else (option, value)
                yield CommandLine(
                    (*base, *words) if option else (*command.split(), value),
                    refused=refused and "--help" not in base,
                )
    elif kind == "surroundings":
        commands = [(*command.split(), *base.split()) for command, base in QUICK.items()]
        for words, environment in itertools.product([*commands, ("doctor",)], _ENVIRONMENTS):
            yield CommandLine((*words, "--json"), environment)
    else:
        for place in schemes():
            bench = "bench --operation sign,verify --json"
            for command in (bench, "chain --transactions 20 --threads 1"):
                yield CommandLine((*command.split(), "--scheme", place), memory_mb=USER_CODE_MB)
            if place.endswith(".so"):
                yield CommandLine(("doctor", "--library", place), memory_mb=USER_CODE_MB)


def schemes() -> list[str]:
    """Return the definitions of faulty schemes: libraries, files, classes, numbers."""
    data = read_toml(LINES / "files.toml")
    classes = ast.parse(data["files"]["schemes/parts.py"]).body
    parts = [row.name for row in classes if isinstance(row, (ast.ClassDef, ast.FunctionDef))]
    texts = ("1", "0", "-1", "nan", "1e300", "1e-300", "x", "4000000000", "digits")
    return [
        *(f"lib/{name}.so" for name in data["libraries"]["faults"]),
        *(f"{name}:Mine" for name in data["files"] if name.startswith("schemes/")),
        *(f"schemes/parts.py:{name}" for name in parts),
        *(f"Mine,public_key={size},signature={size},sign={size}ms,verify=1ms" for size in texts),
        *("lib/cut.so", "lib/head.so", "lib/text.so", "lib/empty.so", "lib/random.so", ":", "::"),
        *("..:X", "schemes/fine.py:", "schemes/fine.py:%ff", "os:system"),
        *("Mine,=3", "", ",", "long"),
    ]


KINDS = ("parameters", "surroundings", "schemes")


def generate(kind: str, rng: random.Random, count: int) -> Iterator[CommandLine]:
    """Yield so many command lines of a kind: of different parameters, then pairs of them."""
    pool = list(_lines(kind))
    rng.shuffle(pool)
    yield from pool[:count]
    for _ in range(count - len(pool)):
        first = rng.choice(pool)
        same = [line for line in pool if line.words[:1] == first.words[:1]]
        words = (*first.words, *rng.choice(same).words[-2:])
        yield CommandLine(words, first.environment, memory_mb=first.memory_mb)


def fixtures(folder: Path) -> None:
    """Write the files that the command lines refer to."""
    texts = read_toml(LINES / "files.toml")["files"]
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(unquote_to_bytes(text) if name.endswith(".bytes.py") else text.encode())
    machine = next((ROOT / "data" / "measurements").rglob("measurements.csv"))
    (folder / "empty").write_bytes(b"")
    (folder / "random.csv").write_bytes(random.Random(1).randbytes(5000))
    (folder / "digits.toml").write_text(texts["good.toml"] + f"\n[network]\nnodes = {'9' * 4000}\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "dangling").symlink_to("nowhere/at/all")
    (folder / "circle").symlink_to("circle")
    (folder / "folder.csv").mkdir()
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


_COMPILES = "consensus --blocks 1 --exponents 1,2 --network paper-serial,mesh --workers 1"
"""Command that fills the cache of numba, so that not every process compiles."""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the process that runs command lines in a separate root folder; see `command_server`."""
    root, files = folder / "root", folder / "fixtures"
    root.mkdir()
    files.mkdir()
    fixtures(files)
    compiling = [sys.executable, "-m", "pqchain", *_COMPILES.split()]
    subprocess.run(compiling, cwd=ROOT, capture_output=True, check=True)
    unshare = ["unshare", "-mpf" if os.geteuid() == 0 else "-rmpf", "--kill-child"]
    # Without adapters of other verifiers, whose warm-up would be most of the time of `gas`.
    folders = {"TMPDIR": "/tmp", "MPLCONFIGDIR": "/tmp", "PQCHAIN_CACHE": "/tmp/cache"}
    python = {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    variables = environment(FIXTURES=str(files), **folders, **python)
    server = [sys.executable, "-m", "tests.attacks.command_server"]
    command = [
        *unshare,
        "sh",
        "-c",
        (LINES / "sandbox.sh").read_text(),
        str(root),
        str(ROOT),
        *server,
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe, text=True)


def verdict(line: CommandLine, result: dict[str, Any]) -> tuple[Outcome, str]:
    """Return the outcome of a line and its detail."""
    code, stderr, stdout = result["code"], result["stderr"], result["stdout"]
    if "Traceback (most recent call last)" in stderr + stdout:
        return Outcome.TRACEBACK, stderr[-300:]
    if result["timed_out"]:
        seconds, processor_seconds = result["seconds"], result["processor_seconds"]
        return Outcome.SLOW, f"{seconds} s, of the processor {processor_seconds}"
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
    is_data = "--json" in line.words and "--help" not in line.words
    if code == 0 and is_data and not _is_json(stdout):
        return Outcome.WRONG, f"not JSON: {stdout[:200]}"
    return (Outcome.REFUSED if code else Outcome.FINE), (stderr or stdout)[-200:]


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=int)  # a ValueError for NaN and Infinity
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


def _prepare(folder: Path, kind: str) -> tuple[Inputs, Try]:
    if not can_mount(folder):
        return (lambda rng, count: iter(())), lambda line: Outcome.FINE
    server = start(folder)

    def make(rng: random.Random, count: int) -> Iterator[Input]:
        try:
            for line in generate(kind, rng, count):
                yield Input(line.description, line)
        finally:
            server.communicate()  # end of input ends it

    def attempt(line: CommandLine) -> Outcome:
        outcome, detail = verdict(line, ask(server, line))
        if outcome not in ALLOWED:
            raise Defect(outcome, detail)
        return outcome

    return make, attempt


# `make test` runs a sample of all kinds: test_attacks.py.
ATTACKS = [Attack("command line", kind, 0, 1000, _prepare, (kind,), 5 * SECONDS) for kind in KINDS]
