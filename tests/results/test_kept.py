"""Values that are kept in the user's cache."""

import os
import sqlite3
import time
import zlib

import pytest

from pqchain.results import kept as kept_values
from pqchain.results.kept import KEPT_SECONDS, KeptValues


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PQCHAIN_KEPT")
    return tmp_path / "cache"


def test_kept_values_outlive_the_process_and_can_be_hidden():
    KeptValues().put("a", [1.5, "text", None])
    kept = KeptValues()
    assert kept.get("a") == [1.5, "text", None] and kept.get("b") is None
    assert KeptValues("other ").get("a") is None
    assert time.time() - 60 < kept.oldest_seconds <= time.time()
    fresh = KeptValues(fresh=True)
    assert fresh.get("a") is None
    fresh.put("a", 2)
    assert fresh.get("a") == KeptValues().get("a") == 2


def test_kept_values_expire(monkeypatch):
    KeptValues().put("a", 1)
    later = time.time() + KEPT_SECONDS + 1
    monkeypatch.setattr(kept_values, "_now", lambda: later)
    assert KeptValues().get("a") is None


def test_damaged_kept_file_is_replaced_and_damaged_value_is_missing():
    KeptValues().put("a", 1)
    kept = KeptValues()
    for damaged in (b"", b"text", zlib.compress(b"text"), zlib.compress(b"[]"), None, "text"):
        kept._database.execute("UPDATE stored SET value = ?", (damaged,))
        assert KeptValues().get("a") is None
    KeptValues().path.write_bytes(b"no database" * 100)
    kept = KeptValues()
    kept.put("a", 1)
    assert KeptValues().get("a") == 1
    data = bytearray(kept.path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    kept.path.write_bytes(data)
    KeptValues().put("a", 2)  # whatever is left of it, no error
    KeptValues().get("a")


def test_kept_file_can_be_elsewhere_or_nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "mine"))
    KeptValues().put("a", 1)
    assert (tmp_path / "mine").is_file() and KeptValues().get("a") == 1
    monkeypatch.setenv("PQCHAIN_KEPT", f"{os.devnull}/kept")
    KeptValues().put("a", 1)
    assert KeptValues().get("a") is None


def test_without_a_writable_cache_nothing_is_stored(cache):
    cache.write_text("a file in place of the folder")
    KeptValues().put("a", 1)
    assert KeptValues().get("a") is None


def test_full_disk_does_not_end_the_computation(monkeypatch):
    kept = KeptValues()

    class Full:
        def execute(self, *given):
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(kept, "_database", Full())
    kept.put("a", 1)
    assert kept.get("a") is None
