"""Child processes for untrusted code, with limits of time and output, ended with their children.

`Child` runs any program that answers each line with a line. `call` runs a function in a child
interpreter, so that code that crashes, exits, hangs or prints causes one error in the caller.
A program that leaves the process group (setsid) is found by its environment on Linux; it is not
ended if it clears its environment as well, or on other systems.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NoReturn

from pqchain import errors
from pqchain.errors import CryptoFailure, PqchainError
from pqchain.installation import HOME

MAX_LINE_BYTES = 1 << 20
"""Default maximum length of an answer to `Child.ask`."""

_STDERR_TAIL_BYTES = 16 << 10
_MAX_ANSWER_BYTES = 64 << 20
_MAX_CHILDREN = 4
_MAX_TEXT = 300
"""Maximum number of characters quoted from an error message."""

_GRACE_SECONDS = 3.0
"""Seconds from the timeout in the child, which reports the line, to the kill by the parent."""

_STANDARD_LIBRARY = f"{Path(os.__file__).parent}{os.sep}"

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')

_MARK = "PQCHAIN_CHILD"
"""Environment variable by which processes are found that left the process group of a `Child`."""

_MAX_NUMBER = 1 << 53
"""Bound of the numbers in answers: sums of them fit into 64 bits, and floats are exact."""

is_child = False
"""Whether this process is the child of a `call`, where user code runs directly."""


class CallTimeout(CryptoFailure):
    """The called function did not return before the timeout."""


class Child:
    """A program in its own session with line-based requests and answers over pipes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._mark = secrets.token_hex(16)
        # The marks of the processes above stay, so that each of them finds this one.
        marks = f"{os.environ.get(_MARK, '')}{self._mark}"
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, cwd=folder, env={**(environment or os.environ), _MARK: marks},
            start_new_session=True,
        )  # fmt: skip
        self.wrote_more = False
        """Whether the program wrote to stdout after its last answer was read."""
        self._stdin, self._stdout, self._stderr = (
            stream for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream is not None
        )  # fmt: skip
        # Non-blocking: a program that neither reads nor writes must not outlast the timeout.
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._tail = bytearray()

    @property
    def stderr_tail(self) -> str:
        """The last 16 KiB that the program wrote to stderr."""
        return self._tail.decode(errors="replace")

    def ask(
        self, request: bytes, limit_seconds: float, *, max_bytes: int = MAX_LINE_BYTES
    ) -> bytes:
        """Write a request; return the answer line, cut off soon after `max_bytes` if it is longer.

        Raises TimeoutError after `limit_seconds`, and OSError or EOFError if the program ended.
        """
        deadline = monotonic() + limit_seconds
        line = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdin, selectors.EVENT_WRITE)
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stderr, selectors.EVENT_READ)
            while not line.endswith(b"\n") and len(line) <= max_bytes:
                remaining_seconds = deadline - monotonic()
                if remaining_seconds <= 0:
                    raise TimeoutError
                for key, _ in selector.select(remaining_seconds):
                    if key.fileobj is self._stdin:
                        request = request[os.write(key.fd, request) :]
                        if not request:
                            selector.unregister(self._stdin)
                    elif key.fileobj is self._stderr:
                        if not self._read_stderr():
                            selector.unregister(self._stderr)
                    elif data := os.read(key.fd, 1 << 16):
                        line += data
                    else:
                        raise EOFError
        return bytes(line)

    def _read_stderr(self) -> bool:
        """Read from stderr and keep the last bytes; return False at the end of the stream."""
        data = os.read(self._stderr.fileno(), 1 << 16)
        self._tail += data
        del self._tail[:-_STDERR_TAIL_BYTES]
        return bool(data)

    def end(self, grace_seconds: float = 0.0) -> int | None:
        """Wait up to `grace_seconds` for the end, then kill the program and all that it started.

        Returns the exit code, or None if the program had not ended by itself.
        """
        self._stdin.close()
        deadline = monotonic() + grace_seconds
        with selectors.DefaultSelector() as selector:
            # A program that is blocked by a full pipe could not end, so its output is read.
            for stream in (self._stdout, self._stderr):
                selector.register(stream, selectors.EVENT_READ)
            while monotonic() < deadline and self._process.poll() is None:
                for key, _ in selector.select(0.02):
                    if key.fileobj is self._stderr:
                        is_open = self._read_stderr()
                    else:
                        is_open = bool(os.read(key.fd, 1 << 16))
                        self.wrote_more |= is_open
                    if not is_open:
                        selector.unregister(key.fileobj)
        has_ended = self._process.poll() is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        _kill_marked(self._mark.encode(), self._process.pid)
        with suppress(BlockingIOError):
            self.wrote_more |= bool(os.read(self._stdout.fileno(), 1))
        with suppress(BlockingIOError):
            # Bounded: a process that left the session may write without end.
            for _ in range(64):
                if not self._read_stderr():
                    break
        self._stdout.close()
        self._stderr.close()
        return code if has_ended else None


