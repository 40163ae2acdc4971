"""How a verifier of any language is asked: a line of JSON to its stdin, one back from its stdout.

A request has id, algorithm, repeat, and in hexadecimal digits public_key, message, context and
signature.
The answer has the same id, a verdict, and nanoseconds: how long each of `repeat` runs took.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Any

from pqchain.conform.vector import Vector
from pqchain.errors import UsageError

VERDICTS = {
    "accept": "the signature is valid",
    "reject": "it is not",
    "refuse": "an error was raised instead of a verdict, as for a key of a wrong length",
    "unsupported": "the algorithm, or a context, is not offered",
    "panic": "the verifier failed and was caught",
}
"""What an adapter may answer."""

LONGEST_ANSWER_BYTES = 1 << 20
"""What is longer is no answer."""

FAILURES = ("panic", "crash", "timeout", "malformed")
"""What is no verdict; all but the first are what the asker saw."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request."""

    verdict: str
    """One of VERDICTS, or of FAILURES."""
    nanoseconds: tuple[int, ...] = ()
    reason: str = ""
    """Of a failure, what is known of it."""


class Adapter:
    """A verifier in a process of its own, started at the first question and again after a crash."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        limit_seconds: float = 60.0,
    ) -> None:
        self.command, self.folder = list(command), folder
        self.limit_seconds = limit_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._asked = 0

    def __enter__(self) -> Adapter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def ask(self, vector: Vector, *, repeat: int = 1) -> Answer:
        """Ask for one verdict. Raises UsageError if the command cannot be started."""
        self._asked += 1
        request = {
            "id": self._asked,
            "algorithm": vector.algorithm,
            "public_key": vector.public_key.hex(),
            "message": vector.message.hex(),
            "context": vector.context.hex(),
            "signature": vector.signature.hex(),
            "repeat": repeat,
        }
        process = self._process or self._start()
        try:
            line = self._exchange(process, json.dumps(request).encode() + b"\n")
        except TimeoutError:
            self.close(kill=True)
            return Answer("timeout", reason=f"no answer in {self.limit_seconds:g} s")
        except (OSError, EOFError):
            return Answer("crash", reason=self._last_words())
        answer = _read(line, self._asked)
        if answer.verdict == "malformed":
            self.close(kill=True)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                bufsize=0, cwd=self.folder,
            )  # fmt: skip
        except OSError as error:
            self._errors.close()
            raise UsageError(
                f"{self.command[0]} cannot be started: {error.strerror}; give a program that reads "
                "requests from stdin (pqchain conform run --help)"
            ) from error
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)  # it may never read
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        """Return the line that answers. Raises TimeoutError; OSError or EOFError if it died."""
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin.fileno(), process.stdout.fileno()
        end = monotonic() + self.limit_seconds
        line = b""
        while not line.endswith(b"\n") and len(line) <= LONGEST_ANSWER_BYTES:
            left_seconds = end - monotonic()
            if left_seconds <= 0:
                raise TimeoutError
            waiting = [into] if request else []
            readable, writable, _ = select.select([out], waiting, [], left_seconds)
            if writable:
                request = request[os.write(into, request) :]
            if readable:
                got = os.read(out, 1 << 16)
                if not got:
                    raise EOFError
                line += got
        return line

    def _last_words(self) -> str:
        """End a process that died and say how."""
        process, errors = self._process, self._errors
        assert process is not None
        assert errors is not None
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 300))
        said = errors.read().decode(errors="replace").strip().splitlines()
        self.close(kill=True)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}: {said[-1]}" if said else how

    def close(self, *, kill: bool = False) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            if kill:
                process.kill()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None


def _read(line: bytes, asked: int) -> Answer:
    """Return an answer as it came, malformed with a reason if it is none."""
    try:
        answer: Mapping[str, Any] = json.loads(line)
        if answer["id"] != asked:
            return Answer("malformed", reason=f"id {answer['id']!r}; expected {asked}")
        verdict = answer["verdict"]
        if verdict not in VERDICTS:
            return Answer(
                "malformed", reason=f"verdict {verdict!r}; expected one of {', '.join(VERDICTS)}"
            )
        return Answer(verdict, tuple(int(each) for each in answer.get("nanoseconds", ())))
    except (ValueError, KeyError, TypeError) as error:
        shown = line[:80].decode(errors="replace").rstrip()
        return Answer("malformed", reason=f"{shown!r} ({type(error).__name__}: {error})")
