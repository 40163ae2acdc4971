"""Declared types, JSON and checks of arguments reject invalid values; reading runs no code."""

import dataclasses
import inspect
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest

from pqchain import checks, errors
from pqchain.checks import Doc, Ge, Gt, Le, SentError, TypedDict, declared
from pqchain.figures import SECONDS, Figure, Kind
from pqchain.wire.drivers.job import NodeResult


@dataclasses.dataclass(frozen=True)
class Inner:
    blocks: int = 0


@dataclasses.dataclass(frozen=True)
class Draw:
    """A dataclass that JSON holds."""

    figures: Mapping[str, Figure]
    limit: str


@declared
class Example:
    """Fields of every kind."""

    blocks: Annotated[int, Ge(1), Le(10), Doc("how many")] = 1
    seconds: Annotated[float, Gt(0)] = 1.0
    phases: Annotated[int | None, Ge(0), Le(2)] = None
    law: Annotated[Literal["mesh", "star"], Doc("which")] = "mesh"
    sealed: bool = False
    slow: tuple[Annotated[int, Ge(0), Le(9)], ...] = ()
    inner: Inner | None = None
    _prefix: ClassVar[str] = "example."

    def __post_init__(self) -> None:
        if self.phases is None:
            object.__setattr__(self, "phases", 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"blocks": 0}, "example.blocks must be a whole number from 1 to 10; got 0."),
        ({"blocks": True}, "example.blocks must be a whole number from 1 to 10; got True."),
        ({"blocks": "1"}, "example.blocks must be a whole number from 1 to 10; got '1'."),
        ({"blocks": 10**4000}, "example.blocks must be a whole number from 1 to 10; got a whole "
         "number of 13288 bits."),
        ({"blocks": None}, "example.blocks must be a whole number from 1 to 10; got None."),
        ({"seconds": 0.0}, "example.seconds must be a number above 0; got 0.0."),
        ({"seconds": math.nan}, "example.seconds must be a number above 0; got nan."),
        ({"seconds": math.inf}, "example.seconds must be a number above 0; got inf."),
        ({"phases": 3}, "example.phases must be a whole number from 0 to 2; got 3."),
        ({"sealed": 1}, "example.sealed must be True or False; got 1."),
        ({"slow": [1]}, r"example.slow must be a tuple of numbers from 0 to 9; got [1]."),
        ({"slow": (1, 10)}, "every number of example.slow must be a whole number from 0 to 9; "
         "got 10."),
        ({"law": "mash"}, "unknown example.law 'mash'; did you mean 'mesh'?"),
        ({"block": 1}, "unknown field of Example 'block'; did you mean 'blocks'?"),
        ({"inner": {"blocks": 1}}, "example.inner must be of type Inner; got {'blocks': 1}."),
    ],
)  # fmt: skip
def test_values_outside_their_declaration_are_rejected(changes, message):
    with pytest.raises(errors.UsageError) as caught:
        Example(**changes)
    assert str(caught.value).startswith(message)
    with pytest.raises(errors.UsageError):
        dataclasses.replace(Example(), **changes)


def test_all_wrong_values_are_in_one_message():
    with pytest.raises(errors.WrongValues) as caught:
        Example(blocks=0, law="mash", slow=(1, -1, 10), away=1)
    assert list(caught.value.problems) == ["blocks", "law", "slow", "away"]
    assert len(str(caught.value).splitlines()) == 4
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(errors.UsageError, match="values of Example must be named; got 1"):
        Example(1)


def test_wrong_values_are_listed_by_field():
    @checks.declared
    class Shares:
        shares: Mapping[str, Annotated[float, Ge(0), Le(1)]]
        nodes: int = 1

    assert checks.wrong_values(Shares, {"shares": {"a": 0.5}}) == {}
    wrong = checks.wrong_values(Shares, {"shares": {"a": 2.0}, "nodes": True, "node": 1})
    assert {*wrong} == {"shares", "nodes", "node"}
    assert str(wrong["shares"]) == "shares of a must be a number from 0 to 1; got 2.0."


def test_values_of_the_declaration_are_accepted():
    example = Example(blocks=10, seconds=2, law="star", slow=(1,), inner=Inner())
    assert (type(example.seconds), example.phases) == (float, 2)
    assert pickle.loads(pickle.dumps(example)) == example == dataclasses.replace(example, blocks=10)
    assert hash(example) != hash(dataclasses.replace(example, blocks=9))
    with pytest.raises(dataclasses.FrozenInstanceError):
        example.blocks = 1


def test_declarations_are_what_a_command_needs():
    rows = checks.declarations(Example)
    facts = {name: (row.type, row.least, row.most, row.choices) for name, row in rows.items()}
    assert facts == {
        "blocks": (int, 1, 10, ()),
        "seconds": (float, 0, None, ()),
        "phases": (int, 0, 2, ()),
        "law": (str, None, None, ("mesh", "star")),
        "sealed": (bool, None, None, ()),
        "slow": (tuple, 0, 9, ()),
        "inner": (Inner, None, None, ()),
    }
    assert (rows["blocks"].help, rows["law"].help) == ("how many", "which")
    assert rows["blocks"].default == 1
    assert [name for name, row in rows.items() if row.is_optional] == ["phases", "inner"]