def _kill_marked(mark: bytes, first: int) -> None:
    """Kill the processes with the mark in their environment; all started after process `first`."""
    # Several scans, because such a process may start another one during a scan.
    for _ in range(100):
        found = False
        for process in Path("/proc").glob("[0-9]*"):
            # It may have ended, or belong to another user.
            with suppress(OSError):
                environment = (process / "environ").read_bytes()
                if mark in environment:
                    os.kill(int(process.name), signal.SIGKILL)
                # Within execve a program has no environment yet; a kernel thread has no `exe`.
                waits = not environment and int(process.name) > first
                found |= mark in environment or (waits and bool((process / "exe").readlink()))
        if not found:
            return
        sleep(0.002)


def parse_answer(line: bytes, ident: int) -> dict[str, Any]:
    """Return the JSON object of an answer with this id, without numbers that are not finite.

    Raises ValueError, TypeError, RecursionError and MemoryError for any other line.
    """
    answer = json.loads(line, parse_constant=_number, parse_float=_number, parse_int=_number)
    if not isinstance(answer, dict):
        raise TypeError("not a JSON object")
    if type(answer.get("id")) is not int or answer["id"] != ident:
        raise ValueError(f"id {answer.get('id')!r:.40}; expected {ident}")
    return answer


def _number(text: str) -> float | int:
    value = int(text) if text.lstrip("-").isdigit() else float(text)
    if not abs(value) <= _MAX_NUMBER:  # NaN is not less than anything
        raise ValueError(f"{text[:40]}; expected a number of at most {_MAX_NUMBER}")
    return value


def exit_reason(code: int | None) -> str:
    """Return the signal or exit code of an ended process as text; None: it closed its output."""
    if code is None:
        return "a closed stdin or stdout"
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def describe(error: BaseException) -> str:
    """Return the file, line, type and message of a user code's exception as text.

    Frames of pqchain and of the standard library are skipped, so that the line is the user's. An
    exception whose `__str__` fails has no message.
    """
    try:
        text = " ".join(str(error).split())[:_MAX_TEXT]
    except BaseException:  # noqa: BLE001 - the __str__ of an exception of the user is user code
        text = ""
    if isinstance(error, SyntaxError) and error.filename:
        prefix = f"{Path(error.filename).name}:{error.lineno or 0}: "
        text = " ".join(str(error.msg).split())[:_MAX_TEXT]
    else:
        frames = traceback.extract_tb(error.__traceback__)
        prefix = _first_user_frame((frame.filename, frame.lineno or 0) for frame in frames[::-1])
    name = type(error).__name__
    return f"{prefix}{name}: {text}" if text else f"{prefix}{name}"


def _first_user_frame(frames: Any) -> str:
    """Return "file:line: " of the first frame outside pqchain and the standard library."""
    for filename, line in frames:
        is_installed = filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename
        if not is_installed and not filename.startswith((f"{HOME}{os.sep}", "<")):
            return f"{Path(filename).name}:{line}: "
    return ""


def call(
    function: str,
    *,
    limit_seconds: float,
    schemes: Sequence[str] = (),
    keep: bool = False,
    **arguments: Any,
) -> Any:
    """Call a function in a child interpreter and return its result, which must be JSON.

    `function` is "module:name". `schemes` are registered there first (`pqchain.register`). With
    `keep` the child is reused for calls with the same schemes. Output of the function is dropped.
    Raises the PqchainError that the function raised; CallTimeout after `limit_seconds`;
    CryptoFailure, with file and line if known, for any other exception or the end of the process.
    """
    key = (os.getpid(), *schemes)
    caller = _take(key) if keep else None
    if caller is None:
        caller = _Caller(schemes, limit_seconds)
    result = caller.call(function, limit_seconds, arguments)
    if not keep:
        caller.child.end()
        return result
    with _lock:
        _idle.append((key, caller))
        # The least recently used children are ended.
        surplus = _idle[:-_MAX_CHILDREN]
        del _idle[: len(surplus)]
    _end(surplus)
    return result


def forget(scheme: str) -> None:
    """End the idle children with that scheme, because its file may have changed."""
    with _lock:
        stale = [row for row in _idle if scheme in row[0]]
        _idle[:] = [row for row in _idle if row not in stale]
    _end(stale)


