"""Declared types, JSON that is checked against a type, and checks of single arguments.

    @declared
    class Load:
        blocks: Annotated[int, Ge(1), Le(10_000), Doc("how many blocks")] = 1

This is the only module that imports pydantic, and only when a type is declared or read: most
commands need neither.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from annotated_types import Ge as Ge
from annotated_types import Gt as Gt
from annotated_types import Le as Le
from annotated_types import Lt as Lt
from typing_extensions import Doc as Doc
from typing_extensions import TypedDict as TypedDict  # pydantic needs it before Python 3.12
from typing_extensions import dataclass_transform

from pqchain import errors
from pqchain.errors import DataError, PqchainError, UnknownName, UsageError, short_repr

T = TypeVar("T")

LABEL = "at most 300 printable characters without $, not beginning with = + - or @"
NAME = "a text of 1 to 100 printable characters without , and $, not beginning with = + - or @"
"""The rules of `is_label` and `is_name`."""

MAX_CHARACTERS = 64 << 20
"""Maximum length of a text that `loads` reads."""

_ERROR_CHARACTERS = 2000

_MARKS = ("ge", "gt", "le", "lt", "documentation")
"""Attributes of the marks `Ge`, `Gt`, `Le`, `Lt` and `Doc` of an annotation."""

_NOUNS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}


class Declaration(NamedTuple):
    """Declaration of a field of a `declared` class."""

    name: str
    type: Any
    """Type of a value that is not None: int, float, bool, str (also of choices), tuple, a class."""
    least: float | None
    most: float | None
    """Bounds of a number, or of each number of a tuple."""
    choices: tuple[Any, ...]
    default: Any
    """`dataclasses.MISSING` if a value is required."""
    help: str
    is_optional: bool
    """Whether None is allowed."""
    is_open: bool
    """Whether the lower bound itself is not allowed."""

    @property
    def bounds(self) -> str:
        """Return a number's bounds as text; "" if the only bound is a lower bound of 0."""
        if self.least is not None and self.most is not None:
            return f"{_bound_text(self.least)} to {_bound_text(self.most)}"
        return f"at least {_bound_text(self.least)}" if self.least else ""

    @property
    def condition(self) -> str:
        """Return what a value must be, for an error message."""
        if self.choices:
            return " or ".join(map(repr, self.choices))
        noun = _NOUNS.get(self.type, f"of type {getattr(self.type, '__name__', self.type)}")
        if self.type is tuple:
            noun = "a tuple" if self.least is None else "a tuple of numbers"
        if self.least is None:
            return noun
        if self.most is not None:
            return f"{noun} from {self.bounds}"
        return f"{noun} {'above' if self.is_open else 'of at least'} {_bound_text(self.least)}"


def _bound_text(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(dataclasses.field,)
)
def declared(cls: type[T]) -> type[T]:
    """Make a frozen, keyword-only dataclass, whose values must be as its annotations declare.

    Numbers are strict and finite: neither True nor "1" is 1, but 1 is a float. None is allowed
    where it is declared. `dataclasses.replace` checks again. Raises UnknownName for an unknown
    choice or field, UsageError for another wrong value, and WrongValues, which lists all, for
    several. A class attribute `_prefix` precedes the names of fields in messages.
    """
    from pydantic import ConfigDict, ValidationError
    from pydantic.dataclasses import dataclass, rebuild_dataclass

    config = ConfigDict(
        strict=True, allow_inf_nan=False, extra="forbid", arbitrary_types_allowed=True
    )
    made: Any = dataclass(frozen=True, slots=True, kw_only=True, config=config)(cls)
    # A name that is not defined yet would replace the constructor at the first call.
    rebuild_dataclass(made)
    create = made.__init__

    @functools.wraps(create)
    def checked(self: Any, *positional: Any, **values: Any) -> None:
        try:
            create(self, *positional, **values)
        except ValidationError as error:
            wrong = _wrong_values(made, error.errors(include_url=False))
            messages = {name: str(problem) for name, problem in wrong.items()}
            # Without the ValidationError, which would repeat the values in other words.
            alone = next(iter(wrong.values()))
            raise alone if len(wrong) == 1 else errors.WrongValues(messages) from None

    made.__init__ = checked
    result: type[T] = made
    return result


