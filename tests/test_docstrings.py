"""The examples in docstrings say what the code does."""

import doctest
import importlib
from pathlib import Path

import pytest

import pqchain

ROOT = Path(pqchain.__file__).parent
WITH_EXAMPLES = sorted(
    path for path in ROOT.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


def test_there_are_examples():
    assert len(WITH_EXAMPLES) >= 8


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_give_what_they_say(path):
    name = ".".join(("pqchain", *path.relative_to(ROOT).with_suffix("").parts))
    done = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert done.attempted
    assert done.failed == 0


def test_the_house_shows_every_module():
    """ARCHITECTURE.md names each module in its map, so that a reader finds it."""
    text = (ROOT.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    house = text[text.index("## The house") : text.index("## Who may know whom")]
    modules = [path.name for path in ROOT.rglob("*.py") if "plots" not in path.parts]
    shown = {word.strip(":;,()") for word in house.split()} | {"__init__.py"}
    assert [name for name in modules if name not in shown] == []
