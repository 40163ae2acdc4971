"""Data is found in an installation and in a checkout."""

import sys
import types

import pytest

import tests
from pqchain import installation
from pqchain.errors import DataError
from tests import frames


@pytest.mark.parametrize("inside", [True, False])
def test_data_is_found_in_an_installation_and_in_a_checkout(tmp_path, monkeypatch, inside):
    package = tmp_path / "pqchain"
    folder = (package if inside else tmp_path) / "data" / "papers"
    folder.mkdir(parents=True)
    monkeypatch.setattr(installation, "HOME", package)
    assert installation.data("papers") == folder


def test_missing_data_says_where_it_was_sought(tmp_path, monkeypatch):
    monkeypatch.setattr(installation, "HOME", tmp_path / "pqchain")
    with pytest.raises(DataError, match=r"neither .* nor .* is a folder; install pqchain again"):
        installation.data("papers")


def test_names_are_fetched_at_first_use():
    package = types.ModuleType("tests.package")
    fetch, listed = installation.late("tests", {"frames": "measurements", "sixth": ""})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tests", package)
        patch.setattr(package, "__path__", list(tests.__path__), raising=False)
        patch.setattr(package, "__all__", ["measurements"], raising=False)
        assert "measurements" in listed()
        assert fetch("measurements") is frames.measurements
        assert package.measurements is frames.measurements
        assert fetch("frames") is frames
        with pytest.raises(AttributeError, match="module 'tests' has no attribute 'frame'"):
            fetch("frame")
