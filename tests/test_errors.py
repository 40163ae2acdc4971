"""Errors share one root, state the remedy, and can be pickled."""

from __future__ import annotations

import inspect
import pickle

import pytest

from pqchain import errors
from pqchain.errors import PqchainError, UnknownName

CLASSES = [
    thing
    for _, thing in inspect.getmembers(errors, inspect.isclass)
    if thing.__module__ == errors.__name__
]

KNOWN = ("Falcon-512", "Falcon-1024", "Dilithium2")


def make(kind: type[PqchainError]) -> PqchainError:
    """Build an error of a class."""
    if issubclass(kind, UnknownName):
        return kind("algorithm", "Falcon512", KNOWN, "`pqchain algorithms`.")
    if kind is errors.WrongValues:
        return kind({"blocks": "blocks must be 1; got 2."})
    return kind("it is 3; expected 4; use 4")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_survives_pickling(kind: type[PqchainError]) -> None:
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
    assert repr(name) in str(UnknownName("algorithm", name, KNOWN, "the list."))


@pytest.mark.parametrize("name", ["xyzzy", "frobnicate"])
def test_distant_name_suggests_nothing(name: str) -> None:
    error = UnknownName("command", name, ["native", *KNOWN], "`pqchain --help`.")
    assert str(error) == f"unknown command '{name}'. See `pqchain --help`."


def test_large_values_are_shown_shortened() -> None:
    assert errors.short_repr(-(10**4000)) == "a whole number of 13288 bits"
    assert errors.short_repr([10**5000]) == "a list of numbers too long to print"
    assert errors.short_repr("x" * 10**6) == f"'{'x' * 199} ..."
    assert "a whole number of 13288 bits" in str(errors.UnknownName("scheme", 10**4000, ["A"]))
