"""JSON-lines protocol between pqchain and a verifier in any language, over stdin and stdout.

A request has id, operation, algorithm and repeat, and the byte strings of the operation in
hexadecimal digits (OPERATIONS). The answer has the same id, a verdict, and nanoseconds: the
durations of the `repeat` operations. It may have parts, which maps names of PARTS to as many
durations. The answer "accept" to "decapsulate" has shared_secret, and to "sign" a deterministic
signature, in hexadecimal digits. An adapter may answer "unsupported" to any operation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pqchain.crypto.child import Child, exit_reason, parse_answer
from pqchain.errors import UsageError
from pqchain_conform.vector import DecapsulationVector, EncapsulationVector, SignatureVector, Vector

OPERATIONS = {
    "verify": SignatureVector.byte_fields,
    "encapsulate": EncapsulationVector.byte_fields,
    "decapsulate": DecapsulationVector.byte_fields,
    "sign": ("secret_key", "message", "context"),
}
"""Operations, and the byte strings that a request for each has."""

VERDICTS = {
    "accept": "the signature is valid, or the KEM has made a shared secret",
    "reject": "the signature is invalid",
    "refuse": "an error was raised instead of a verdict, as for a key of a wrong length",
    "unsupported": "the verifier lacks the algorithm or contexts",
    "panic": "the verifier failed and was caught",
}
"""Verdicts that an adapter may return."""

# Time for a verifier to exit after its stdin is closed, and after it has closed its stdout, which
# a process that ends does at once.
_GRACE_SECONDS, _REAP_SECONDS = 10.0, 2.0

# Answers are untrusted: error texts quote a bounded prefix.
_QUOTED_CHARACTERS = 80

DIFFERENT_SECRET = "different secret"
"""Verdict on a decapsulation that returned another shared secret than the expected one."""

FAILURES = ("panic", "crash", "timeout", "malformed")
"""Failures without a verdict. An adapter reports "panic" itself; the others are observed here."""


PARTS = ("decode_key", "decode_signature")
"""Parts of a verification that an adapter may time by themselves."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one request."""

    verdict: str
    """One of VERDICTS, or of FAILURES, or DIFFERENT_SECRET."""
    nanoseconds: tuple[int, ...] = ()
    reason: str = ""
    """Details of a failure; empty otherwise."""
    parts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Durations in nanoseconds by PARTS, where the library's interface has these parts."""
    shared_secret: bytes = b""
    signature: bytes = b""


class Adapter:
    """A verifier in its own process, started at the first request and restarted after a crash.

    `limit_seconds` is the timeout of each request, `folder` the working directory of the process.
    """

    def __init__(
        self, command: Sequence[str], *, folder: Path | None = None, limit_seconds: float = 60.0
    ) -> None:
        self.command, self.folder = list(command), folder
        self.limit_seconds = limit_seconds
        self._child: Child | None = None
        self._requests = 0

    def __enter__(self) -> Adapter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close(grace_seconds=0.0 if raised[0] else _GRACE_SECONDS)

    def ask(self, vector: Vector, *, repeat: int = 1) -> Reply:
        """Request a verdict on a vector. Raises UsageError if the command cannot start."""
        answer = self.request(vector.operation, vector.algorithm, *vector.data, repeat=repeat)
        # Without a shared secret in the vector, any is accepted.
        expected = getattr(vector, "shared_secret", b"") or answer.shared_secret
        if answer.verdict == "accept" and answer.shared_secret != expected:
            got = answer.shared_secret.hex() or "none"
            reason = f"shared secret {got}; expected {expected.hex()}"
            return replace(answer, verdict=DIFFERENT_SECRET, reason=reason)
        return answer

    def request(self, operation: str, algorithm: str, *data: bytes, repeat: int = 1) -> Reply:
        """Request an operation on the byte strings of OPERATIONS. Raises UsageError as `ask`."""
        # Each answer must repeat this number, which detects answers to earlier requests.
        self._requests += 1
        request = {
            "id": self._requests,
            "operation": operation,
            "algorithm": algorithm,
            **{n: d.hex() for n, d in zip(OPERATIONS[operation], data, strict=True)},
            "repeat": repeat,
        }
        child = self._child = self._child or self._start()
        try:
            line = child.ask(json.dumps(request).encode() + b"\n", self.limit_seconds)
        except TimeoutError:
            # A late answer would be mistaken for that of the next request, so the process is ended.
            self.close(grace_seconds=0.0)
            return Reply("timeout", reason=f"no answer in {self.limit_seconds:g} s")
        except (OSError, EOFError):
            code = self.close(grace_seconds=_REAP_SECONDS)
            reason = exit_reason(code)
            # It runs, but cannot answer.
            if code is None:
                return Reply("malformed", reason=reason)
            output = child.stderr_tail[-300:].strip().splitlines()
            return Reply("crash", reason=f"{reason}: {output[-1]}" if output else reason)
        answer = _parse(line, self._requests)
        # Requests and answers may be out of step from here on; a new process starts in step.
        if answer.verdict == "malformed":
            self.close(grace_seconds=0.0)
        return answer

    def _start(self) -> Child:
        try:
            return Child(self.command, folder=self.folder)
        except OSError as error:
            raise UsageError(
                f"{self.command[0]} cannot be started: {error.strerror}. Give a program that reads "
                "requests from stdin (pqchain conform run --help)."
            ) from error

    def close(self, *, grace_seconds: float = _GRACE_SECONDS) -> int | None:
        """End the process, if running, with all that it started; return as `Child.end` does."""
        child, self._child = self._child, None
        return 0 if child is None else child.end(grace_seconds)


def _parse(line: bytes, request_id: int) -> Reply:
    """Parse an answer; a protocol violation gives the verdict "malformed" with a reason."""
    try:
        answer = parse_answer(line, request_id)
        verdict = answer["verdict"]
        if verdict not in VERDICTS:
            return _malformed(f"verdict {verdict!r}", f"; expected one of {', '.join(VERDICTS)}")
        durations = {"nanoseconds": _integers(answer.get("nanoseconds", ()))}
        raw = answer.get("parts", {})
        parts = {name: _integers(raw[name]) for name in PARTS if name in raw}
        for name, values in (durations | parts).items():
            if values and min(values) < 0:
                return _malformed(name, "; expected numbers from 0")
            if len(values) != len(durations["nanoseconds"]):
                return _malformed(f"{len(values)} durations of {name}", "; expected one for each")
        return Reply(
            verdict,
            durations["nanoseconds"],
            parts=parts,
            shared_secret=bytes.fromhex(answer.get("shared_secret", "")),
            signature=bytes.fromhex(answer.get("signature", "")),
        )
    # Oversized numbers, brackets nested too deeply, and answers that do not fit into memory.
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        quoted = line[:_QUOTED_CHARACTERS].decode(errors="replace").rstrip()
        return _malformed(repr(quoted), f" ({type(error).__name__}: {error})")


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    values = tuple(values)
    if any(type(value) not in (int, float) for value in values):
        raise TypeError("durations must be numbers")
    return tuple(map(int, values))


def _malformed(quoted: str, expected: str) -> Reply:
    return Reply("malformed", reason=f"{quoted[: _QUOTED_CHARACTERS + 20]}{expected[:200]}")
