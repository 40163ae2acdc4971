"""How a verifier of any language is asked: a line of JSON to its stdin, one back from its stdout.

A request has id, algorithm, repeat, and in hexadecimal digits public_key, message, context and
signature.
The answer has the same id, a verdict, and nanoseconds: how long each of `repeat` runs took.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain.conform.vector import Vector
from pqchain.errors import UsageError
from pqchain.isolation import Child, exit_reason

VERDICTS = {
    "accept": "the signature is valid",
    "reject": "it is not",
    "refuse": "an error was raised instead of a verdict, as for a key of a wrong length",
    "unsupported": "the algorithm, or a context, is not offered",
    "panic": "the verifier failed and was caught",
}
"""What an adapter may answer."""

_GRACE_SECONDS = 10.0
"""For a verifier to end once its stdin is closed; a crashed one has as long to be reaped."""

_QUOTED_CHARACTERS = 80

_MAX_NANOSECONDS = 1 << 62

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
        self._child: Child | None = None
        self._asked = 0

    def __enter__(self) -> Adapter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close(grace_seconds=0.0 if raised[0] else _GRACE_SECONDS)

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
        child = self._child = self._child or self._start()
        try:
            line = child.ask(json.dumps(request).encode() + b"\n", self.limit_seconds)
        except TimeoutError:
            self.close(grace_seconds=0.0)
            return Answer("timeout", reason=f"no answer in {self.limit_seconds:g} s")
        except (OSError, EOFError):
            how = exit_reason(self.close())
            said = child.stderr_tail[-300:].strip().splitlines()
            return Answer("crash", reason=f"{how}: {said[-1]}" if said else how)
        answer = _read(line, self._asked)
        if answer.verdict == "malformed":
            self.close(grace_seconds=0.0)
        return answer

    def _start(self) -> Child:
        try:
            return Child(self.command, folder=self.folder)
        except OSError as error:
            raise UsageError(
                f"{self.command[0]} cannot be started: {error.strerror}; give a program that reads "
                "requests from stdin (pqchain conform run --help)"
            ) from error

    def close(self, *, grace_seconds: float = _GRACE_SECONDS) -> int:
        """End the process, if there is one, and all that it started; return its exit code."""
        child, self._child = self._child, None
        return 0 if child is None else child.end(grace_seconds)


def _read(line: bytes, asked: int) -> Answer:
    """Parse an answer; one that breaks the protocol is "malformed", with a reason."""
    try:
        answer: Mapping[str, Any] = json.loads(line)
        if answer["id"] != asked:
            return _malformed(f"id {answer['id']!r}", f"; expected {asked}")
        verdict = answer["verdict"]
        if verdict not in VERDICTS:
            return _malformed(f"verdict {verdict!r}", f"; expected one of {', '.join(VERDICTS)}")
        nanoseconds = tuple(int(value) for value in answer.get("nanoseconds", ()))
        if nanoseconds and not 0 <= min(nanoseconds) <= max(nanoseconds) <= _MAX_NANOSECONDS:
            return _malformed("nanoseconds", f"; expected numbers from 0 to {_MAX_NANOSECONDS}")
        return Answer(verdict, nanoseconds)
    # Too large a number, brackets that are nested too deeply, and what does not fit into memory.
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        quoted = line[:_QUOTED_CHARACTERS].decode(errors="replace").rstrip()
        return _malformed(repr(quoted), f" ({type(error).__name__}: {error})")


def _malformed(found: str, expected: str) -> Answer:
    """Return a malformed answer, of which no more is quoted than a reason needs."""
    return Answer("malformed", reason=f"{found[: _QUOTED_CHARACTERS + 20]}{expected[:200]}")
