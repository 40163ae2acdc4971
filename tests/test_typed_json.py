"""Values sent by other computers have the expected types, and reading them runs no code."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from typing import Any, TypedDict

import pytest

from pqchain import typed_json
from pqchain.errors import (
    DataError,
    PackageMissing,
    PqchainError,
    UnknownName,
    Unsupported,
    UsageError,
)
from pqchain.figures import SECONDS, Figure, Kind
from pqchain.study.draws import Draw
from pqchain.wire.drivers.job import NodeResult


class Row(TypedDict):
    name: str
    counts: list[int]


def again(value: object, kind: Any) -> Any:
    return typed_json.loads(typed_json.dumps(value), kind, "it")


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


def test_nan_is_kept():
    assert math.isnan(again(math.nan, float))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UsageError("why"), UsageError),
        (UnknownName("mode", "a", ["b"], "x"), UsageError),
        (PackageMissing("no"), Unsupported),
        (PqchainError("a: b"), PqchainError),
    ],
)
def test_message_and_nearest_class_of_an_error_are_kept(error, kind):
    read = again(error, PqchainError)
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
        ("1.0", int),
        ('"1"', float),
        ("null", str),
        ("[1]", tuple[int, int]),
        ("[1,2,3]", tuple[int, int]),
        ('{"a":"b"}', dict[str, int]),
        ('{"x":1}', dict[int, int]),
        ('{"name":"a"}', Row),
        ('{"name":"a","counts":[],"more":1}', Row),
        ('{"figures":{}}', Draw),
        ('{"figures":{},"limit":"","__class__":"x"}', Draw),
        ('{"node":0,"state":"away"}', NodeResult),
        ('"unknown"', Kind),
        ('"a"', bytes),
    ],
)
def test_values_of_other_types_are_rejected(text, kind):
    with pytest.raises(DataError, match=r"^it (cannot be read|has a wrong part)"):
        typed_json.loads(text, kind, "it")


def test_length_of_a_text_is_limited(monkeypatch):
    monkeypatch.setattr(typed_json, "MAX_CHARACTERS", 10)
    assert typed_json.loads("[1,2,3]", list[int], "it") == [1, 2, 3]
    with pytest.raises(DataError, match="at most 10 characters"):
        typed_json.loads("[1,2,3,4,5]", list[int], "it")
