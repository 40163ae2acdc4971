"""No test of the report measures blocks or replays a network."""

import pytest

from pqchain import bench
from pqchain.works.quic_reencoding import replays
from tests.report.fakes import fake_blocks, fake_replays
from tests.works import studies


@pytest.fixture(autouse=True)
def no_real_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test of the report measure blocks, replay a network or model a million nodes."""
    monkeypatch.setattr(bench, "measure_blocks", fake_blocks)
    monkeypatch.setattr(replays, "reproduce", fake_replays)
    studies.small(monkeypatch)
