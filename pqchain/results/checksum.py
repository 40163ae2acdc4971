"""JSON documents with an embedded SHA-256 checksum of their content.

Whitespace and the order of keys do not matter. The checksum detects damage, not deliberate changes,
because anyone can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pqchain.errors import DataError

FIELD = "sha256"


def dumps(content: Mapping[str, Any], *, indent: int | None = None, allow_nan: bool = False) -> str:
    """Return the content as JSON with its checksum.

    `allow_nan` allows NaN and infinite numbers, which Python reads although JSON has none. Raises
    TypeError or ValueError for content that is not plain JSON.
    """
    document = {**content, FIELD: _checksum(content)}
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=allow_nan)


def loads(
    text: str | bytes, name: str, remedy: str, *, version: tuple[str, int] | None = None
) -> dict[str, Any]:
    """Return the content that `dumps` wrote, without its checksum.

    `version` is the key of the format version and its expected value. Raises DataError for any
    other text or version; the message has the document's `name` and `remedy`.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError(f"expected a JSON object; got a {type(content).__name__}")
        if version is not None and content.get(version[0]) != version[1]:
            key, expected = version
            raise DataError(
                f"{name} has the {key.replace('_', ' ')} {content.get(key)!r}, but this pqchain "
                f"reads {expected}; use the pqchain that wrote it, or {remedy}"
            )
        stored = content.pop(FIELD, None)
        if stored != _checksum(content):
            state = "has no checksum" if stored is None else "was changed after it was written"
            raise DataError(f"{name} {state}; {remedy}")
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested too deeply
        raise DataError(f"{name} cannot be read: {error}; {remedy}") from error
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    # Canonical form, so that reformatting a file does not invalidate it.
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
