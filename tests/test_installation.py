"""Data is found in an installation and in a checkout."""

import pytest

from pqchain import installation
from pqchain.errors import DataError


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
