"""User code in child interpreters: calls with a timeout, and the signer based on them.

Code that crashes, exits, hangs or prints causes one CryptoFailure in the caller, at the first call
and at any later one. A call takes about 0.1 ms more than in this process; benchmarks therefore make
one `call` per round and measure the time in the child.
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
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from pqchain import algorithms, errors, installation
from pqchain.crypto.child import Child, exit_reason
from pqchain.crypto.interface import Columns, Signer
from pqchain.errors import CryptoFailure, PqchainError, UsageError

LIMIT_VARIABLE = "PQCHAIN_USER_CODE_SECONDS"
"""Environment variable with the timeout in seconds of loading user code and of its first use."""

_DEFAULT_LIMIT_SECONDS = 6.0
_RUN_LIMITS = 10
"""Timeout of a run of many operations, in timeouts of a first use."""

_MAX_ANSWER_BYTES = 64 << 20
_MAX_CHILDREN = 4
_MAX_TEXT = 300
"""Maximum number of characters quoted from an error message."""

_GRACE_SECONDS = 3.0
"""Seconds from the timeout in the child, which reports the line, to the kill by the parent."""

_STANDARD_LIBRARY = f"{Path(os.__file__).parent}{os.sep}"

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')

_TYPED = "UsageError Unsupported NativeLibraryMissing NativeLibraryBroken PqchainError DataError"
_ERRORS: dict[str, type[PqchainError]] = {name: getattr(errors, name) for name in _TYPED.split()}
"""Errors that the caller raises with their own type; all others become a CryptoFailure."""

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


def _first_user_frame(frames: Iterable[tuple[str, int | str]]) -> str:
    """Return "file:line: " of the first frame outside pqchain and the standard library."""
    for filename, line in frames:
        is_installed = filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename
        if not is_installed and not filename.startswith((f"{installation.HOME}{os.sep}", "<")):
            return f"{Path(filename).name}:{line}: "
    return ""


def user_limit_seconds() -> float:
    """Return the timeout in seconds of loading and first using user code. Raises UsageError."""
    text = os.environ.get(LIMIT_VARIABLE) or str(_DEFAULT_LIMIT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f"{LIMIT_VARIABLE} must be seconds above 0, up to 86400; got {text!r}.")
    return seconds


def run_limit_seconds() -> float:
    """Return the timeout in seconds of many operations in one call. Raises UsageError."""
    return _RUN_LIMITS * user_limit_seconds()


def call(
    function: str,
    *,
    locations: Sequence[str] = (),
    limit_seconds: float | None = None,
    keep: bool = False,
    **arguments: Any,
) -> Any:
    """Call a function in a child interpreter and return its result, which must be JSON.

    `function` is "module:name". The code at `locations` is registered there first
    (`pqchain.register`). With `keep` the child is reused for calls with the same locations. The
    default of `limit_seconds` is `user_limit_seconds()`. Bytes in arguments and results are passed
    as hexadecimal text; output of the function is dropped.

    Raises the PqchainError that the function raised; CallTimeout after `limit_seconds`;
    CryptoFailure, with file and line if known, for any other exception or the end of the process.
    """
    if limit_seconds is None:
        limit_seconds = user_limit_seconds()
    key = (os.getpid(), *locations)
    try:
        child = (_take(key) if keep else None) or _Interpreter(key)
        result = child.call(function, limit_seconds, arguments)
    except CryptoFailure as error:
        if not locations:
            raise
        # Name the file, unless the error does so already with the line.
        text, files = str(error), [Path(at.rpartition(":")[0] or at).name for at in locations]
        if not any(file in text for file in files):
            text = f"{', '.join(files)}: {text}"
        if isinstance(error, CallTimeout):
            text += f"; if it is only slow, set {LIMIT_VARIABLE} above {user_limit_seconds():g}"
        raise type(error)(text) from error
    if not keep:
        child.end()
        return result
    with _lock:
        _idle.append(child)
        # The least recently used children are ended.
        surplus = [_idle.pop(0) for _ in _idle[_MAX_CHILDREN:]]
    end_all(surplus)
    return result


def forget(location: str) -> None:
    """Discard what is known of the code at a location, because its file may have changed."""
    with _lock:
        stale = [child for child in _idle if location in child.key]
        _idle[:] = [child for child in _idle if child not in stale]
    end_all(stale)
    for key in [key for key in _first_uses if key[0] == location]:
        del _first_uses[key]


class _Interpreter(Child):
    """A child that runs `serve`."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        # Same module path as here; without PYTHONSAFEPATH, -m would put the current folder first.
        # An empty entry means the current folder too, whose files must not be imported.
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
        super().__init__([sys.executable, "-m", __name__], environment=environment)
        self.key = key
        for location in key[1:]:
            arguments = {"user_scheme": location}
            self.call("pqchain.schemes:register", user_limit_seconds(), arguments)

    def call(self, function: str, limit_seconds: float, arguments: dict[str, Any]) -> Any:
        # Only an answer with the token is accepted: user code that exits with code 0, or writes to
        # the pipe, must not pass for a result.
        token = secrets.token_hex(16)
        request = {"token": token, "function": function, "limit_seconds": limit_seconds}
        if hasattr(os, "sched_getaffinity"):
            request["processors"] = sorted(os.sched_getaffinity(0))
        start = monotonic()
        try:
            line = _line({**request, "arguments": arguments})
            answer = json.loads(
                self.ask(line, limit_seconds + _GRACE_SECONDS, max_bytes=_MAX_ANSWER_BYTES)
            )
            if answer["token"] != token:
                raise ValueError("another token")
            installation.add_loaded_libraries(answer["libraries"])
        except (OSError, EOFError) as error:
            timed_out = isinstance(error, TimeoutError) or monotonic() - start >= limit_seconds
            code = self.end(0.0 if timed_out else _GRACE_SECONDS)
            prefix = _first_user_frame(_FRAME.findall(self.stderr_tail))
            if timed_out:
                raise CallTimeout(f"{prefix}no result within {limit_seconds:g} s") from None
            raise CryptoFailure(f"{prefix}the process ended by {exit_reason(code)}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            self.end()
            raise CryptoFailure("the code wrote to the pipe that carries results") from None
        except BaseException:
            self.end()
            raise
        if "error" in answer:
            self.end()
            raise _ERRORS.get(answer["type"], CryptoFailure)(answer["error"])
        return answer["result"]


_lock = threading.Lock()
_idle: list[_Interpreter] = []
"""Idle children; their keys begin with the parent's id, as a fork must not use its parent's."""


def _take(key: tuple[Any, ...]) -> _Interpreter | None:
    with _lock:
        index = next((i for i, child in enumerate(_idle) if child.key == key), None)
        return None if index is None else _idle.pop(index)


def end_all(children: Iterable[_Interpreter]) -> None:
    """End the children that this process started."""
    for child in children:
        if child.key[0] == os.getpid():
            child.end()


atexit.register(end_all, _idle)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, default=bytes.hex).encode() + b"\n"


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
        for line in requests:
            request = json.loads(line)
            if "processors" in request:
                os.sched_setaffinity(0, request["processors"])
            faulthandler.dump_traceback_later(request["limit_seconds"], exit=True)
            try:
                module, _, name = request["function"].partition(":")
                answer = {"result": getattr(import_module(module), name)(**request["arguments"])}
                _line(answer)
            except PqchainError as error:
                answer = {"error": str(error), "type": type(error).__name__}
            except BaseException as error:  # noqa: BLE001 - user code may also raise SystemExit
                answer = {"error": describe(error), "type": ""}
            answer |= {"token": request["token"], "libraries": installation.loaded_libraries()}
            faulthandler.cancel_dump_traceback_later()
            answers.write(_line(answer))
            answers.flush()


