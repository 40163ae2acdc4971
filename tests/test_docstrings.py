"""The examples in docstrings are correct."""

import configparser
import doctest
import importlib
from pathlib import Path

import pytest

import pqchain

ROOT = Path(pqchain.__file__).parent
WITH_EXAMPLES = sorted(
    path for path in ROOT.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_docstring_examples_are_correct(path):
    name = ".".join(("pqchain", *path.relative_to(ROOT).with_suffix("").parts))
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.attempted
    assert result.failed == 0


def test_architecture_names_every_package():
    """The table of packages has a row for each package and each shared top-level module."""
    text = (ROOT.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    names = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_architecture_shows_the_enforced_layers():
    config = configparser.ConfigParser()
    config.read(ROOT.parent / ".importlinter", encoding="utf-8")
    layers = config["importlinter:contract:layers"]["layers"].split("\n")[2:]  # without __main__
    text = (ROOT.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert "```\n" + "\n".join(layers) + "\n```" in text