@functools.cache
def declarations(cls: Any) -> dict[str, Declaration]:
    """Return {name: declaration} of the fields of a `declared` class, in their order."""
    return {name: _declaration(name, row) for name, row in cls.__pydantic_fields__.items()}


def _declaration(name: str, row: Any) -> Declaration:
    kinds = _alternatives(row.annotation)
    kind = next(part for part in kinds if part is not NoneType)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    marks: dict[str, Any] = {}
    for mark in (*_metadata(row.annotation), *row.metadata):
        marks |= {key: getattr(mark, key) for key in _MARKS if hasattr(mark, key)}
    # A function that makes the default may read a file, which no module does when imported.
    default = row.get_default(call_default_factory=isinstance(row.default_factory, type))
    return Declaration(
        name=name,
        type=type(choices[0]) if choices else get_origin(kind) or kind,
        least=marks.get("ge", marks.get("gt")),
        most=marks.get("le", marks.get("lt")),
        choices=choices,
        default=dataclasses.MISSING if row.is_required() else default,
        help=marks.get("documentation", row.description or ""),
        is_optional=NoneType in kinds,
        is_open="gt" in marks,
    )


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    is_union = get_origin(hint) in (Union, UnionType)
    return [kind for part in get_args(hint) for kind in _alternatives(part)] if is_union else [hint]


def _metadata(hint: Any) -> list[Any]:
    """Return what Annotated adds to a type, its alternatives and its items."""
    inner = [mark for part in get_args(hint) for mark in _metadata(part)]
    return [*inner, *getattr(hint, "__metadata__", ())]


def wrong_values(cls: Any, values: Mapping[str, Any]) -> dict[str, UsageError]:
    """Return the errors of values for a `declared` class by field; {} if they are right."""
    from pydantic import ValidationError

    try:
        cls.__init__.__wrapped__(cls.__new__(cls), **values)
    except ValidationError as error:
        return _wrong_values(cls, error.errors(include_url=False))
    return {}


def _wrong_values(cls: Any, problems: Sequence[Mapping[str, Any]]) -> dict[str, UsageError]:
    rows, prefix = declarations(cls), getattr(cls, "_prefix", "")
    wrong: dict[str, UsageError] = {}
    for problem in problems:
        name, value = problem["loc"][0], problem["input"]
        if name not in rows:
            error = UsageError(f"values of {cls.__name__} must be named; got {short_repr(value)}.")
            if isinstance(name, str):
                error = UnknownName(f"field of {cls.__name__}", name, rows)
        elif rows[name].choices:
            error = UnknownName(prefix + name, value, rows[name].choices)
        else:
            row, label = rows[name], prefix + name
            if row.type is tuple and len(problem["loc"]) > 1:
                row, label = row._replace(type=int), f"every number of {label}"
            elif row.type is Mapping and len(problem["loc"]) > 1:
                row, label = row._replace(type=float), f"{label} of {problem['loc'][1]}"
            got = "nothing" if problem["type"].startswith("missing") else short_repr(value)
            error = UsageError(f"{label} must be {row.condition}; got {got}.")
        wrong.setdefault(str(name), error)
    return wrong


def dumps(value: object) -> str:
    """Return the value as one line of JSON; it may contain NaN, which Python reads."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> object:
    if isinstance(value, PqchainError):
        return f"{next(filter(_is_plain, type(value).__mro__)).__name__}: {value}"
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return {row.name: getattr(value, row.name) for row in dataclasses.fields(value)}


def _is_plain(kind: Any) -> bool:
    """Return whether this is an error of pqchain whose only argument is its message."""
    is_error = isinstance(kind, type) and issubclass(kind, PqchainError)
    return is_error and kind.__init__ is PqchainError.__init__ and hasattr(errors, kind.__name__)


class FromText:
    """Annotation of a type that JSON has as a text, with the function that reads the text."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._read, core_schema.str_schema())


def _read_error(text: str) -> PqchainError:
    name, _, message = text.partition(": ")
    known: Any = getattr(errors, name, None)
    if not _is_plain(known):
        raise ValueError("expected an error of pqchain")
    error: PqchainError = known(message[:_ERROR_CHARACTERS])
    return error


SentError = Annotated[PqchainError, FromText(_read_error)]
"""Type of an error in JSON: its nearest class in `pqchain.errors` and its message are kept."""