_first_uses: dict[tuple[str, str], str] = {}
"""Error of the first use, or "", by (location of the code, algorithm)."""


class IsolatedSigner(Signer):
    """A signature scheme of the user, run in a child process."""

    # Opening includes the first use, which finds code that does not work before it is needed. If
    # that failed, every further opening raises the error at once.
    def _prepare(self) -> None:
        self._location = algorithms.implementation(self.implementation).location
        key = (self._location, self.algorithm.name)
        if key not in _first_uses:
            try:
                self._call("first_use")
                _first_uses[key] = ""
            except CryptoFailure as error:
                _first_uses[key] = str(error)
        if reason := _first_uses[key]:
            raise CryptoFailure(reason)

    def _call(self, function: str, limit_seconds: float | None = None, **arguments: Any) -> Any:
        return call(
            f"pqchain.crypto.user_code:{function}", locations=[self._location], keep=True,
            limit_seconds=limit_seconds, algorithm=self.algorithm.name,
            implementation=self.implementation, **arguments,
        )  # fmt: skip

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a fresh (public key, secret key)."""
        pair = self._call("perform", operation="generate_keypair", values=[])
        public_key, secret_key = map(bytes.fromhex, pair)
        return public_key, secret_key

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        values = [message, secret_key]
        return bytes.fromhex(self._call("perform", operation="sign", values=values))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        values = [message, signature, public_key]
        return bool(self._call("perform", operation="verify", values=values))

    def _verify_batch(self, columns: Columns, *, threads: int, stop_at_first: bool) -> list[int]:
        # One call for the whole batch, because each call has a fixed cost.
        wrong: list[int] = self._call(
            "perform", run_limit_seconds(), operation="verify_batch", values=columns,
            threads=threads, stop_at_first=stop_at_first,
        )  # fmt: skip
        return wrong


if __name__ == "__main__":
    # Run the imported module and not `__main__`: other modules read `isolation.is_child`.
    from pqchain.crypto import isolation

    isolation.serve()