def _take(key: tuple[object, ...]) -> _Caller | None:
    with _lock:
        for index, (other, caller) in enumerate(_idle):
            if other == key:
                del _idle[index]
                return caller
    return None


_lock = threading.Lock()
_idle: list[tuple[tuple[object, ...], _Caller]] = []
"""Idle children by (id of the parent process, schemes); a fork must not use its parent's."""


def _end(rows: Sequence[tuple[tuple[object, ...], _Caller]]) -> None:
    for key, caller in rows:
        if key[0] == os.getpid():
            caller.child.end()


atexit.register(_end, _idle)


class _Caller:
    """The parent's end of a child that runs `serve`."""

    def __init__(self, schemes: Sequence[str], limit_seconds: float) -> None:
        # Same module path as here; without PYTHONSAFEPATH, -m would put the current folder first.
        # An empty entry means the current folder too, whose files must not be imported.
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
        self.child = Child(
            [sys.executable, "-m", "pqchain.crypto.isolation"], environment=environment
        )
        for scheme in schemes:
            self.call("pqchain.schemes:register", limit_seconds, {"user_scheme": scheme})

    def call(self, function: str, limit_seconds: float, arguments: dict[str, Any]) -> Any:
        # Only an answer with the token is accepted: user code that exits with code 0, or writes to
        # the pipe, must not pass for a result.
        token = secrets.token_hex(16)
        request = {"token": token, "function": function, "limit_seconds": limit_seconds}
        if hasattr(os, "sched_getaffinity"):
            request["processors"] = sorted(os.sched_getaffinity(0))
        line = json.dumps({**request, "arguments": arguments}).encode() + b"\n"
        start = monotonic()
        try:
            answer = json.loads(
                self.child.ask(line, limit_seconds + _GRACE_SECONDS, max_bytes=_MAX_ANSWER_BYTES)
            )
            if answer["token"] != token:
                raise ValueError("another token")
        except (OSError, EOFError) as error:
            timed_out = isinstance(error, TimeoutError) or monotonic() - start >= limit_seconds
            self._raise_ended(limit_seconds if timed_out else None)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.child.end()
            raise CryptoFailure("the code wrote to the pipe that carries results") from None
        except BaseException:
            self.child.end()
            raise
        if "error" in answer:
            self.child.end()
            raise _ERRORS.get(answer["type"], CryptoFailure)(answer["error"])
        return answer["result"]

    def _raise_ended(self, limit_seconds: float | None) -> NoReturn:
        code = self.child.end(0.0 if limit_seconds is not None else _GRACE_SECONDS)
        frames = _FRAME.findall(self.child.stderr_tail)
        prefix = _first_user_frame(frames)
        if limit_seconds is not None:
            raise CallTimeout(f"{prefix}no result within {limit_seconds:g} s")
        raise CryptoFailure(f"{prefix}the process ended by {exit_reason(code)}")


_ERRORS: dict[str, type[PqchainError]] = {
    name: getattr(errors, name)
    for name in ("UsageError", "Unsupported", "NativeLibraryMissing", "PqchainError", "DataError")
}
"""Errors that the caller raises with their own type; all others become a CryptoFailure."""


def serve() -> None:
    """Answer requests of `call` until stdin ends."""
    global is_child
    is_child = True
    # Programs that user code starts do not inherit these copies and cannot keep the pipes open.
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        # The pipes are moved away from descriptors 0 and 1: user code has an empty stdin, and its
        # output goes to stderr.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        faulthandler.enable()  # on a crash, the traceback on stderr has the line for the parent
        exit_at_once = os._exit

        # os._exit of user code leaves no exception; the traceback tells the parent the line.
        def traced_exit(status: int) -> NoReturn:
            faulthandler.dump_traceback()
            exit_at_once(status)

        os._exit = traced_exit
        for line in requests:
            request = json.loads(line)
            if "processors" in request:
                os.sched_setaffinity(0, request["processors"])
            faulthandler.dump_traceback_later(request["limit_seconds"], exit=True)
            answer = {"token": request["token"], **_perform(request)}
            faulthandler.cancel_dump_traceback_later()
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()


def _perform(request: dict[str, Any]) -> dict[str, Any]:
    try:
        module, _, name = request["function"].partition(":")
        result = getattr(import_module(module), name)(**request["arguments"])
        json.dumps(result)
    except PqchainError as error:
        return {"error": str(error), "type": type(error).__name__}
    except BaseException as error:  # noqa: BLE001 - user code may raise anything, also SystemExit
        return {"error": describe(error), "type": ""}
    return {"result": result}


if __name__ == "__main__":
    # Run the imported module and not `__main__`: other modules read `isolation.is_child`.
    from pqchain.crypto import isolation

    isolation.serve()
