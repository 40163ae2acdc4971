"""Ends of child processes: nothing that a program started goes on."""

import sys
import time
from pathlib import Path

import pytest

from pqchain.crypto.child import Child

ESCAPES = """
import subprocess, sys
sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
print(subprocess.Popen(sleeps, start_new_session=True).pid, flush=True)
"""

NESTED = f"""
import sys
from pqchain.crypto.child import Child
child = Child([sys.executable, "-c", {ESCAPES + "input()"!r}])
print(child.ask(b"", 30.0).decode(), end="", flush=True)
"""


def is_running(process: int) -> bool:
    """Return whether the process exists and has not ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields.split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(
    ("script", "grace_seconds"),
    [(f"{ESCAPES}input()", 0.0), (ESCAPES, 10.0), (f"{NESTED}input()", 0.0)],
    ids=["while the program runs", "after it has ended", "started by another child"],
)
def test_a_process_in_a_session_of_its_own_is_ended(script, grace_seconds):
    child = Child([sys.executable, "-c", script])
    escaped = int(child.ask(b"", 30.0))
    assert is_running(escaped)
    code = child.end(grace_seconds)
    assert code == (0 if grace_seconds else None)
    deadline = time.monotonic() + 10.0
    while is_running(escaped) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(escaped)


@pytest.mark.parametrize("more", ["", "print(2)"])
def test_output_after_the_answer_is_noticed(more):
    script = f"import sys\nprint(1, flush=True)\nsys.stdin.read()\n{more}"
    child = Child([sys.executable, "-c", script])
    assert child.ask(b"", 30.0) == b"1\n"
    assert child.end(10.0) == 0
    assert child.wrote_more == bool(more)
