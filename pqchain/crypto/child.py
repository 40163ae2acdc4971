"""Child processes that answer lines with lines, with limits of time and output.

All that a program started ends with it, unless it leaves the process group (setsid).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

MAX_LINE_BYTES = 1 << 20
"""Default maximum length of an answer to `Child.ask`."""

_STDERR_TAIL_BYTES = 16 << 10

_MAX_NUMBER = 1 << 53
"""Bound of the numbers in answers: sums of them fit into 64 bits, and floats are exact."""


class Child:
    """A program in its own session with line-based requests and answers over pipes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, cwd=folder, env=environment, start_new_session=True,
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
