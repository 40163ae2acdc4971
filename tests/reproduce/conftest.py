"""Replacements of slow measurements in tests of reproductions."""

import pytest

from pqchain import bench
from pqchain.works.quic_reencoding import replays
from tests.reproduce.fakes import fake_blocks, fake_replays
from tests.works import studies


@pytest.fixture(autouse=True)
def no_real_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace measurements of blocks, replays and large networks in every test."""
    monkeypatch.setattr(bench, "measure_blocks", fake_blocks)
    monkeypatch.setattr(replays, "reproduce", fake_replays)
    studies.small(monkeypatch)
