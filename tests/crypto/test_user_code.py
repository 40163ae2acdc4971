"""User code that crashes, exits, hangs, prints or returns wrong values gives one error or row."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pqchain as pq
from pqchain import algorithms
from pqchain.crypto import isolation
from pqchain.errors import CryptoFailure, UsageError
from tests.crypto.builds import example_library

SCHEME = """
import ctypes, hashlib, os, sys, time

class NAME:
    name = "NAME"
    public_key_bytes = secret_key_bytes = 32
    signature_bytes = 64
    count = 0

    def generate_keypair(self):
        key = os.urandom(32)
        return key, key

    def sign(self, message, secret_key):
        return hashlib.sha512(secret_key + message).digest()

    def verify(self, message, signature, public_key):
        return signature == hashlib.sha512(public_key + message).digest()
"""

NOT_LOADED = {
    "syntax": ("def broken(:", 1, "SyntaxError"),
    "exits": ("import sys\nsys.exit(0)", 2, "SystemExit: 0"),
    "os_exits": ("import os\nos._exit(0)", None, "ended by exit code 0"),
    "crashes": ("import ctypes\nctypes.string_at(0)", 2, "ended by SIGSEGV"),
    "loops": ("while True:\n    pass", None, "no result within 3 s"),
    "text": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        3,
        "cannot be imported: text.py:3: E",
    ),
}
"""Files that cannot be loaded: text, line that is to be named, and what is said of it."""

ARGUMENTS = {
    "..:X": "cannot be imported: TypeError",
    "X:": "must be file.py:Class or module:Class",
    "nowhere\udcff.py:X": "does not exist",
    "/dev/zero.py:X": "does not exist",
    "json:dumps": "is not a signature scheme: it lacks generate_keypair()",
}

FAILS = {
    "init": ("class", "def __init__(self): raise RuntimeError('init')", "RuntimeError: init"),
    "raises": ("def sign", "raise ValueError('no key')", "ValueError: no key"),
    "length": ("def sign", "return b'short'", "must return 64 to 64 bytes; got 5"),
    "key_type": ("def generate_keypair", "return 5", "of 32 and 32 bytes; got int"),
    "verdict": ("def verify", "return None", "True or False; got a value of type NoneType"),
    "accepts": ("def verify", "return True", "False for a signature with one bit flipped"),
    "rejects": ("def verify", "return False", "must return True for a valid signature"),
    "os_exits": ("def sign", "os._exit(0)", "the process ended by exit code 0"),
    "crashes": ("def sign", "ctypes.string_at(0)", "the process ended by SIGSEGV"),
    "loops": ("def verify", "while True: pass", "no result within 3 s"),
    "pipes": ("def sign", "os.closerange(3, 100)", "the process ended by exit code"),
    "crashes_late": (
        "def sign",
        "type(self).count += 1; self.count > 20 and ctypes.string_at(0)",
        "the process ended by SIGSEGV",
    ),
}
"""Classes that fail in use: a line of SCHEME, what comes after it, and what is said of it."""

QUICK = ("syntax", "exits", "crashes", "raises", "length", "accepts")
"""Kinds in `make test`; `make test-long` has all."""


def command(*words: str, seconds=100.0, user_code="20"):
    """Run pqchain in a new process, which must end in time and without a traceback."""
    completed = subprocess.run(
        [sys.executable, "-m", "pqchain", *words], capture_output=True, text=True, check=False,
        timeout=seconds, env=os.environ | {isolation.LIMIT_VARIABLE: user_code},
    )  # fmt: skip
    assert "Traceback" not in completed.stderr, completed.stderr
    assert completed.returncode >= 0
    return completed


def write(folder: Path, name: str, after: str = "", inserted: str = "") -> str:
    """Write SCHEME to a file with an inserted line; return its path."""
    lines = []
    for line in SCHEME.replace("NAME", name).splitlines():
        lines.append(line)
        if after and line.strip().startswith(after):
            indent = "    " if after.startswith("class") else "        "
            lines.append(indent + inserted)
    (folder / f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder / name}.py:{name}"


@pytest.fixture(autouse=True)
def temporary_registrations() -> Iterator[None]:
    with algorithms.temporary_registrations():
        yield


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.long) for kind in NOT_LOADED],
)
def test_unloadable_code_is_a_usage_error(kind: str, tmp_path: Path) -> None:
    text, line, message = NOT_LOADED[kind]
    (tmp_path / f"{kind}.py").write_text(f"{text}\n", encoding="utf-8")
    limit = "3" if kind == "loops" else "20"
    completed = command("bench", "--json", "--scheme", f"{tmp_path / kind}.py:X", user_code=limit)
    assert completed.returncode == 2
    assert completed.stdout == ""
    [sentence] = completed.stderr.strip().splitlines()
    assert message in sentence
    assert (f"{kind}.py:{line}" if line is not None else f"{kind}.py:") in sentence


@pytest.mark.parametrize("place", ARGUMENTS)
def test_code_without_a_scheme_is_a_usage_error(place: str) -> None:
    completed = command("chain", "--json", "--scheme", place)
    assert (completed.returncode, completed.stdout) == (2, "")
    [sentence] = completed.stderr.strip().splitlines()
    assert ARGUMENTS[place] in sentence


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([kind for kind in FAILS if kind in QUICK], id="quick"),
        pytest.param(list(FAILS), id="all", marks=pytest.mark.long),
    ],
)
def test_failing_code_is_one_row_with_its_line_number(kinds: list[str], tmp_path: Path) -> None:
    places = [write(tmp_path, kind, *FAILS[kind][:2]) for kind in kinds]
    places.append(write(tmp_path, "prints", "def sign", "print('{' * 1000); os.system('echo x')"))
    words = [word for place in places for word in ("--scheme", place)]
    words += ["--algorithm", "Ed25519", "--operation", "sign", "--json"]
    completed = command("bench", *words, seconds=300.0, user_code="3")
    assert completed.returncode == 1
    rows = {row["algorithm"]: row for row in json.loads(completed.stdout)["measurements"]}
    assert {name for name, row in rows.items() if row["status"] == "ok"} == {"Ed25519", "prints"}
    for kind in kinds:
        after, _, message = FAILS[kind]
        reason = rows[kind]["reason"]
        assert message in reason, kind
        # Nothing is known of the line of os._exit, and closing the pipes ends code of pqchain.
        line = "" if kind in ("pipes", "os_exits") else ":"
        assert f"{kind}.py{line}" in reason, (kind, after)


@pytest.mark.long
def test_crashing_code_is_one_failed_block_row(tmp_path: Path) -> None:
    late = write(tmp_path, "late", *FAILS["crashes_late"][:2])
    words = ["--scheme", late, "--scheme", write(tmp_path, "fine"), "--algorithm", "Ed25519"]
    completed = command("chain", *words, "--transactions", "30", "--threads", "1", "--json")
    assert completed.returncode == 1
    rows = {row["algorithm"]: row for row in json.loads(completed.stdout)["blocks"]}
    assert [rows[name]["status"] for name in ("Ed25519", "fine", "late")] == ["ok", "ok", "failed"]
    assert "late.py:15: the process ended by SIGSEGV" in rows["late"]["reason"]


@pytest.mark.long
def test_late_failure_is_a_failed_gas_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = "type(self).count += 1; self.count > 200 and ctypes.string_at(0)"
    late = write(tmp_path, "late", "def verify", after)
    words = ["--scheme", late, "--scheme", write(tmp_path, "fine"), "--algorithm", "Ed25519"]
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))  # without other verifiers to time
    completed = command("gas", *words, "--rounds", "3", "--json")
    rows = {row["algorithm"]: row for row in json.loads(completed.stdout)["gas"]}
    assert completed.returncode == 1
    assert [rows[name]["status"] for name in ("Ed25519", "fine", "late")] == ["ok", "ok", "failed"]
    assert "late.py:18" in rows["late"]["reason"]


def test_child_process_signs_and_verifies_batches(tmp_path: Path) -> None:
    pq.register(write(tmp_path, "Remote"))
    assert "pqchain_user_Remote" not in sys.modules
    signer = pq.open_signer("remote")
    pairs = [signer.generate_keypair() for _ in range(3)]
    signatures = [signer.sign(b"pay", secret) for _, secret in pairs]
    publics = [public for public, _ in pairs]
    assert signer.verify(b"pay", signatures[0], publics[0])
    assert not signer.verify(b"pax", signatures[0], publics[0])
    signatures[1] = bytes(64)
    assert signer.verify_batch([b"pay"] * 3, signatures, publics, threads=2) == [1]


def test_equal_class_names_in_two_files_stay_distinct(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    pq.register(write(tmp_path, "Same"))
    with pytest.raises(
        UsageError, match=r"user/Same already names the code at .*Same\.py:Same; rename"
    ):
        pq.register(write(tmp_path / "other", "Same"))
    with pytest.raises(UsageError, match="user/Same already names the code"):
        pq.register(write(tmp_path / "other", "SAME"))


def test_changed_file_is_reloaded(tmp_path: Path) -> None:
    pq.register(write(tmp_path, "Changing"))
    pq.open_signer("Changing")
    place = write(tmp_path, "Changing", "def sign", "raise ValueError")
    pq.register(place)
    with pytest.raises(CryptoFailure, match=r"Changing\.py:15: ValueError"):
        pq.open_signer("Changing")
    write(tmp_path, "Changing")
    pq.register(place)
    assert len(pq.open_signer("Changing").sign(b"", bytes(32))) == 64


def test_system_exit_in_user_code_is_a_failure() -> None:
    namespace: dict[str, type] = {}
    exec(SCHEME.replace("NAME", "Here"), namespace)
    exits = type("Exits", (namespace["Here"],), {"sign": lambda *_: sys.exit(0)})
    pq.register(exits)
    with pytest.raises(
        CryptoFailure, match=r"Here\.sign\(\) raised test_user_code\.py:\d+: SystemExit"
    ):
        pq.open_signer("Here").sign(b"", bytes(32))


@pytest.mark.long
def test_calls_leave_no_process(tmp_path: Path) -> None:
    marker = tmp_path / "late"
    started = f"subprocess.Popen(['sh', '-c', 'sleep 1; touch {marker}'])"
    place = write(tmp_path, "starts", "def sign", f"import subprocess; {started}; 1 / 0")
    pq.register(place)
    with pytest.raises(CryptoFailure, match="ZeroDivisionError"):
        pq.open_signer("starts")
    subprocess.run(["sleep", "2"], check=True)
    assert not marker.exists()


def test_result_that_is_not_json_is_a_failure() -> None:
    with pytest.raises(CryptoFailure, match="TypeError"):
        isolation.call("builtins:complex", limit_seconds=20.0)
    with pytest.raises(isolation.CallTimeout, match="no result within 1 s"):
        isolation.call("signal:pause", limit_seconds=1.0)


def test_empty_module_path_entry_is_not_passed_on(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("def answer():\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *filter(None, sys.path)])
    with pytest.raises(CryptoFailure, match="No module named 'planted'"):
        isolation.call("planted:answer", limit_seconds=20.0)


C_STARTS = "static void mix("
C_SIGNS = "mix(signature, secret_key, message, message_bytes);"
C_MISTAKES = {
    "source_bytes": ('return "an example"', r'return "\xff\xfe"', 0, ""),
    "name_bytes": ('"Example-300" : NULL', r'"Ex\xff" : NULL', 0, ""),
    "count": (
        "{ return 1; }",
        "{ return (size_t)1 << 60; }",
        2,
        "must be at most 10000; got 1152921504606846976",
    ),
    "loads_hang": (
        C_STARTS,
        f"__attribute__((constructor)) void s(void) {{ for (;;); }} {C_STARTS}",
        1,
        "cannot be loaded: no result within 3 s",
    ),
    "signs_exit": (C_SIGNS, "exit(0);", 1, "the process ended by exit code 0"),
    "signs_crash": (C_SIGNS, "*(volatile int *)0 = 1;", 1, "the process ended by SIGSEGV"),
    "exits_late": (
        C_SIGNS,
        f"static int n; if (++n > 3) exit(0); {C_SIGNS}",
        1,
        "the process ended by exit code 0",
    ),
    "overruns": (
        "*signature_bytes = SIGNATURE;",
        "*signature_bytes = SIGNATURE; signature[SIGNATURE] = 1;",
        1,
        "wrote past a buffer of 300 bytes",
    ),
}
"""The example in C with a text replaced; exit code of `native --check`, and what it says."""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind == "name_bytes" else pytest.mark.long)
        for kind in C_MISTAKES
    ],
)
def test_library_is_checked_in_a_child_process(kind: str, tmp_path: Path) -> None:
    old, new, code, message = C_MISTAKES[kind]
    path = example_library(tmp_path, (old, new), name=kind)
    limit = "3" if "hang" in kind else "20"
    checked = command("doctor", "--library", str(path), user_code=limit)
    assert checked.returncode == code
    assert message in checked.stdout + checked.stderr
    if kind not in ("count", "signs_exit", "signs_crash", "overruns"):
        return
    words = ["--scheme", str(path), "--algorithm", "Ed25519", "--operation", "sign", "--json"]
    completed = command("bench", *words, user_code=limit)
    if "cannot be loaded" in message or kind == "count":
        assert (completed.returncode, completed.stdout) == (2, "")
        return
    rows = {row["algorithm"]: row for row in json.loads(completed.stdout)["measurements"]}
    assert completed.returncode == 1
    assert (rows["Ed25519"]["status"], rows["Example-300"]["status"]) == ("ok", "failed")
    reason = rows["Example-300"]["reason"]
    assert reason.endswith(f"; test it: pqchain doctor --library lib{kind}.so")


def test_truncated_library_is_rejected(tmp_path: Path) -> None:
    original = example_library(tmp_path).read_bytes()
    path = tmp_path / "libhalf.so"
    path.write_bytes(original[: len(original) // 2])
    for words, code in ((["doctor", "--library"], 1), (["bench", "--scheme"], 2)):
        completed = command(*words, str(path))
        assert completed.returncode == code
        assert "libhalf.so cannot be loaded: " in completed.stderr


def test_functions_that_are_named_by_text_exist() -> None:
    """Children import them by "module:name", which no linter follows."""
    texts = (path.read_text(encoding="utf-8") for path in Path(pq.__file__).parent.rglob("*.py"))
    names = {name for text in texts for name in re.findall(r'"(pqchain[\w.]*:\w+)"', text)}
    assert "pqchain.schemes:register" in names
    for name in names:
        assert callable(pkgutil.resolve_name(name))