@pytest.mark.parametrize("value", ["a\0b", Path("\0"), b"a", 7, None])
def test_path_must_have_no_nul(value):
    with pytest.raises(errors.UsageError, match="name must be a path without NUL; got "):
        checks.file_path("name", value)
    assert checks.file_path("name", "a/b") == checks.file_path("name", Path("a/b")) == Path("a/b")


class Row(TypedDict):
    name: str
    counts: list[int]


def again(value: object, kind: Any) -> Any:
    return checks.loads(checks.dumps(value), kind, "it")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.1 + 0.2, float),
        (2**62, int),
        (b"\0\xff", bytes),
        (None, float | None),
        ((1, "a"), tuple[int, str]),
        ((0.5, 1.5), tuple[float, ...]),
        ({3: ("host", 1)}, dict[int, tuple[str, int]]),
        ({"name": "a", "counts": [1]}, Row),
        ({"a": [1, None, {"b": "c"}]}, dict[str, Any]),
        ({"A": Draw({"x": Figure(1.0, 0.5, 2.0, SECONDS, Kind.MODELLED, "s")}, "link")},
         Mapping[str, Draw]),
        (NodeResult(node=1, state="done", report={"a": 1}, cpu_steps=(1.0,), cpu_seconds=2.0),
         NodeResult),
    ],
)  # fmt: skip
def test_values_are_read_as_they_were_written(value, kind):
    read = again(value, kind)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.UsageError("why"), errors.UsageError),
        (errors.UnknownName("mode", "a", ["b"], "x"), errors.UsageError),
        (errors.PackageMissing("no"), errors.Unsupported),
        (errors.PqchainError("a: b"), errors.PqchainError),
    ],
)
def test_message_and_nearest_class_of_an_error_are_kept(error, kind):
    read = again(error, SentError)
    assert (type(read), str(read)) == (kind, str(error))


class Hostile:
    def __reduce__(self):
        return (pytest.fail, ("code of the sender was run",))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (pickle.dumps(Hostile()), str),
        (pickle.dumps(Hostile(), 0).decode(), str),
        (Hostile(), Any),
        pytest.param("[" * 100_000, Any, id="nested"),
        pytest.param("1" * 5000, int, id="digits"),
        (str(2**63), int),
        pytest.param(str(10**400), float, id="large"),
        ("1e999", float),
        ("true", int),
        ("1", bool),
        ("[1,2,3]", tuple[int, int]),
        ('{"a":"b"}', dict[str, int]),
        ('{"x":1}', dict[int, int]),
        ('{"name":"a","counts":[],"more":1}', Row),
        ('{"figures":{}}', Draw),
        ('{"figures":{},"limit":"","__class__":"x"}', Draw),
        ('{"node":0,"state":"away"}', NodeResult),
        ('"unknown"', Kind),
        ('"a"', bytes),
    ],
)
def test_values_of_other_types_are_rejected(text, kind):
    with pytest.raises(errors.DataError, match=r"^it (cannot be read|has a wrong part)"):
        checks.loads(text, kind, "it")


def test_length_of_a_text_is_limited(monkeypatch):
    monkeypatch.setattr(checks, "MAX_CHARACTERS", 10)
    assert checks.loads("[1,2,3]", list[int], "it") == [1, 2, 3]
    with pytest.raises(errors.DataError, match="at most 10 characters"):
        checks.loads("[1,2,3,4,5]", list[int], "it")


CLASSES = [
    thing
    for _, thing in inspect.getmembers(errors, inspect.isclass)
    if thing.__module__ == errors.__name__
]

KNOWN = ("Falcon-512", "Falcon-1024", "Dilithium2")


def make(kind: type[errors.PqchainError]) -> errors.PqchainError:
    """Build an error of a class."""
    if issubclass(kind, errors.UnknownName):
        return kind("algorithm", "Falcon512", KNOWN, "`pqchain algorithms`.")
    if kind is errors.WrongValues:
        return kind({"blocks": "blocks must be 1; got 2."})
    return kind("it is 3; expected 4; use 4")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_survives_pickling(kind: type[errors.PqchainError]) -> None:
    error = make(kind)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_unknown_name_suggests_the_nearest() -> None:
    error = make(errors.UnknownAlgorithm)
    assert str(error) == (
        "unknown algorithm 'Falcon512'; did you mean 'Falcon-512' or 'Falcon-1024'? "
        "See `pqchain algorithms`."
    )
    assert error.name == "Falcon512"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [None, 7, b"Falcon-512", ("a",), "", "xyzzy"])
def test_name_need_not_be_text(name: object) -> None:
    assert repr(name) in str(errors.UnknownName("algorithm", name, KNOWN, "the list."))


@pytest.mark.parametrize("name", ["xyzzy", "frobnicate"])
def test_distant_name_suggests_nothing(name: str) -> None:
    error = errors.UnknownName("command", name, ["native", *KNOWN], "`pqchain --help`.")
    assert str(error) == f"unknown command '{name}'. See `pqchain --help`."


def test_large_values_are_shown_shortened() -> None:
    assert errors.short_repr(-(10**4000)) == "a whole number of 13288 bits"
    assert errors.short_repr([10**5000]) == "a list of numbers too long to print"
    assert errors.short_repr("x" * 10**6) == f"'{'x' * 199} ..."
    assert "a whole number of 13288 bits" in str(errors.UnknownName("scheme", 10**4000, ["A"]))
