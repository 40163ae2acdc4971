"""Calls of untrusted code in child interpreters.

Code that crashes, exits, hangs or prints causes one error in the caller.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import re
import secrets
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from pqchain import errors, installation
from pqchain.crypto.child import Child, exit_reason
from pqchain.errors import CryptoFailure, PqchainError
from pqchain.installation import HOME

_MAX_ANSWER_BYTES = 64 << 20
_MAX_CHILDREN = 4
_MAX_TEXT = 300
"""Maximum number of characters quoted from an error message."""

_GRACE_SECONDS = 3.0
"""Seconds from the timeout in the child, which reports the line, to the kill by the parent."""

_STANDARD_LIBRARY = f"{Path(os.__file__).parent}{os.sep}"

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')

is_child = False
"""Whether this process is the child of a `call`, where user code runs directly."""


class CallTimeout(CryptoFailure):
    """The called function did not return before the timeout."""


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
            installation.add_loaded_libraries(answer["libraries"])
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
    for name in (
        *("UsageError", "Unsupported", "NativeLibraryMissing", "NativeLibraryBroken"),
        *("PqchainError", "DataError"),
    )
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
            answer["libraries"] = installation.loaded_libraries()
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
