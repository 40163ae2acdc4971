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


def test_architecture_names_every_package():
    """The table of packages has a row for each package and each shared top-level module."""
    text = (ROOT.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("page", "most_words"), [("README.md", 1200), ("ARCHITECTURE.md", 3000)])
def test_overview_pages_stay_short(page, most_words):
    assert len((ROOT.parent / page).read_text(encoding="utf-8").split()) <= most_words
