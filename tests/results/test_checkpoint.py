"""Values of an unfinished computation."""

import os
import sqlite3

import pytest

from pqchain.errors import UsageError
from pqchain.results.checkpoint import Checkpoint


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_values_outlive_the_process_that_stored_them():
    Checkpoint({"rounds": 3}).put("a", [0.1, float("nan"), None, "text"])
    stored = Checkpoint({"rounds": 3}, resume=True)
    value = stored.get("a")
    assert value[0] == 0.1 and value[1] != value[1] and value[2:] == [None, "text"]
    assert stored.get("b") is None and len(stored) == 1


def test_other_settings_have_another_store():
    Checkpoint({"rounds": 3}).put("a", 1)
    with pytest.raises(UsageError, match="leave out --resume"):
        Checkpoint({"rounds": 4}, resume=True)


def test_new_computation_discards_earlier_values():
    Checkpoint({}).put("a", 1)
    assert Checkpoint({}).get("a") is None


def test_complete_computation_leaves_no_file():
    checkpoint = Checkpoint({})
    checkpoint.put("a", 1)
    checkpoint.finish()
    assert not checkpoint.path.exists()
    checkpoint.put("b", 1)  # without effect


def test_stores_that_nobody_resumed_are_removed():
    old = Checkpoint({"rounds": 1})
    os.utime(old.path, (0, 0))
    Checkpoint({"rounds": 2})
    assert not old.path.exists()


def test_damaged_store_is_refused():
    path = Checkpoint({}).path
    path.write_bytes(b"no database" * 100)
    with pytest.raises(UsageError, match="leave out --resume"):
        Checkpoint({}, resume=True)


def test_without_a_writable_cache_nothing_is_stored(cache):
    cache.write_text("a file in place of the folder")
    checkpoint = Checkpoint({})
    checkpoint.put("a", 1)
    assert checkpoint.get("a") is None and len(checkpoint) == 0
    checkpoint.finish()


def test_full_disk_does_not_end_the_computation(monkeypatch):
    checkpoint = Checkpoint({})

    class Full:
        def execute(self, *given):
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(checkpoint, "_database", Full())
    checkpoint.put("a", 1)
    assert checkpoint.get("a") is None
