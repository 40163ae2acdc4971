"""JSON lines between pqchain and an engine: a scenario in, a record per height out.

A run ends with a line that has "done", or "error" with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from pqchain.crypto.isolation import Child, exit_reason
from pqchain.errors import CryptoFailure, UsageError

_MAX_ANSWER_BYTES = 64 << 20
_MAX_HEIGHT_RECORDS = 10_000
_GRACE_SECONDS = 5.0
_QUOTED_CHARACTERS = 300


class EngineFailure(CryptoFailure):
    """An engine crashed, hung, or answered something else; the message has the reason."""


def ask(
    command: Sequence[str], scenario: Mapping[str, Any], *, limit_seconds: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run one scenario in a process of its own; return the records per height and the last line.

    Raises UsageError if the program cannot start, and EngineFailure with the reason. The process
    and all that it started have ended afterwards.
    """
    try:
        child = Child(command)
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be started: {error.strerror}; run `pqchain engine build`"
        ) from error
    grace_seconds, lines = 0.0, None
    try:
        lines = _read(child, json.dumps(scenario).encode() + b"\n", limit_seconds)
        grace_seconds = _GRACE_SECONDS
    except TimeoutError:
        raise EngineFailure(f"no result in {limit_seconds:g} s; raise the limit") from None
    except (OSError, EOFError):
        # The engine has ended by itself; wait for its exit code.
        grace_seconds = _GRACE_SECONDS
    finally:
        code = child.end(grace_seconds)
    if lines is None:
        output = child.stderr_tail[-300:].strip().splitlines()
        reason = exit_reason(code)
        raise EngineFailure(f"{reason}: {output[-1]}" if output else reason)
    *records, last = lines
    if "error" in last:
        raise EngineFailure(str(last["error"])[:_QUOTED_CHARACTERS])
    if any(record.get("id") != scenario["id"] for record in lines):
        raise EngineFailure("the engine answered another scenario")
    return records, last


def _read(child: Child, request: bytes, limit_seconds: float) -> list[dict[str, Any]]:
    deadline = monotonic() + limit_seconds
    data = b""
    while True:
        remaining = max(deadline - monotonic(), 0.0)
        data += child.ask(request, remaining, max_bytes=_MAX_ANSWER_BYTES - len(data))
        request = b""
        if len(data) >= _MAX_ANSWER_BYTES or not data.endswith(b"\n"):
            raise EngineFailure(f"the engine wrote more than {_MAX_ANSWER_BYTES} bytes")
        last = _parse(data[:-1].rpartition(b"\n")[2])
        if "done" in last or "error" in last:
            lines = [_parse(line) for line in data.splitlines()]
            if len(lines) > _MAX_HEIGHT_RECORDS + 1:
                raise EngineFailure(f"the engine wrote {len(lines)} records")
            return lines


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EngineFailure(f"not a JSON line: {line[:80]!r}") from error
    if not isinstance(value, dict):
        raise EngineFailure(f"not a JSON object: {line[:80]!r}")
    return value