def loads(text: object, kind: Any, name: str) -> Any:
    """Return the value of type `kind` that `dumps` wrote; tuples and dataclasses are rebuilt.

    Results of other computers are read in this way and not as pickles: reading them runs no code of
    the sender, and a value of another type than the caller expects is an error. Types are those of
    standard annotations, dataclasses, TypedDicts, bytes, and those with `FromText`. Raises
    DataError, whose message starts with the `name` of the value.
    """
    from pydantic import ValidationError

    try:
        if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
            raise ValueError(f"expected a text of at most {MAX_CHARACTERS} characters")
        # Only for its errors: pydantic reads infinities, longer integers, and "1],[2" in brackets.
        json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested too deeply
        raise DataError(f"{name} cannot be read: {error}; got {short_repr(text)}") from error
    try:
        # In a list, because the adapter of a dataclass or TypedDict accepts no settings.
        return _adapter(kind).validate_json(f"[{text}]")[0]
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"][1:])) or "value"
        reason = f"{problem['msg']}; got {short_repr(problem['input'])}"
        raise DataError(f"{name} has a wrong part: {place} {reason}") from None
    # Constructors of dataclasses raise these.
    except (PqchainError, TypeError, OverflowError) as error:
        raise DataError(f"{name} has a wrong part: {error}") from error


def typed(value: object, kind: Any, name: str) -> Any:
    """Return a value that `loads` has read as Any as one of type `kind`. Raises DataError."""
    return loads(dumps(value), kind, name)


@functools.cache
def _adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    settings = ConfigDict(strict=True, extra="forbid", val_json_bytes="base64")
    return TypeAdapter(list[kind], config=settings)


def _integer(digits: str) -> int:
    # Frames and numpy have no longer integers; 20 digits are more than 2**63 with a sign.
    if len(digits) > 20 or abs(int(digits)) >= 2**63:
        raise ValueError("a whole number is not below 2**63")
    return int(digits)


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise ValueError("a number is not finite")
    return value


def _require(field: str, value: object, condition: str, *, holds: bool) -> None:
    if not holds:
        raise UsageError(f"{field} must be {condition}; got {short_repr(value)}")


def number(field: str, value: object, *, least: float = 0.0, most: float = 1e18) -> None:
    """Raise UsageError unless the value is a finite number from `least` to `most`."""
    # Comparisons with NaN are false. math.isfinite would fail for an int that exceeds a float.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    holds = is_number and least <= value <= most  # type: ignore[operator]
    _require(field, value, f"a number from {least:g} to {most:g}", holds=holds)


def integer(field: str, value: object, *, least: int, most: int = 2**62) -> None:
    """Raise UsageError unless the value is an int from `least` to `most`; a bool is rejected."""
    # bool is a subclass of int.
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    holds = is_integer and least <= value <= most  # type: ignore[operator]
    _require(field, value, f"a whole number from {least} to {most}", holds=holds)


def boolean(field: str, value: object) -> None:
    """Raise UsageError unless the value is True or False; other truthy values are rejected."""
    _require(field, value, "True or False", holds=isinstance(value, bool))


def file_path(field: str, value: object) -> Path:
    """Return the path. Raises UsageError for another type, and for a path with a NUL."""
    # C ends a path at a NUL: SQLite would use another file than the one that is checked.
    if not isinstance(value, (str, PathLike)) or "\0" in str(path := Path(value)):
        raise UsageError(f"{field} must be a path without NUL; got {short_repr(value)}")
    return path


def one_of(field: str, value: object, expected: Sequence[str]) -> None:
    """Raise UsageError unless the value is one of the expected names."""
    *first, last = map(repr, expected)
    _require(field, value, f"{', '.join(first)} or {last}", holds=value in expected)


def is_label(text: str) -> bool:
    """Return whether spreadsheets and matplotlib show a text as it is, and compute no formula."""
    # The last four are the same signs in full width, which spreadsheets read, too.
    is_formula = text.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
    return len(text) <= 300 and text.isprintable() and "$" not in text and not is_formula


def is_name(name: object) -> bool:
    """Return whether the name is allowed for a user-defined scheme."""
    # Commas separate the fields of --scheme.
    is_text = isinstance(name, str) and 0 < len(name.strip()) <= len(name) <= 100
    return is_text and "," not in str(name) and is_label(str(name))
