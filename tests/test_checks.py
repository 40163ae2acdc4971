"""Declared fields and the dataclasses that use them reject invalid values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pqchain import checks
from pqchain.consensus import Faults, Scenario, named
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.reencode import scenario
from pqchain.works import papers


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Fields of every kind."""

    blocks: int = checks.field(1, help="how many", least=1, most=10)
    seconds: float = checks.field(0.0, help="how long")
    phases: int | None = checks.field(None, help="how many", most=2)
    law: str = checks.field("mesh", help="which", choices=("mesh", "star"))
    sealed: bool = checks.field(False, help="whether")
    slow: tuple[int, ...] = checks.field((), help="who", most=9)
    plain: int = -1

    def __post_init__(self) -> None:
        """Reject values outside the declarations."""
        checks.check_declared(self, prefix="example.")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"blocks": 0}, "example.blocks must be a whole number from 1 to 10.* got 0"),
        ({"blocks": True}, "example.blocks must be .* got True"),
        ({"blocks": None}, "example.blocks must be .* got None"),
        ({"seconds": -1.0}, "example.seconds must be a number from 0.* got -1.0"),
        ({"seconds": float("nan")}, "example.seconds must be .* got nan"),
        ({"sealed": "no"}, "example.sealed must be True or False.* got 'no'"),
        ({"sealed": 1}, "example.sealed must be True or False.* got 1"),
        ({"slow": [1]}, r"example.slow must be a tuple of whole numbers.* got \[1\]"),
        (
            {"slow": (1, 10)},
            "every number of example.slow must be a whole number from 0 to 9.* got 10",
        ),
        ({"phases": 3}, "example.phases must be a whole number from 0 to 2.* got 3"),
    ],
)
def test_values_outside_their_bounds_are_rejected(changes, message):
    with pytest.raises(UsageError, match=message):
        Example(**changes)


def test_unknown_choice_suggests_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown example.law 'mash'; did you mean 'mesh'\?"):
        Example(law="mash")


def test_values_within_their_bounds_are_accepted():
    assert Example(blocks=10, seconds=2, phases=None, law="star", slow=(1,)).plain == -1
    kinds = {name: checks.value_type(each) for name, (each, _) in checks.meanings(Example).items()}
    assert kinds == {
        "blocks": int,
        "seconds": float,
        "phases": int,
        "law": str,
        "sealed": bool,
        "slow": tuple,
    }


COSTS = papers.costs("pqdpol")
SCENARIO = Scenario(algorithm="Falcon-512", costs=COSTS, network=named("gossip"))
DECLARED = [
    (instance, name)
    for instance in (
        SCENARIO,
        SCENARIO.network,
        Faults(slow=(0,), loss_probability=0.1),
        scenario.ReplayScenario(),
    )
    for name in checks.meanings(type(instance))
]


@pytest.mark.parametrize(
    ("instance", "name"), DECLARED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_dataclass_rejects_undeclared_choices(instance, name):
    each, meaning = checks.meanings(type(instance))[name]
    kind = checks.value_type(each)
    wrong: list[object] = ["nonsense"] if meaning.choices else []
    if kind in (int, float):
        step = kind(1) if kind is int else 1e-12
        wrong += [kind(meaning.least) - step]
        wrong += [] if meaning.most is None else [kind(meaning.most) * 2 + 1]
    for value in wrong:
        with pytest.raises(PqchainError):
            replace(instance, **{name: value})


@pytest.mark.parametrize("value", ["a\0b", Path("\0"), b"a", 7, None])
def test_path_must_have_no_nul(value):
    with pytest.raises(UsageError, match="name must be a path without NUL; got "):
        checks.file_path("name", value)
    assert checks.file_path("name", "a/b") == checks.file_path("name", Path("a/b")) == Path("a/b")
