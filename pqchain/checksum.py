"""JSON that tells whether it was changed: it holds a SHA-256 of all else in it.

Spaces and the order of names do not count. It protects against damage, not against somebody who
makes the checksum anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pqchain.errors import DataError

FIELD = "sha256"
"""Where the checksum stands."""


def dumps(content: Mapping[str, Any], *, indent: int | None = None, allow_nan: bool = False) -> str:
    """Return the content as JSON with its checksum.

    `allow_nan` lets numbers be NaN or infinite, which Python reads and the standard has not. Raises
    TypeError or ValueError for what is not plain JSON.
    """
    whole = {**content, FIELD: _checksum(content)}
    return json.dumps(whole, indent=indent, ensure_ascii=False, allow_nan=allow_nan)


def loads(
    text: str | bytes, what: str, remedy: str, *, version: tuple[str, int] | None = None
) -> dict[str, Any]:
    """Return the content that `dumps` wrote, without its checksum.

    `version` is the field that holds the version of the format, and the one that is read. Raises
    DataError, which names `what` and `remedy`, for all else.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError(f"it is a {type(content).__name__}; expected names and values")
        if version is not None and content.get(version[0]) != version[1]:
            field, read = version
            raise DataError(
                f"{what} has the {field.replace('_', ' ')} {content.get(field)!r}, but this "
                f"pqchain reads {read}; use the pqchain that wrote it, or {remedy}"
            )
        written = content.pop(FIELD, None)
        if written != _checksum(content):
            state = "has no checksum" if written is None else "was changed after it was written"
            raise DataError(f"{what} {state}; {remedy}")
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} cannot be read: {error}; {remedy}") from error
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
