"""JSON lines between pqchain and an engine: a scenario in, a record per height out.

A run ends with a line that has "done", which is true, or "error" with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from pqchain.crypto.child import Child, exit_reason, parse_answer
from pqchain.errors import CryptoFailure, UsageError

_MAX_ANSWER_BYTES = 64 << 20
_MAX_HEIGHT_RECORDS = 10_000
_GRACE_SECONDS = 5.0
_QUOTED_CHARACTERS = 300

# The types of fields. All others are seconds, by their names, or counts; null is a missing field.
_TEXTS = ("audit", "error", "precompile", "reason", "version")
_FLAGS = ("done", "nullified")
_LISTS = ("seconds", "loop_seconds")


class EngineFailure(CryptoFailure):
    """An engine crashed, hung, or answered something else; the message has the reason."""


def ask(
    command: Sequence[str],
    scenario: Mapping[str, Any],
    *,
    limit_seconds: float,
    required: Sequence[str] = (),
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run one scenario in a process of its own; return the records per height and the last line.

    All fields have their types. With `required` fields there is a record, and every one has them.
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
        lines = _read(child, scenario, limit_seconds)
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
    if child.wrote_more or any("done" in record or "error" in record for record in records):
        raise EngineFailure("the engine wrote more than one result")
    if "error" in last:
        raise EngineFailure(last["error"][:_QUOTED_CHARACTERS])
    if last["done"] is not True:
        raise EngineFailure("done must be true; got false")
    if missing := [name for name in required if any(name not in row for row in records or [{}])]:
        raise EngineFailure(f"a record must have {', '.join(missing)}")
    return records, last


def _read(child: Child, scenario: Mapping[str, Any], limit_seconds: float) -> list[dict[str, Any]]:
    deadline = monotonic() + limit_seconds
    request, data = json.dumps(scenario).encode() + b"\n", b""
    while True:
        remaining = max(deadline - monotonic(), 0.0)
        data += child.ask(request, remaining, max_bytes=_MAX_ANSWER_BYTES - len(data))
        request = b""
        if len(data) >= _MAX_ANSWER_BYTES or not data.endswith(b"\n"):
            raise EngineFailure(f"the engine wrote more than {_MAX_ANSWER_BYTES} bytes")
        last = _parse(data[:-1].rpartition(b"\n")[2], scenario["id"])
        if "done" in last or "error" in last:
            lines = [_parse(line, scenario["id"]) for line in data.split(b"\n")[:-1]]
            if len(lines) > _MAX_HEIGHT_RECORDS + 1:
                raise EngineFailure(f"the engine wrote {len(lines)} records")
            return lines


def _parse(line: bytes, ident: int) -> dict[str, Any]:
    """Return the fields of a line that are not null. Raises EngineFailure."""
    try:
        answer = parse_answer(line, ident)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise EngineFailure(f"not an answer to this scenario: {line[:80]!r} ({error})") from error
    fields = {name: value for name, value in answer.items() if value is not None}
    if wrong := [name for name, value in fields.items() if not _has_type(name, value)]:
        raise EngineFailure(f"{wrong[0]:.40} has the wrong type: {fields[wrong[0]]!r:.80}")
    return fields


def _has_type(name: str, value: object) -> bool:
    if name in _TEXTS or name in _FLAGS:
        return isinstance(value, str if name in _TEXTS else bool)
    if name.endswith("seconds"):
        numbers = value if name in _LISTS and isinstance(value, list) else [value]
        return bool(numbers) and all(type(number) in (int, float) for number in numbers)
    return type(value) is int and value >= 0
