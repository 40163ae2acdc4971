"""JSON of dataclasses, collections and plain values, which the reader checks against a type.

Results of other computers are read in this way and not as pickles: reading them runs no code of the
sender, and a value of another type than the caller expects is an error.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from pqchain import errors
from pqchain.errors import DataError, PqchainError, short_repr

MAX_CHARACTERS = 64 << 20
"""Maximum length of a text that `loads` reads."""

_ERROR_CHARACTERS = 2000


def dumps(value: object) -> str:
    """Return the value as one line of JSON; it may contain NaN, which Python reads."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> object:
    if isinstance(value, PqchainError):
        return f"{next(filter(_is_plain, type(value).__mro__)).__name__}: {value}"
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _is_plain(kind: Any) -> bool:
    """Return whether this is an error of pqchain whose only argument is its message."""
    is_error = isinstance(kind, type) and issubclass(kind, PqchainError)
    return is_error and kind.__init__ is PqchainError.__init__ and hasattr(errors, kind.__name__)


def loads(text: object, kind: Any, name: str) -> Any:
    """Return the value of type `kind` that `dumps` wrote; tuples and dataclasses are rebuilt.

    Types are those of standard annotations, optional ones, dataclasses, TypedDicts, bytes,
    subclasses of str, and PqchainError, whose class and message are kept. Any is any JSON. Raises
    DataError, whose message starts with the `name` of the value.
    """
    try:
        if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
            raise ValueError(f"expected a text of at most {MAX_CHARACTERS} characters")
        value = json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested too deeply
        raise DataError(f"{name} cannot be read: {error}; got {short_repr(text)}") from error
    return typed(value, kind, name)


def typed(value: object, kind: Any, name: str) -> Any:
    """Return a value that `json.loads` has read as one of type `kind`. Raises DataError."""
    try:
        return _typed(value, kind)
    # Constructors of dataclasses raise PqchainErrors.
    except (ValueError, TypeError, OverflowError, RecursionError, PqchainError) as error:
        raise DataError(f"{name} has a wrong part: {error}") from error


def _typed(value: Any, kind: Any) -> Any:
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Any:
        return value
    if origin in (Union, UnionType):
        wanted = [part for part in parts if (part is NoneType) == (value is None)]
        return _typed(value, wanted[0] if wanted else NoneType)
    if is_typeddict(origin) or is_dataclass(origin):
        hints = get_type_hints(origin)
        # The constructor of a dataclass requires its fields itself.
        required: frozenset[str] = getattr(origin, "__required_keys__", frozenset())
        if isinstance(value, dict) and required <= value.keys() <= hints.keys():
            return origin(**{name: _typed(part, hints[name]) for name, part in value.items()})
    elif origin is PqchainError and isinstance(value, str):
        name, _, text = value.partition(": ")
        known: Any = getattr(errors, name, None)
        if _is_plain(known):
            return known(text[:_ERROR_CHARACTERS])
    elif issubclass(origin, (str, bytes)) and isinstance(value, str):
        return b64decode(value) if origin is bytes else origin(value)
    elif origin is float and type(value) in (int, float) and abs(value) != float("inf"):
        return float(value)
    # Exact types, because a bool is an int. Frames and numpy have no longer integers.
    elif origin in (int, bool, NoneType) and type(value) is origin:
        if origin is not int or abs(value) < 2**63:
            return value
    elif issubclass(origin, Mapping) and isinstance(value, dict):
        # Names in JSON are texts.
        key: Any = int if parts[0] is int else str
        return {key(name): _typed(part, parts[1]) for name, part in value.items()}
    elif issubclass(origin, Sequence) and isinstance(value, (list, tuple)):
        each = parts[:1] * len(value) if origin is not tuple or ... in parts else parts
        rows = [_typed(part, one) for part, one in zip(value, each, strict=True)]
        return tuple(rows) if origin is tuple else rows
    raise TypeError(f"{short_repr(value)} is not of type {getattr(kind, '__name__', kind)}")
