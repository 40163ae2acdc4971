"""Digest of the fields of a scenario, which identifies its stored result."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

_FORMER = {"service_times": "prices", "key_mode": "public_key"}
"""Fields by their name in the identifiers of stored results, where it is a former one."""

_ADDED = {
    "certificates": "none", "pipelined": False, "decode_key_seconds": 0.0, "anchor_seconds": 0.0,
}  # fmt: skip
"""Fields that stored results lack, with the value that has no effect."""


def digest(values: dict[str, Any]) -> str:
    """Return the SHA-256 of the values of a scenario by name."""
    text = json.dumps(_effective(values), sort_keys=True, default=_fields)
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(part: Any) -> dict[str, Any]:
    values = _effective(dataclasses.asdict(part))
    return {_FORMER.get(name, name): value for name, value in values.items()}


def _effective(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in values.items() if name not in _ADDED or value != _ADDED[name]
    }
