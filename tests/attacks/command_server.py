"""Run hostile command lines sequentially, each in a process forked from this one.

Started by `command_lines.start` as process 1 of its own process and mount namespaces, in a root
folder in memory over read-only system folders. A command that fills `/` or `/etc` does no harm,
processes that it leaves are detected and ended, and pandas is imported once for all commands.
Reads a request in JSON from each line of stdin and writes a result in JSON.
"""

import gc
import json
import os
import resource
import runpy
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

FIXTURES, FOLDER = Path("/fixtures"), Path("/line")
"""Initial files of each line, and the copy in which it runs."""

WATCHED = (Path("/"), Path("/etc"), FOLDER)
"""Folders in which a command must not change files of others."""

LIMITS = {resource.RLIMIT_DATA: 1 << 30, resource.RLIMIT_FSIZE: 64 << 20, resource.RLIMIT_CORE: 0}

PRELOADED = (
    *("matplotlib.pyplot", "numpy", "pandas", "simpy", "pqchain.render.table"),
    *("pqchain.bench.gas", "pqchain.chain", "pqchain_conform.suite", "pqchain.plots.consensus"),
    *("pqchain.consensus.sweeps", "pqchain.reencode.replays", "pqchain.study", "pqchain.reproduce"),
)
"""Modules that most commands import; none of them starts a thread, so that forking is safe."""


def main() -> None:
    """Answer requests until stdin ends."""
    for name in PRELOADED:
        __import__(name)
    gc.freeze()  # so that collections of forked processes copy no pages
    for line in sys.stdin:
        request = json.loads(line)
        result = run(request)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one line in a fresh copy of the fixtures; return the result."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(FIXTURES, FOLDER, symlinks=True)
    os.mkfifo(FOLDER / "fifo")
    with (FOLDER / "huge").open("wb") as file:
        file.truncate(1 << 40)  # without a byte in memory
    before = snapshot()
    began = time.monotonic()
    process = os.fork()
    if process == 0:
        _become(request)
    status, usage, timed_out = _wait(process, request["seconds"])
    seconds = time.monotonic() - began
    left_running = _end_others(patience=1.0)
    after = snapshot()
    changed = sorted(
        path
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
        and (path in before or not path.startswith(f"{FOLDER}/"))
    )
    _restore(before, after)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "timed_out": timed_out,
        "seconds": round(seconds, 2),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "memory_mb": round(usage.ru_maxrss * 1024 / 1e6),
        "left_running": left_running,
        "changed": changed,
        "stdout": _text(Path("/stdout")),
        "stderr": _text(Path("/stderr")),
    }


def _become(request: dict[str, Any]) -> None:
    """Run the command in this process, or as a new program if its environment is hostile."""
    arguments = [bytes.fromhex(argument) for argument in request["arguments"]]
    changes = {bytes.fromhex(k): v and bytes.fromhex(v) for k, v in request["environment"].items()}
    environment = {**os.environb, **changes}
    environment = {name: value for name, value in environment.items() if value is not None}
    os.setsid()
    os.chdir(FOLDER)
    for number, path, flags in (
        (0, "/dev/null", os.O_RDONLY),
        (1, "/stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, "/stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(path, flags), number)
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    if changes:
        os.execve(sys.executable, [sys.executable, "-m", "pqchain", *arguments], environment)
    sys.argv = ["pqchain", *map(os.fsdecode, arguments)]
    runpy.run_module("pqchain", run_name="__main__", alter_sys=True)
    sys.exit(0)


def _wait(process: int, seconds: float) -> tuple[int, resource.struct_rusage, bool]:
    """Wait for a process and kill it at its time limit."""
    watch = os.pidfd_open(process)
    ended, _, _ = select.select([watch], [], [], seconds)
    if not ended:
        os.kill(process, signal.SIGKILL)
    os.close(watch)
    _, status, usage = os.wait4(process, 0)
    return status, usage, not ended


def _end_others(patience: float) -> list[str]:
    """Kill processes that a command left running and return their command lines."""
    until = time.monotonic() + patience
    while others := _others():
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    left = [_text(Path(f"/proc/{other}/cmdline")).replace("\0", " ") for other in others]
    if others:
        os.kill(-1, signal.SIGKILL)  # all processes of this namespace but the first
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        return left


def _others() -> list[str]:
    """Return the other running processes of this namespace."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    names = (path.name for path in Path("/proc").iterdir())
    return [name for name in names if name.isdecimal() and name != "1"]


def snapshot() -> dict[str, tuple[int, int, int]]:
    """Return mode, size and modification time of all watched files."""
    found = {}
    for top in WATCHED:
        entries = top.iterdir() if top == Path("/") else top.rglob("*")
        for path in entries:
            if path in (FOLDER, Path("/stdout"), Path("/stderr")):
                continue
            about = path.lstat()
            is_folder = path.is_dir() and not path.is_symlink()
            content = (0, 0) if is_folder else (about.st_size, about.st_mtime_ns)
            found[str(path)] = (about.st_mode, *content)
    return found


def _restore(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Remove files that a command added outside its folder."""
    for path in sorted(after.keys() - before.keys()):
        if not path.startswith(f"{FOLDER}/"):
            shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)


def _text(path: Path) -> str:
    """Return the text of a file; only both ends of a long one."""
    data = path.read_bytes() if path.exists() else b""
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) < 10_000_000 else f"{text[:10_000]}...{text[-10_000:]}"


if __name__ == "__main__":
    main()
